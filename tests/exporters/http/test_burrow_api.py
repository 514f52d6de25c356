"""Burrow's paths against responses that Burrow's own Go structs wrote.

`golden/other_exporters/burrow_api.json` has the response of each path for the groups of `burrow_world`, made with
core/internal/httpserver/structs.go and core/protocol of linkedin/Burrow at commit
ced55ba90f6b833a45a124d411fd5eef63a70933.
"""

import json
import pathlib
import re
import socket
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from exporters.http.api_endpoints import ServedData
from exporters.http.routes import build_app
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.compatibility.burrow_world import EU, world
from tests.exporters.serving import client
from tests.exporters.snapshots import status

GOLDEN: dict[str, Any] = json.loads(
    (pathlib.Path(__file__).parents[1] / "golden/other_exporters/burrow_api.json").read_text("utf-8")
)
PUBLISHED = PublishedSnapshot.build(world())


def get(path: str, shown: PublishedSnapshot | None = PUBLISHED) -> httpx.Response:
    """Send a GET request to an application with Burrow's paths."""
    return client(shown, {"burrow": EU}).get(path)


def routes() -> list[Route]:
    app = build_app(ServedData(lambda: None, status, burrow=EU))
    return [route for route in app.routes if isinstance(route, Route) and route.path.startswith("/v3/kafka")]


def ordered(value: Any) -> Any:
    """Return an object as pairs, so that the order of its fields counts."""
    if isinstance(value, dict):
        return [(name, ordered(each)) for name, each in value.items()]
    return [ordered(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", GOLDEN)
def test_each_response_is_that_of_burrow(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response has the same fields in the same order with the same values; an error has its status code."""
    monkeypatch.setattr(socket, "gethostname", lambda: "monitor-1")
    response = get(path)
    expected = GOLDEN[path]
    assert response.headers["content-type"] == "application/json"
    assert ordered(response.json()) == ordered(expected)
    not_found = expected["error"] or expected.get("status", {}).get("status") == "NOTFOUND"
    assert response.status_code == (404 if not_found else 200)


def test_the_migration_page_has_every_path() -> None:
    """The migration page has exactly the paths of the application."""
    page = (pathlib.Path(__file__).parents[3] / "docs/migration/burrow.md").read_text("utf-8")
    documented = re.findall(r"^\| `(/v3/\S+)` \|", page, re.MULTILINE)
    names = {"CLUSTER": "{cluster}", "TOPIC": "{topic}", "GROUP": "{group}"}
    assert {re.sub("[A-Z]+", lambda word: names[word.group()], path) for path in documented} == {
        route.path for route in routes()
    }


def test_unknown_paths_are_refused_as_burrow_does() -> None:
    """A group of another cluster has the status NOTFOUND and that cluster; other paths have Burrow's text.

    A path without its last part may be a redirect.
    """
    for path in ("status", "lag"):
        response = get(f"/v3/kafka/us/consumer/billing/{path}")
        assert response.status_code == 404
        assert (response.json()["status"]["cluster"], response.json()["status"]["status"]) == ("us", "NOTFOUND")
    for path in ("/v3", "/v3/config", "/v3/kafka/eu/consumer/billing/offsets", "/v3/admin/loglevel"):
        response = get(path)
        assert response.status_code in {404, 307}
        if response.status_code == 404:
            assert response.json() == {"error": True, "message": "invalid request type", "result": {}}


def test_before_the_first_snapshot_and_without_the_option() -> None:
    """Groups are 503 in the form of Burrow's errors, the clusters are known. Without the option the 404 names it."""
    response = get("/v3/kafka/eu/consumer", None)
    assert response.status_code == 503
    assert (response.json()["error"], response.json()["message"]) == (True, "no snapshot yet")
    assert get("/v3/kafka", None).json()["clusters"] == ["eu"]
    response = client().get("/v3/kafka")
    assert response.status_code == 404
    assert response.json()["error"] is True
    assert "metrics.compatibility: [burrow]" in response.json()["message"]
