"""Verdict changes reach the event stream, and a webhook over restarts of the monitor and failures of the disk."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from exporters.http.event_stream.response import MOST_EVENTS, EventPosition, RecentEvents
from exporters.readmodel import Snapshot
from sandbox.ports import free_port
from sandbox.waiting import wait_until
from stream.config.options import WebhookOptions
from stream.errors import Refusal
from stream.webhook.announcer import VerdictAnnouncer
from stream.webhook.sender import WebhookSender
from tests.exporters.openapi_check import validator
from tests.exporters.snapshots import verdicts_snapshot as shown
from tests.stream.webhook.receiver import Receiver


def after(seconds: float, seen: Snapshot) -> Snapshot:
    """Return a snapshot that was taken `seconds` after the start of the test."""
    return dataclasses.replace(seen, taken_at=1_700_000_000 + seconds)


def away() -> WebhookOptions:
    """Return the options of a webhook whose receiver does not answer."""
    return WebhookOptions(url=(f"http://127.0.0.1:{free_port()}/",))


def bodies(recent: RecentEvents) -> list[Any]:
    return [json.loads(event.body) for _, event in recent.read(EventPosition(0), 1000)[1]]


def changes(recent: RecentEvents) -> list[tuple[str, str | None, str | None]]:
    """Return group, previous and new verdict of each event."""
    data = [body["data"] for body in bodies(recent)]
    return [(each["group"], each["before"], each["verdict"]) for each in data]


def test_without_a_webhook_each_change_is_streamed_once() -> None:
    """The first snapshot makes an event for each group that is not fine; groups that disappear are forgotten."""
    recent = RecentEvents()
    announcer = VerdictAnnouncer(recent, "c1")
    for verdicts in ({"a": "stalled", "b": "ok"}, {"a": "stalled", "b": "ok"}, {"a": "ok", "b": "stopped"}, {}, {}):
        announcer.announce(shown(**verdicts), lambda _: None)
    assert changes(recent) == [
        ("a", None, "stalled"),
        ("a", "stalled", "ok"),
        ("b", None, "stopped"),
        ("b", "stopped", None),
    ]
    assert announcer._announced == {}


def test_no_more_events_are_made_than_the_stream_keeps() -> None:
    """Events that the stream would not keep are not made, because each event costs a finding.

    Those events count as missed, and their verdicts as announced.
    """
    recent, asked = RecentEvents(), []

    def finding_of(name: str) -> None:
        asked.append(name)

    announcer = VerdictAnnouncer(recent, "c1")
    sick = {f"g{number:04}": "stalled" for number in range(MOST_EVENTS + 7)}
    announcer.announce(shown(**sick), finding_of)
    assert asked == [f"g{number:04}" for number in range(7, MOST_EVENTS + 7)]
    position, kept = recent.read(EventPosition(0), 1)
    assert (position.missed, kept[0][1].group) == (7, "g0007")
    announcer.announce(shown(**sick | {"g0000": "ok"}), finding_of)
    assert changes(recent)[-1] == ("g0000", "stalled", "ok")


def test_with_a_webhook_the_stream_has_its_events(tmp_path: Path) -> None:
    """Stream and webhook have the same ids, so that a receiver of both recognizes an event."""
    with WebhookSender.running(away(), tmp_path) as sender:
        first = RecentEvents()
        VerdictAnnouncer(first, "c1", sender).announce(shown(a="stalled"), lambda _: None)
        assert sender is not None
        queued = sender._queue.first()
        assert queued is not None
        assert [body["id"] for body in bodies(first)] == [queued.id]


def test_a_restart_is_no_change_of_a_verdict(tmp_path: Path) -> None:
    """A verdict that is unknown for a while after a restart, and then as before, makes no event."""
    options = away()
    with WebhookSender.running(options, tmp_path) as sender:
        VerdictAnnouncer(RecentEvents(), "c1", sender).announce(after(0, shown(a="stopped")), lambda _: None)
    with WebhookSender.running(options, tmp_path) as sender:
        recent = RecentEvents()
        announcer = VerdictAnnouncer(recent, "c1", sender)
        for seconds, seen in ((60, shown(a="unknown")), (120, shown(a="unknown")), (180, shown(a="stopped"))):
            announcer.announce(after(seconds, seen), lambda _: None)
        assert changes(recent) == []
        for seconds in (240, 300):
            announcer.announce(after(seconds, shown(a="unknown")), lambda _: None)
        announcer.announce(after(360, shown(a="ok")), lambda _: None)
        assert changes(recent) == [("a", "stopped", "ok")]


def test_events_have_the_form_of_the_openapi_document() -> None:
    """The document declares every field of an event, and every event has all of them."""
    recent = RecentEvents()
    announcer = VerdictAnnouncer(recent, "c1")
    announcer.announce(shown(a="stalled", b="stopped"), lambda _: None)
    announcer.announce(shown(a="ok"), lambda _: None)
    assert len(bodies(recent)) == 4
    for body in bodies(recent):
        validator("/api/v1/events", 200).validate(body)


def announce(sender: WebhookSender | None, **verdicts: str) -> WebhookSender:
    """Announce a snapshot by a new announcer; the queue has what was announced before."""
    assert sender is not None
    VerdictAnnouncer(RecentEvents(), "c1", sender).announce(shown(**verdicts), lambda _: None)
    return sender


def test_each_change_is_sent_once(tmp_path: Path) -> None:
    """A verdict that stays is not sent again, by the same process or by the next one."""
    with Receiver() as receiver:
        options = WebhookOptions(url=(receiver.url,))
        with WebhookSender.running(options, tmp_path) as sender:
            for b in ("ok", "ok", "stopped"):
                first = announce(sender, a="stalled", b=b)
            wait_until(lambda: first.status().sent == 2, "two events")
        with WebhookSender.running(options, tmp_path) as sender:
            second = announce(sender, a="ok", b="stopped")
            wait_until(lambda: second.status().sent == 1, "one event")
        sent = [(event["subject"], event["data"]["before"], event["data"]["verdict"]) for event in receiver.events]
        assert sent == [("a", None, "stalled"), ("b", None, "stopped"), ("a", "stalled", "ok")]


def test_a_change_that_cannot_be_stored_is_found_again(tmp_path: Path) -> None:
    """A tick continues without its events if they cannot be stored, and the next tick queues them."""
    with WebhookSender.running(away(), tmp_path) as sender:
        assert sender is not None
        announcer = VerdictAnnouncer(RecentEvents(), "c1", sender)
        connection = sender._queue._connection
        connection.execute("PRAGMA query_only = ON")
        assert announcer.announce(shown(a="stalled"), lambda _: None) == ()
        failures = sender.status().failures.to_pylist()
        assert {row["reason"] for row in failures if row["failures"] == 1} >= {"queue"}
        connection.execute("PRAGMA query_only = OFF")
        announcer.announce(shown(a="stalled"), lambda _: None)
        assert sender.status().queued == 1


def test_a_queue_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    """The start is refused, because a webhook that is configured and sends nothing would be worse."""
    with pytest.raises(Refusal, match="cannot be opened"):
        WebhookSender.running(away(), tmp_path / "missing").__enter__()
