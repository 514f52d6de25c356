"""The OpenAPI document against the routes of the server, its examples, and itself."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from starlette.routing import Route

from exporters.group_query import PARAMETERS
from exporters.http.event_stream.response import EVENTS_PATH
from exporters.http.openapi.document import openapi_document, openapi_json
from exporters.http.openapi.examples import EXAMPLES
from exporters.http.openapi.operations import OPERATIONS
from exporters.http.routes import build_app
from tests.exporters.openapi_check import documented, validator
from tests.exporters.snapshots import status

RESPONSES = {(each.path, code): response for each in OPERATIONS for code, response in each.responses.items()}


def test_every_route_of_the_api_is_in_the_document() -> None:
    """The document has every route of the API and `/readyz`, and no other path."""
    paths = {
        route.path.replace(":any_name", "")
        for route in build_app(lambda: None, status).routes
        if isinstance(route, Route)
    }
    assert {path for path in paths if path.startswith("/api/")} | {"/readyz"} == set(openapi_document()["paths"])


def test_every_example_is_valid() -> None:
    """Every example is valid, belongs to a known response, and every response has one, except the document itself."""
    for path, code in RESPONSES:
        (content,) = openapi_document()["paths"][path]["get"]["responses"][str(code)]["content"].values()
        if path == EVENTS_PATH and code == 200:
            event_id, data, *_ = content["example"].splitlines()
            assert event_id.startswith("id: ")
            validator(path, code).validate(json.loads(data.removeprefix("data: ")))
        elif path != "/api/v1/openapi.json" or code != 200:
            validator(path, code).validate(content["example"])
    # An example of an unknown response, or of one with another example, would not be shown.
    assert [key for key in EXAMPLES if key not in RESPONSES or RESPONSES[key].example is not None] == []


def test_operations_have_distinct_names_and_state_their_login() -> None:
    """Operations have distinct names, a summary and the names in their paths; any but `/readyz` may need a login."""
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert all(operation.name.isidentifier() and operation.summary.endswith(".") for operation in OPERATIONS)
    for operation in OPERATIONS:
        in_path = {parameter.name for parameter in operation.required if not parameter.in_query}
        assert in_path == {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
    for path, methods in openapi_document()["paths"].items():
        needs = [{}] if path == "/readyz" else [{}, {"basic": []}, {"bearer": []}]
        assert methods["get"]["security"] == needs
        assert ("401" in methods["get"]["responses"]) == (path != "/readyz")


def test_every_parameter_of_a_query_is_in_the_document() -> None:
    """The document has each parameter with its allowed words; the topic of a path is no parameter of its query."""
    paths = openapi_document()["paths"]
    declared = {each["name"]: each for each in paths["/api/v1/groups"]["get"]["parameters"]}
    assert list(declared) == [parameter.name for parameter in PARAMETERS]
    assert declared["severity"]["schema"]["items"]["enum"] == ["fine", "unknown", "notice", "warning", "critical"]
    assert declared["limit"]["schema"]["minimum"] == 1
    of_topic = {each["name"]: each["in"] for each in paths["/api/v1/topics/{topic}/groups"]["get"]["parameters"]}
    assert of_topic == {name: "query" for name in declared if name != "topic"} | {"topic": "path"}


def test_the_event_stream_is_declared_and_experimental() -> None:
    """The stream has its filters and the header by which a client continues; every other operation is stable."""
    events = openapi_document()["paths"][EVENTS_PATH]["get"]
    found = [(each["name"], each["in"]) for each in events["parameters"]]
    filters = [(name, "query") for name in ("filter", "owner", "verdict", "severity")]
    assert found == [*filters, ("Last-Event-ID", "header")]
    assert list(events["responses"]["200"]["content"]) == ["text/event-stream"]
    marks = {path: methods["get"]["x-stability"] for path, methods in openapi_document()["paths"].items()}
    assert {path for path, mark in marks.items() if mark == "experimental"} == {EVENTS_PATH}
    assert set(marks.values()) == {"stable", "experimental"}


def test_experimental_fields_are_those_that_the_page_names() -> None:
    """docs/api.md lists each experimental field by its schema; generators of clients see the mark of a field."""
    schemas = openapi_document()["components"]["schemas"]
    marked = {
        (name, field)
        for name, schema in schemas.items()
        for field, content in schema.get("properties", {}).items()
        if content.get("x-stability") == "experimental"
    }
    page = (Path(__file__).resolve().parents[4] / "docs" / "api.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (`.*`) \|$", page.partition("## Stability")[2], re.MULTILINE)
    named = {(name, field) for name, fields in rows for field in re.findall(r"`(\w+)`", fields)}
    # A response with the fields of a row has its marks, too.
    assert named <= marked
    assert {field for _, field in marked} == {field for _, field in named}


def test_every_reference_has_a_schema() -> None:
    """Every schema that the document refers to exists. The document is built once, because it does not change."""

    def references(value: Any) -> set[str]:
        if isinstance(value, list):
            return {found for each in value for found in references(each)}
        if not isinstance(value, dict):
            return set()
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own | {found for each in value.values() for found in references(each)}

    schemas = openapi_document()["components"]["schemas"]
    used = references(openapi_document())
    assert used <= {f"#/components/schemas/{name}" for name in schemas}
    assert "#/components/schemas/GroupRow" in used
    assert openapi_json() is openapi_json()


def test_the_tests_check_each_response_strictly() -> None:
    """The path of a request is found in the document, and a field that the types do not declare is invalid."""
    templates = {
        "/api/v1/groups/a/b\nc": "/api/v1/groups/{name}",
        "/api/v1/topics/orders/groups": "/api/v1/topics/{topic}/groups",
        "/metrics": None,
    }
    assert {path: documented(path) for path in templates} == templates
    with pytest.raises(jsonschema_rs.ValidationError):
        validator("/api/v1/group", 404).validate({"error": "no such group", "grop": "x"})
