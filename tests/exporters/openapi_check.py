"""Checks JSON responses of the API against the OpenAPI document, for the tests of the HTTP server."""

import functools
import json
import re
from typing import Any

import httpx
import jsonschema_rs

from exporters.http.openapi.document import openapi_document

STREAM = "text/event-stream"


def strict(schema: Any) -> Any:
    """Return a schema in which objects have no other fields than the declared ones, unless they are maps."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: strict(value) for name, value in schema.items()}
    return {"additionalProperties": False, **inner} if isinstance(schema.get("properties"), dict) else inner


@functools.cache
def document() -> dict[str, Any]:
    return openapi_document()


def documented(path: str) -> str | None:
    """Return the path of the document that a requested path belongs to; a path without parameters comes first."""
    for template in sorted(document()["paths"], key=lambda each: "{" in each):
        one = r"[\s\S]*" if template.endswith("{name}") else "[^/]+"
        if re.fullmatch(re.sub(r"\{\w+\}", lambda _, one=one: one, template), path):
            return str(template)
    return None


@functools.cache
def validator(path: str, code: int) -> jsonschema_rs.Validator:
    """Return the validator of the JSON of a response. Raises KeyError if the document does not have the status code.

    The validator for a stream is that of the data of one event.
    """
    content = document()["paths"][path]["get"]["responses"][str(code)]["content"]
    if "application/json" in content:
        schema = content["application/json"]["schema"]
    else:
        schema = content[STREAM]["schema"]["properties"]["data"]["contentSchema"]
    return jsonschema_rs.validator_for({**schema, "components": strict(document()["components"])})


def check_response(response: httpx.Response) -> None:
    """Fail if a GET operation of the document has another response than the document declares."""
    content_type = response.headers.get("content-type", "")  # a redirect has none
    if not content_type.startswith(STREAM):
        check_json(response.request.url.path, response.status_code, content_type, response.text)


def check_json(path: str, code: int, content_type: str, text: str) -> None:
    """Fail if the document has the path and another response than this; `path` is without the query."""
    template = documented(path)
    if template is not None:
        assert content_type == "application/json"
        validator(template, code).validate(json.loads(text))
