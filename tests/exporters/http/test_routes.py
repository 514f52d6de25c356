"""All routes, in process without a socket."""

import dataclasses
import re
import urllib.parse

import httpx
import pytest

from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.cluster.exposition import PublishedCluster
from exporters.http.openapi.small_world import NOON, small_cluster
from exporters.page.document import ASSETS, VIEW_TYPE
from exporters.readmodel import OtherInstance
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from tests.exporters.serving import SMALL, client
from tests.exporters.snapshots import CATCHING_UP, CONNECTING, HOSTILE_NAMES, small_snapshot, snapshot


def test_probes() -> None:
    """Liveness is 200 in every phase: a restart would not help if Kafka is unreachable or the monitor not ready.

    A monitor that is not ready has 503 and the reasons for its readiness.
    """
    for changes, ready in (({}, 200), (CATCHING_UP, 503), (CONNECTING, 503)):
        assert client(**changes).get("/livez").status_code == 200
        assert client(**changes).get("/readyz").status_code == ready
    assert client(**CATCHING_UP).get("/readyz").json() == {
        "ready": False,
        "phase": "catching up",
        "reasons": ["Reading what groups have committed so far."],
        "catch_up_ratio": 0.425,
        "catch_up_seconds_left": 75.0,
        "snapshot_time": None,
    }


def test_before_the_first_snapshot() -> None:
    """`/metrics` has only the progress of the catch-up, and a request for groups is 503 with the phase, never 404."""
    early = client(None, **CATCHING_UP)
    answer = early.get("/metrics")
    assert answer.status_code == 200
    assert "lagwarden_catch_up_ratio 0.425\n" in answer.text
    named = {line.partition("{")[0] for line in answer.text.splitlines()}
    assert not named & {metric.name for metric in SNAPSHOT_METRICS}
    assert "{group=" not in answer.text
    for path in ("groups", "groups/billing", "group?name=billing", "topics/orders/groups"):
        answer = early.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["phase"], answer.headers["retry-after"]) == (503, "catching up", "5")
    assert early.get("/group?name=unknown").status_code == 503


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", ExpositionFormat)
def test_metrics_in_every_format(form: ExpositionFormat, *, compressed: bool) -> None:
    """Format and compression follow the headers; the bytes of the snapshot are followed by the monitor's metrics."""
    is_openmetrics = form is ExpositionFormat.OPENMETRICS
    accept = {"accept": "application/openmetrics-text;version=1.0.0"} if is_openmetrics else {}
    headers = {**accept, "accept-encoding": "gzip" if compressed else "identity"}
    answer = client().get("/metrics", headers=headers)
    assert answer.headers["content-type"] == form.value
    assert answer.headers.get("content-encoding") == ("gzip" if compressed else None)
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert answer.content.startswith(b"".join(SMALL.exposition.plain(form)))
    assert b"\nlagwarden_snapshot_age_seconds 5.0\n" in answer.content
    assert answer.content.endswith(b"# EOF\n") == is_openmetrics


def test_the_response_follows_the_published_snapshot() -> None:
    """A scrape has only the published snapshot, nothing of the previous one, and records it for the charts."""
    holder = [SMALL]
    app = client(arguments={"published": lambda: holder[0]})
    assert 'group="billing"' in app.get("/metrics").text
    holder[0] = PublishedSnapshot.build(dataclasses.replace(small_snapshot(), taken_at=NOON / 1000 + 10))
    view = app.get("/group?name=billing", headers={"accept": VIEW_TYPE}).json()
    assert [at for at, *_ in view["samples"]] == [NOON / 1000, NOON / 1000 + 10]
    holder[0] = PublishedSnapshot.build(snapshot(groups=[{"group": "plain", "kind": "simple"}]))
    text = app.get("/metrics").text
    assert 'group="plain"' in text
    assert "billing" not in text


def test_any_group_can_be_requested() -> None:
    """Every percent-encoded name reaches its group, also slashes, line feeds and the empty name.

    A client resolves dots in a path before the request, even encoded ones, but not in a query.
    """
    names = [*HOSTILE_NAMES, ".", ".."]
    app = client(PublishedSnapshot.build(snapshot(groups=[{"group": other} for other in names])))
    for name in names:
        for address in ("/api/v1/group?name=", *(["/api/v1/groups/"] if name.strip(".") or not name else [])):
            answer = app.get(address + urllib.parse.quote(name, safe=""))
            assert (answer.status_code, answer.json()["group"]) == (200, name)
    assert "<bdi>..</bdi>" in app.get("/group", params={"name": ".."}).text
    # A request without a name is not one for the group with the empty name.
    answer = app.get("/api/v1/group")
    assert answer.status_code == 400
    assert "?name=" in answer.json()["error"]


def test_unknown_groups_and_paths() -> None:
    """A group is found by its exact name, else 404; an unknown path names the OpenAPI document and repeats nothing."""
    for path in ("no%2Fsuch%0Agroup", "bill", "billing%20", "BILLING", ""):
        answer = client().get(f"/api/v1/groups/{path}")
        assert answer.status_code == 404
        assert answer.json() == {"error": "no such group", "group": urllib.parse.unquote(path)}
    assert client().get("/group?name=unknown").status_code == 404
    for path in ("/nothing", "/metrics/x", "/api/v1", "/livez/", "/..%2f..%2fetc/passwd"):
        answer = client().get(path)
        assert answer.status_code in {404, 307}
        assert b"root:" not in answer.content
    for path in ("/api", "/api/v1", "/api/v1/topics", "/api/v1/%3Cb%3E"):
        answer = client().get(path)
        assert answer.json() == {"error": "no such path; /api/v1/openapi.json lists the paths of the API"}
    page = client().get("/apix/%3Cb%3E")
    assert page.headers["content-type"].startswith("text/plain")
    assert "/api/v1/openapi.json" in page.text
    assert "<b>" not in page.text


def test_other_methods_are_refused_with_the_allowed_ones() -> None:
    """All routes are read-only. The error is JSON below /api, else text; the header Allow has the allowed methods."""
    for path in ("/", "/metrics", "/api/v1/groups", "/api/v1/group", "/group", "/groups/a", "/runbook/a", "/readyz"):
        assert client().request("POST", path).status_code == 405
    answer = client().request("DELETE", "/api/v1/groups")
    assert answer.json() == {"error": "no such method; every path only reads, by GET"}
    assert "GET" in answer.headers["allow"]
    assert client().request("DELETE", "/metrics").text == "no such method; every path only reads, by GET\n"


LISTS = ("/api/v1/groups", "/api/v1/topics/orders/groups")


def test_an_invalid_query_is_a_bad_request() -> None:
    """The error names the parameter: a misspelt filter does not match every group, a misspelt verdict not none.

    `unknown` is always valid, and any verdict before the first evaluation, because the verdicts are not known.
    """
    for path in (*LISTS, "/api/v1/events"):
        answer = client().get(f"{path}?verdict=stoped")
        assert (answer.status_code, answer.json()) == (400, {"error": "verdict stoped: did you mean stopped?"})
    for path in LISTS:
        assert client().get(f"{path}?verdict=unknown,stopped").status_code == 200
        answer = client().get(f"{path}?severty=critical")
        assert answer.status_code == 400
        assert "severty" in answer.json()["error"]
    early = PublishedSnapshot.build(snapshot(groups=[{"group": "a"}]))
    assert client(early).get("/api/v1/groups?verdict=stoped").json()["total"] == 0


def test_page_and_assets_load_only_files_of_lagwarden() -> None:
    """The content security policy and the style sheet and scripts themselves allow nothing from elsewhere."""
    page = client().get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == "Accept, Accept-Encoding"
    policy = page.headers["content-security-policy"].split("; ")
    assert policy[:3] == ["default-src 'none'", "script-src 'self'", "style-src 'self'"]
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "billing" in page.text
    for name, media_type in ASSETS.items():
        answer = client().get(f"/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == media_type
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|innerHTML|eval\(", answer.text)


def test_a_page_works_with_and_without_a_script() -> None:
    """With the media type of the view in `Accept` it is JSON; the form sends the filter in the query."""
    for address in (
        "/?filter=bill",
        "/group?name=billing",
        "/groups/billing",
        "/group?name=unknown",
        "/topic?name=orders",
        "/runbook/LagwardenGroupStuck",
        "/runbook/unknown%3Cb%3E",
    ):
        answer = client().get(address, headers={"accept": VIEW_TYPE})
        assert answer.status_code == (404 if "unknown" in address else 200)
        assert answer.headers["content-type"] == VIEW_TYPE
        assert answer.json().keys() == {"title", "icon", "main", "samples", "marks"}
    text = client().get("/?filter=bill&severity=critical").text
    assert "billing</bdi>" in text
    assert "plain</bdi>" not in text
    assert 'value="bill"' in text


def test_the_links_of_a_group_page_are_relative() -> None:
    """Links are relative to the requested path, so that a path prefix of a proxy is kept."""
    app = client(PublishedSnapshot.build(snapshot(groups=[{"group": "billing"}, {"group": "a/b"}])))
    roots = {"/group?name=billing": "./", "/groups/billing": "../", "/groups/a/b": "../../", "/groups/a%2Fb": "../"}
    for address, root in roots.items():
        page = app.get(address)
        assert page.status_code == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert f'href="{root}style.css"' in page.text


def found(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200
    return [group["group"] for group in answer.json()["groups"]]


def test_groups_of_a_client() -> None:
    """A filter by client and host returns the groups that the search for members finds.

    Without a search, because members are hidden, the filter is refused, also for a client that does not exist.
    """
    app = client(arguments={"search": lambda client, host: {"plain"} if (client, host) == ("app", "h") else ()})
    assert found(app.get("/api/v1/groups?client=app&host=h")) == ["plain"]
    assert found(app.get("/api/v1/groups?client=app")) == []
    for address in [f"{path}?{parameter}" for path in LISTS for parameter in ("client=app", "host=10.0.0.1")]:
        answer = client().get(address)
        assert answer.status_code == 403
        assert "http.hide_members" in answer.json()["error"]


def test_groups_that_read_a_topic() -> None:
    """A group has its numbers of this topic, and its own state. A topic that none reads has an empty list or is 404."""
    answer = client().get("/api/v1/topics/orders/groups")
    assert found(answer) == ["billing"]
    row = answer.json()["groups"][0]
    assert (row["lag_sum"], row["partitions"], row["group_state"]) == (2**62, 2, "Stable")
    assert (row["group_severity"], row["verdict"], row["team"]) == ("critical", "stopped", None)
    assert found(client().get("/api/v1/topics/orders/groups?state=Dead")) == []
    cluster = PublishedCluster.build(small_cluster())
    empty = PublishedSnapshot.build(snapshot())
    app = client(empty, {"cluster": lambda: cluster})
    assert found(app.get("/api/v1/topics/orders/groups")) == []
    answer = app.get("/api/v1/topics/nowhere/groups")
    assert answer.status_code == 404
    assert answer.json()["topic"] == "nowhere"
    assert client(empty).get("/api/v1/topics/orders/groups").status_code == 404


def test_a_group_of_another_instance_is_answered_with_its_address() -> None:
    """The API and the page link the instance that has the group; a group of this instance is shown as usual."""
    owner = OtherInstance("1/3", "http://other:10848")
    app = client(arguments={"other_instance": lambda name: owner if name == "a&b" else None})
    answer = app.get("/api/v1/group?name=a%26b")
    assert answer.status_code == 404
    error = {"error": "no such group", "group": "a&b"}
    assert answer.json() == error | {"instance": "1/3", "url": "http://other:10848"}
    page = app.get("/group?name=a%26b")
    assert page.status_code == 404
    assert 'href="http://other:10848/group?name=a%26b"' in page.text
    assert app.get("/api/v1/group?name=missing").json() == {"error": "no such group", "group": "missing"}
    assert app.get("/group?name=billing").status_code == 200
