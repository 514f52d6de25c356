"""All routes, in process without a socket."""

from __future__ import annotations

import asyncio
import dataclasses
import html
import re
import urllib.parse
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.cluster.exposition import PublishedCluster
from exporters.http.routes import build_app
from exporters.page.assets import ASSETS
from exporters.page.document import VIEW_TYPE
from exporters.page.links import PageLinks
from exporters.readmodel import OtherInstance
from exporters.selection.series import EVERYTHING, SeriesSelection
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.openapi_check import check_response
from tests.exporters.snapshots import (
    CATCHING_UP,
    CONNECTING,
    HOSTILE_NAMES,
    NOON,
    detail,
    small_snapshot,
    snapshot,
    status,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette

OPENMETRICS = {"accept": "application/openmetrics-text;version=1.0.0"}


class Client:
    """Sends single requests to an application, and checks each JSON response of the API by the OpenAPI document.

    Starlette's own client needs another HTTP library.
    """

    def __init__(self, app: Starlette) -> None:
        self._app = app

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Send one request and return the response."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://lagwarden") as client:
                return await client.request(method, path, **arguments)

        response = asyncio.run(send())
        if method == "GET":
            check_response(response)
        return response

    def get(self, path: str, **arguments: Any) -> httpx.Response:
        """Send a GET request."""
        return self.request("GET", path, **arguments)


def client(published: PublishedSnapshot | None = None, **changes: Any) -> Client:
    """Return a client of an application with this snapshot and status, five seconds after NOON."""
    app = build_app(
        lambda: published,
        lambda: status(**changes),
        details=lambda name: detail(name) if name == "billing" else None,
        clock=lambda: NOON / 1000 + 5,
    )
    return Client(app)


@pytest.mark.parametrize("changes", [{}, CATCHING_UP, CONNECTING], ids=["running", "catching up", "connecting"])
def test_liveness_is_independent_of_kafka_and_snapshots(changes: dict[str, Any]) -> None:
    """Liveness is 200 in every phase: a restart would not help if Kafka is unreachable or the monitor not ready."""
    assert client(**changes).get("/livez").status_code == 200


def test_readiness() -> None:
    """A ready monitor is 200; a monitor that is not ready is 503 with the reasons."""
    assert client().get("/readyz").status_code == 200
    answer = client(**CATCHING_UP).get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["Reading what groups have committed so far."]


def test_only_metrics_of_the_monitor_exist_before_the_first_snapshot() -> None:
    """Before the first snapshot, `/metrics` has the progress of the catch-up, but no series about groups."""
    answer = client(**CATCHING_UP).get("/metrics")
    assert answer.status_code == 200
    assert "lagwarden_catch_up_ratio 0.425\n" in answer.text
    named = {line.partition("{")[0] for line in answer.text.splitlines()}
    assert not named & {metric.name for metric in SNAPSHOT_METRICS}
    assert "{group=" not in answer.text


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("accept", "form"),
    [({}, ExpositionFormat.TEXT), (OPENMETRICS, ExpositionFormat.OPENMETRICS)],
    ids=["text", "openmetrics"],
)
def test_metrics_in_every_format(accept: dict[str, str], form: ExpositionFormat, compressed: bool) -> None:  # noqa: FBT001  # a table
    """Format and compression follow the headers; the bytes of the snapshot are followed by the monitor's metrics."""
    published = PublishedSnapshot.build(small_snapshot())
    headers = {**accept, "accept-encoding": "gzip" if compressed else "identity"}
    answer = client(published).get("/metrics", headers=headers)
    assert answer.headers["content-type"] == form.value
    assert answer.headers.get("content-encoding") == ("gzip" if compressed else None)
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert answer.content.startswith(b"".join(published.exposition.plain(form)))
    assert b"\nlagwarden_snapshot_age_seconds 5.0\n" in answer.content
    assert answer.content.endswith(b"# EOF\n") == (form is ExpositionFormat.OPENMETRICS)


def test_metrics_by_name() -> None:
    """Only the named metrics are returned; an unknown name is ignored."""
    app = client(PublishedSnapshot.build(small_snapshot()))
    query = urllib.parse.urlencode([("name[]", "lagwarden_group_lag"), ("name[]", "lagwarden_ready"), ("name[]", "no")])
    lines = [line for line in app.get(f"/metrics?{query}").text.splitlines() if not line.startswith("#")]
    assert lines == [
        'lagwarden_group_lag{group="billing"} 4611686018427387904',
        'lagwarden_group_lag{group="say \\"hi\\"\\\\\\nthere"} 0',
        "lagwarden_ready 1",
    ]


def test_series_of_the_cluster_that_are_left_out_are_counted() -> None:
    """One metric counts the left-out series of the snapshot and those of the cluster."""
    _, budget = SeriesSelection(budget=40).budgets
    cluster = PublishedCluster.build(facts(), EVERYTHING, budget)
    app = Client(build_app(lambda: PublishedSnapshot.build(small_snapshot()), status, cluster=lambda: cluster))
    text = app.get("/metrics?name[]=lagwarden_series_over_budget").text
    over = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert over.pop('lagwarden_series_over_budget{metric="lagwarden_x"}') == "70"
    assert over == {
        f'lagwarden_series_over_budget{{metric="{row["metric"]}"}}': str(row["series_now"])
        for row in cluster.series_dropped.to_pylist()
    }
    assert over


def test_a_removed_group_is_absent_from_the_next_scrape() -> None:
    """A scrape has only the published snapshot, nothing of the previous one."""
    holder = [PublishedSnapshot.build(small_snapshot())]
    app = Client(build_app(lambda: holder[0], status))
    assert 'group="billing"' in app.get("/metrics").text
    holder[0] = PublishedSnapshot.build(snapshot(groups=[{"group": "plain", "kind": "simple"}]))
    text = app.get("/metrics").text
    assert 'group="plain"' in text
    assert "billing" not in text


@pytest.mark.parametrize("path", ["/api/v1/groups", "/api/v1/groups/billing", "/api/v1/group?name=billing"])
def test_groups_before_the_first_snapshot(path: str) -> None:
    """A request for groups is 503 with the phase before the first snapshot, not an empty list and not 404."""
    answer = client(**CATCHING_UP).get(path)
    assert answer.status_code == 503
    assert answer.json()["phase"] == "catching up"
    assert answer.headers["retry-after"] == "5"


def test_groups() -> None:
    """The response has all groups as JSON."""
    answer = client(PublishedSnapshot.build(small_snapshot())).get("/api/v1/groups")
    assert answer.headers["content-type"] == "application/json"
    assert len(answer.json()["groups"]) == 4


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
@pytest.mark.parametrize("address", ["/api/v1/groups/", "/api/v1/group?name="], ids=["path", "query"])
def test_any_group_can_be_requested(address: str, name: str) -> None:
    """Every percent-encoded name reaches its group, also slashes, line feeds and the empty name."""
    app = client(PublishedSnapshot.build(snapshot(groups=[{"group": other} for other in HOSTILE_NAMES])))
    answer = app.get(address + urllib.parse.quote(name, safe=""))
    assert answer.status_code == 200
    assert answer.json()["group"] == name


@pytest.mark.parametrize("name", [".", ".."])
def test_dot_names_can_be_requested_by_query(name: str) -> None:
    """A client resolves dots in a path before the request, even encoded ones, but not in a query."""
    app = client(PublishedSnapshot.build(snapshot(groups=[{"group": "."}, {"group": ".."}])))
    assert app.get("/api/v1/group", params={"name": name}).json()["group"] == name
    page = app.get("/group", params={"name": name})
    assert page.status_code == 200
    assert f"<bdi>{name}</bdi>" in page.text


def test_a_group_has_its_detail() -> None:
    """Members and history are of the group with this name, and null without a detail."""
    app = client(PublishedSnapshot.build(small_snapshot()))
    assert len(app.get("/api/v1/groups/billing").json()["by_member"]) == 3
    assert app.get("/api/v1/group?name=plain").json()["by_member"] is None


def test_a_request_without_a_name_is_a_bad_request() -> None:
    """The error has the syntax; a request without a name is not one for the group with the empty name."""
    answer = client(PublishedSnapshot.build(snapshot(groups=[{"group": ""}]))).get("/api/v1/group")
    assert answer.status_code == 400
    assert "?name=" in answer.json()["error"]


def test_unknown_group() -> None:
    """An unknown group is 404 with the requested name."""
    answer = client(PublishedSnapshot.build(small_snapshot())).get("/api/v1/groups/no%2Fsuch%0Agroup")
    assert answer.status_code == 404
    assert answer.json() == {"error": "no such group", "group": "no/such\ngroup"}


@pytest.mark.parametrize("path", ["/nothing", "/metrics/x", "/api/v1", "/livez/", "/..%2f..%2fetc/passwd"])
def test_unknown_paths(path: str) -> None:
    """An unknown path is 404 or a redirect, also if it leaves the directory."""
    answer = client().get(path)
    assert answer.status_code in {404, 307}
    assert b"root:" not in answer.content


def test_the_error_of_an_unknown_path_names_the_openapi_document() -> None:
    """The error is JSON below /api, else text; neither repeats the path, which can have any characters."""
    for path in ("/api", "/api/v1", "/api/v1/topics", "/api/v1/%3Cb%3E"):
        answer = client().get(path)
        assert answer.json() == {"error": "no such path; /api/v1/openapi.json lists the paths of the API"}
    page = client().get("/apix/%3Cb%3E")
    assert page.headers["content-type"].startswith("text/plain")
    assert "/api/v1/openapi.json" in page.text
    assert "<b>" not in page.text


def test_other_methods_are_refused_with_the_allowed_ones() -> None:
    """The error is JSON below /api, and text elsewhere; the header Allow has the allowed methods."""
    answer = client().request("DELETE", "/api/v1/groups")
    assert answer.json() == {"error": "no such method; every path only reads, by GET"}
    assert "GET" in answer.headers["allow"]
    assert client().request("DELETE", "/metrics").text == "no such method; every path only reads, by GET\n"


@pytest.mark.parametrize("path", ["/api/v1/groups", "/api/v1/topics/orders/groups", "/api/v1/events"])
def test_unknown_verdicts_are_refused(path: str) -> None:
    """A misspelt verdict is 400, because it would match no group as if all were fine; `unknown` is always valid."""
    published = PublishedSnapshot.build(small_snapshot())
    answer = client(published).get(f"{path}?verdict=stoped")
    assert answer.status_code == 400
    assert answer.json() == {"error": "verdict stoped: did you mean stopped?"}
    if path != "/api/v1/events":  # a stream that does not end
        assert client(published).get(f"{path}?verdict=unknown,stopped").status_code == 200


def test_any_verdict_is_accepted_before_the_first_evaluation() -> None:
    """Before the first evaluation the verdicts of the rules are not known, so any verdict is accepted."""
    unjudged = PublishedSnapshot.build(snapshot(groups=[{"group": "a"}]))
    assert client(unjudged).get("/api/v1/groups?verdict=stoped").json()["total"] == 0


@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/groups", "/api/v1/group", "/group", "/groups/a", "/readyz"])
def test_all_routes_are_read_only(path: str) -> None:
    """A POST request is 405."""
    assert client().request("POST", path).status_code == 405


@pytest.mark.parametrize("address", ["/", "/group?name=billing", "/topic?name=orders", "/group?name=nothing"])
def test_every_page_has_the_name_of_the_cluster(address: str) -> None:
    """A page has the configured name in its header and in the title of the tab; without a name, neither has one."""
    for name in ("eu <1>", None):
        links = PageLinks(cluster_name=name)
        app = Client(build_app(lambda: PublishedSnapshot.build(small_snapshot()), status, links=links))
        page, view = app.get(address).text, app.get(address, headers={"accept": VIEW_TYPE}).json()
        assert ("<bdi>eu &lt;1&gt;</bdi></p>" in page) == (name is not None)
        assert view["title"].endswith("lagwarden \N{MIDDLE DOT} eu <1>" if name else "lagwarden")
        assert f"<title>{html.escape(view['title'], quote=False)}</title>" in page


def test_the_page_and_its_policy() -> None:
    """The content security policy allows only files that lagwarden serves."""
    page = client(PublishedSnapshot.build(small_snapshot())).get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == "Accept, Accept-Encoding"
    policy = page.headers["content-security-policy"].split("; ")
    assert policy[:3] == ["default-src 'none'", "script-src 'self'", "style-src 'self'"]
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "billing" in page.text


@pytest.mark.parametrize("name", ASSETS)
def test_the_assets_are_served(name: str) -> None:
    """Style sheet and scripts have their media types and load nothing from elsewhere."""
    answer = client().get(f"/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == ASSETS[name]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|innerHTML|eval\(", answer.text)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/?filter=bill", 200),
        ("/group?name=billing", 200),
        ("/groups/billing", 200),
        ("/group?name=unknown", 404),
        ("/topic?name=orders", 200),
    ],
)
def test_a_page_has_a_view_for_the_script(address: str, code: int) -> None:
    """With the media type of the view in `Accept`, the response is the content of the page as JSON."""
    answer = client(PublishedSnapshot.build(small_snapshot())).get(address, headers={"accept": VIEW_TYPE})
    assert answer.status_code == code
    assert answer.headers["content-type"] == VIEW_TYPE
    assert answer.json().keys() == {"title", "icon", "main", "samples", "marks"}


def test_every_request_records_the_snapshot_for_the_charts() -> None:
    """Every request, also a scrape, records the snapshot for the charts."""
    holder = [PublishedSnapshot.build(small_snapshot())]
    app = Client(build_app(lambda: holder[0], status))
    app.get("/metrics")
    holder[0] = PublishedSnapshot.build(dataclasses.replace(small_snapshot(), taken_at=NOON / 1000 + 10))
    view = app.get("/group?name=billing", headers={"accept": VIEW_TYPE}).json()
    assert [at for at, *_ in view["samples"]] == [NOON / 1000, NOON / 1000 + 10]


def test_the_overview_can_be_filtered_without_a_script() -> None:
    """The form sends the filter in the query, and the page has the matching groups."""
    text = (
        client(PublishedSnapshot.build(small_snapshot()))
        .get("/", params={"filter": "bill", "severity": "critical"})
        .text
    )
    assert "billing</bdi>" in text
    assert "plain</bdi>" not in text
    assert 'value="bill"' in text


@pytest.mark.parametrize(
    ("address", "root"),
    [
        pytest.param("/group?name=billing", "./", id="query"),
        pytest.param("/groups/billing", "../", id="path"),
        pytest.param("/groups/a/b", "../../", id="path with a slash"),
        pytest.param("/groups/a%2Fb", "../", id="path with an encoded slash"),
    ],
)
def test_the_links_of_a_group_page_are_relative(address: str, root: str) -> None:
    """Links are relative to the requested path, so that a path prefix of a proxy is kept."""
    page = client(PublishedSnapshot.build(snapshot(groups=[{"group": "billing"}, {"group": "a/b"}]))).get(address)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert f'href="{root}style.css"' in page.text


@pytest.mark.parametrize(
    ("changes", "published", "code"),
    [({}, True, 404), (CATCHING_UP, False, 503)],
    ids=["unknown group", "no snapshot yet"],
)
def test_the_page_of_an_unknown_group(changes: dict[str, Any], published: bool, code: int) -> None:  # noqa: FBT001  # a table
    """The page of an unknown group has the same status code as the API."""
    app = client(PublishedSnapshot.build(small_snapshot()) if published else None, **changes)
    assert app.get("/group?name=unknown").status_code == code


def found(answer: httpx.Response) -> list[str]:
    """Return the names of the groups in a response."""
    assert answer.status_code == 200
    return [group["group"] for group in answer.json()["groups"]]


def test_groups_of_a_query() -> None:
    """A query has filters, order and page; `total` counts all pages, and `next` begins the following page."""
    app = client(PublishedSnapshot.build(small_snapshot()))
    assert found(app.get("/api/v1/groups?kind=classic&state=stable,dead")) == ["billing", "gone"]
    first = app.get("/api/v1/groups?sort=worst&limit=3")
    assert found(first) == ["billing", "plain", 'say "hi"\\\nthere']
    assert (first.json()["total"], first.json()["next"]) == (4, 3)
    last = app.get("/api/v1/groups?sort=worst&limit=3&start=3")
    assert found(last) == ["gone"]
    assert (last.json()["total"], last.json()["next"]) == (4, None)


@pytest.mark.parametrize("path", ["/api/v1/groups", "/api/v1/topics/orders/groups"])
def test_an_invalid_query_is_a_bad_request(path: str) -> None:
    """The error names the parameter: a misspelt filter does not match every group."""
    answer = client(PublishedSnapshot.build(small_snapshot())).get(f"{path}?severty=critical")
    assert answer.status_code == 400
    assert "severty" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/api/v1/groups", "/api/v1/topics/orders/groups"])
@pytest.mark.parametrize("parameter", ["client=app", "host=10.0.0.1"])
def test_hidden_members_cannot_be_guessed(path: str, parameter: str) -> None:
    """A filter by client or host is refused, also for a client that does not exist."""
    answer = client(PublishedSnapshot.build(small_snapshot())).get(f"{path}?{parameter}")
    assert answer.status_code == 403
    assert "http.hide_members" in answer.json()["error"]


def test_groups_of_a_client() -> None:
    """A filter by client and host returns the groups that the search for members finds."""
    app = build_app(
        lambda: PublishedSnapshot.build(small_snapshot()),
        status,
        search=lambda client, host: {"plain"} if (client, host) == ("app", "h") else (),
    )
    assert found(Client(app).get("/api/v1/groups?client=app&host=h")) == ["plain"]
    assert found(Client(app).get("/api/v1/groups?client=app")) == []


def test_groups_that_read_a_topic() -> None:
    """A group has its numbers of this topic, and its own state, severity and team."""
    answer = client(PublishedSnapshot.build(small_snapshot())).get("/api/v1/topics/orders/groups")
    assert found(answer) == ["billing"]
    row = answer.json()["groups"][0]
    assert (row["lag_sum"], row["partitions"], row["group_state"]) == (2**62, 2, "Stable")
    assert (row["group_severity"], row["verdict"], row["team"]) == ("critical", "stopped", None)
    assert found(client(PublishedSnapshot.build(small_snapshot())).get("/api/v1/topics/orders/groups?state=Dead")) == []


def test_groups_of_a_topic_that_none_reads() -> None:
    """The list is empty if the cluster has the topic; otherwise the response is 404."""
    cluster = PublishedCluster.build(facts())
    app = Client(build_app(lambda: PublishedSnapshot.build(snapshot()), status, cluster=lambda: cluster))
    assert found(app.get("/api/v1/topics/orders/groups")) == []
    answer = app.get("/api/v1/topics/nowhere/groups")
    assert answer.status_code == 404
    assert answer.json()["topic"] == "nowhere"
    assert client(PublishedSnapshot.build(snapshot())).get("/api/v1/topics/orders/groups").status_code == 404


def test_groups_of_a_topic_before_the_first_snapshot() -> None:
    """The response has the phase before the first snapshot."""
    assert client(**CATCHING_UP).get("/api/v1/topics/orders/groups").json()["phase"] == "catching up"


def test_a_group_of_another_instance_is_answered_with_its_address() -> None:
    """The API and the page link the instance that has the group; a group of this instance is shown as usual."""
    owner = OtherInstance("1/3", "http://other:10848")
    published = PublishedSnapshot.build(small_snapshot())
    app = Client(build_app(lambda: published, status, other_instance=lambda name: owner if name == "a&b" else None))
    answer = app.get("/api/v1/group?name=a%26b")
    assert answer.status_code == 404
    assert answer.json() == {
        "error": "no such group",
        "group": "a&b",
        "instance": "1/3",
        "url": "http://other:10848",
    }
    page = app.get("/group?name=a%26b")
    assert page.status_code == 404
    assert 'href="http://other:10848/group?name=a%26b"' in page.text
    assert app.get("/api/v1/group?name=missing").json() == {"error": "no such group", "group": "missing"}
    assert app.get("/group?name=billing").status_code == 200


def test_groups_have_the_addresses_of_all_instances() -> None:
    """A response has the part and the addresses of all instances; that of a single instance has neither."""
    urls = ("http://a:1", "http://b:1")
    shared = client(PublishedSnapshot.build(small_snapshot()), part="1/2", instances=2, siblings=urls)
    answer = shared.get("/api/v1/groups").json()
    assert (answer["instance"], answer["siblings"]) == ("1/2", list(urls))
    alone = client(PublishedSnapshot.build(small_snapshot())).get("/api/v1/groups").json()
    assert not {"instance", "siblings"} & alone.keys()
