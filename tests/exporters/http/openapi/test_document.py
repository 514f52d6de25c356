"""The OpenAPI document against the routes of the server, its examples and docs/api.md."""

import json

from starlette.routing import Route

from exporters.http.api_endpoints import ServedData
from exporters.http.event_stream.response import EVENTS_PATH
from exporters.http.openapi.document import openapi_document
from exporters.http.openapi.examples import examples
from exporters.http.openapi.operations import OPERATIONS
from exporters.http.routes import build_app
from tests.exporters.openapi_check import validator
from tests.exporters.snapshots import status

RESPONSES = {(each.path, code): response for each in OPERATIONS for code, response in each.responses.items()}


def test_every_route_of_the_api_is_in_the_document() -> None:
    """The document has every route of the API and `/readyz`, and no other path."""
    paths = {
        route.path.replace(":any_name", "")
        for route in build_app(ServedData(lambda: None, status)).routes
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
    assert [key for key in examples() if key not in RESPONSES or RESPONSES[key].example is not None] == []
