"""The OpenAPI document against the routes of the server, its examples and docs/api.md."""

import json
import re
from pathlib import Path

from starlette.routing import Route

from exporters.http.event_stream.response import EVENTS_PATH
from exporters.http.openapi.document import openapi_document
from exporters.http.openapi.examples import EXAMPLES
from exporters.http.openapi.operations import OPERATIONS
from exporters.http.routes import build_app
from tests.exporters.openapi_check import validator
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
