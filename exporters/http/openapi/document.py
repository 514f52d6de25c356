"""Builds the OpenAPI 3.1 document from the table of operations. Schemas come from `exporters.api_types`."""

import functools
import json
from importlib import metadata
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from exporters.api_types.json_object import STABILITY
from exporters.group_query import MOST_ROWS, ParameterKind, QueryParameter, SortKey
from exporters.http.api import encode
from exporters.http.event_stream.response import MEDIA_TYPE as EVENT_STREAM
from exporters.http.openapi.examples import examples
from exporters.http.openapi.operations import OPERATIONS, ApiOperation, ResponseModel

Json = dict[str, Any]

_REFERENCE: Final = "#/components/schemas/{model}"
_DESCRIPTION: Final = (
    "Times are RFC 3339 in UTC, durations are seconds, an unknown value is null. Fields may be added to responses;"
    " a removed or changed field gets another version in the path, unless it or its operation is experimental"
    " (`x-stability`). Every operation only reads."
)


@functools.cache
def openapi_json() -> bytes:
    """Return the document as JSON. Built once per process."""
    return encode(openapi_document())


def openapi_document() -> Json:
    """Return the document as a JSON object."""
    references, definitions = _schemas()
    return {
        "openapi": "3.1.0",
        "info": {"title": "lagwarden", "version": metadata.version("lagwarden"), "description": _DESCRIPTION},
        "paths": {operation.path: {"get": _operation(operation, references)} for operation in OPERATIONS},
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _schemas() -> tuple[dict[type, Json], Json]:
    """Return a reference per response type, and the schemas by name."""
    types = dict.fromkeys(
        each for operation in OPERATIONS for response in operation.responses.values() for each in response.types
    )
    inputs: list[tuple[type, Literal["serialization"], TypeAdapter[Any]]] = [
        (each, "serialization", TypeAdapter(each)) for each in types
    ]
    schemas, rest = TypeAdapter.json_schemas(inputs, ref_template=_REFERENCE)
    return {each: dict(schemas[each, "serialization"]) for each in types}, rest.get("$defs", {})


def _operation(operation: ApiOperation, references: dict[type, Json]) -> Json:
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        STABILITY: operation.stability.value,
        "parameters": [
            *(
                _parameter(each, "path" if f"{{{each.name}}}" in operation.path else "query", required=True)
                for each in operation.required
            ),
            *(_parameter(each, "query") for each in operation.query),
            *(_parameter(each, "header") for each in operation.headers),
        ],
        "responses": {
            str(code): _response(operation, code, response, references)
            for code, response in sorted(operation.responses.items())
        },
        # A server without logins needs none.
        "security": [{}, {"basic": []}, {"bearer": []}] if operation.needs_login else [{}],
    }


def _response(operation: ApiOperation, code: int, response: ResponseModel, references: dict[type, Json]) -> Json:
    schemas = [references[each] for each in response.types]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if response.is_stream:
        schema = _stream_event(schema)
    content: Json = {"schema": schema if schemas else {"type": "object"}}
    example = examples().get((operation.path, code), response.example)
    if example is not None:
        content["example"] = f"id: 0f5e1f6a-17\ndata: {json.dumps(example)}\n\n" if response.is_stream else example
    media_type = EVENT_STREAM if response.is_stream else "application/json"
    return {"description": response.description, "content": {media_type: content}}


def _stream_event(data: Json) -> Json:
    """Return the schema of one event, as OpenAPI before 3.2 describes a stream; `data` is that of its JSON."""
    missed = {"type": "object", "properties": {"missed": {"type": ["integer", "null"]}}, "required": ["missed"]}
    text = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"anyOf": [data, missed]}}
    name = {"type": "string", "enum": ["missed"], "description": "The type; by default that of a verdict change."}
    return {
        "type": "object",
        "properties": {"id": {"type": "string"}, "event": name, "retry": {"type": "integer"}, "data": text},
    }


def _parameter(parameter: QueryParameter, place: str, *, required: bool = False) -> Json:
    word: Json = {"type": "string", **({"enum": list(parameter.words)} if parameter.words else {})}
    schema: Json = word
    if parameter.kind is ParameterKind.WORDS:
        schema = {"type": "array", "items": word}
    elif parameter.kind is ParameterKind.NUMBER:
        schema = {"type": "integer", "minimum": parameter.least, "maximum": MOST_ROWS}
    if parameter.name == "sort":
        schema = {**schema, "default": SortKey.NAME.value}
    example: object = [parameter.example] if parameter.kind is ParameterKind.WORDS else parameter.example
    shape = {"style": "form", "explode": False} if parameter.kind is ParameterKind.WORDS else {}
    return {
        "name": parameter.name,
        "in": place,
        "required": required,
        "description": parameter.description,
        **shape,
        "schema": schema,
        "example": example,
    }
