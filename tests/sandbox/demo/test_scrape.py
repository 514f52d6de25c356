"""Reading `/metrics` and `/readyz` from outside."""

from __future__ import annotations

import http.server
import threading
from typing import TYPE_CHECKING

import pytest

from sandbox.demo.scrape import GroupLine, Scrape, not_ready_because, scrape
from sandbox.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPOSITION = """\
# TYPE lagwarden_group_info gauge
lagwarden_group_info{group="b",kind="classic",state="Stable",protocol_type="consumer",protocol="range"} 1
lagwarden_group_info{group="a",kind="consumer",state="",protocol_type="",protocol=""} 1
# TYPE lagwarden_group_lag gauge
lagwarden_group_lag{group="b"} 12
# TYPE lagwarden_group_members gauge
lagwarden_group_members{group="b"} 2
# TYPE lagwarden_group_last_commit_timestamp_seconds gauge
lagwarden_group_last_commit_timestamp_seconds{group="b"} 1700000000.5
# TYPE lagwarden_group_time_lag_seconds gauge
lagwarden_group_time_lag_seconds{group="b"} 2.5
# TYPE lagwarden_group_verdict gauge
lagwarden_group_verdict{group="b",verdict="stalled",severity="critical"} 1
# TYPE lagwarden_partition_lag gauge
lagwarden_partition_lag{group="b",topic="t \\"quoted\\"",partition="3"} 12
"""


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers every path with its entry in `replies`."""

    replies: dict[str, tuple[int, str]]

    def do_GET(self) -> None:
        """Send the reply."""
        code, body = self.replies[self.path]
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of a server whose replies the test sets."""
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_groups_are_in_name_order() -> None:
    """Groups are sorted by name, and the value of an absent series is None."""
    assert Scrape(EXPOSITION).group_lines() == [
        GroupLine("a", "consumer", "", members=None, lag=None, last_commit_at=None),
        GroupLine(
            "b", "classic", "Stable", members=2, lag=12, last_commit_at=1700000000.5, time_lag=2.5, verdict="stalled"
        ),
    ]


def test_partitions_are_keyed_by_their_labels(address: str) -> None:
    """Labels are unescaped, and a metric that is absent has no rows."""
    Answers.replies = {"/metrics": (200, EXPOSITION)}
    found = scrape(address)
    assert found.by_partition("lagwarden_partition_lag") == {("b", 't "quoted"', 3): 12}
    assert found.by_partition("lagwarden_partition_committed_offset") == {}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param((200, "ok"), None, id="ready"),
        pytest.param(
            (503, '{"ready": false, "reasons": ["no snapshot", "kafka away"]}'), "no snapshot; kafka away", id="json"
        ),
        pytest.param((503, "no snapshot\nkafka away\n"), "no snapshot; kafka away", id="plain text"),
        pytest.param((503, ""), "HTTP Error 503: Service Unavailable", id="no reason given"),
    ],
)
def test_readiness_has_its_reasons(address: str, reply: tuple[int, str], reason: str | None) -> None:
    """The result is None if lagwarden is ready, and has its reasons otherwise."""
    Answers.replies = {"/readyz": reply}
    assert not_ready_because(address) == reason


def test_refused_connection_is_not_ready() -> None:
    """The reason is the error of the connection."""
    assert "refused" in (not_ready_because(f"http://127.0.0.1:{free_port()}") or "")
