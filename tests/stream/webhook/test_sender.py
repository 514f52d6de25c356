"""Sending events to a real HTTP server that is slow or answers with errors; `test_announcer` has one that is away."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.verdict_event import VerdictEvent
from sandbox.waiting import wait_until
from stream.config.options import WebhookOptions
from stream.webhook.event_queue import EventQueue
from stream.webhook.request import failure_reason
from stream.webhook.sender import WebhookSender, pause_seconds
from tests.stream.webhook.receiver import Receiver
from tests.stream.webhook.test_event_queue import event as queued_event


def event(group: str) -> VerdictEvent:
    made = queued_event(group)
    return type(made)(made.id, made.group, made.time, f'{{"subject": "{group}", "id": "{made.id}"}}'.encode(), None)


@contextlib.contextmanager
def sending(folder: Path, url: str, timeout: float = 10.0) -> Iterator[tuple[EventQueue, WebhookSender]]:
    options = WebhookOptions(url=(url,), timeout=timeout)
    with contextlib.closing(EventQueue(folder, 100)) as queue, WebhookSender(queue, options, pace=0.01) as sender:
        yield queue, sender


@pytest.mark.parametrize("status", [301, 307, 401, 403, 404, 408, 429, 500, 503])
def test_an_event_is_sent_again_until_it_is_accepted(tmp_path: Path, status: int) -> None:
    """An event stays first, also after a status that an operator must repair, and each failure is counted."""
    with Receiver(lambda number: (status if number < 6 else 202, {"Location": "/", "Retry-After": "0"})) as receiver:
        with sending(tmp_path, receiver.url) as (queue, sender):
            queue.append([event("a"), event("b")])
            sender.wake()
            wait_until(lambda: sender.counts()[0] == 2, "both events")
        assert receiver.subjects == ["a"] * 7 + ["b"]
        assert {each["id"] for each in receiver.events[:7]} == {"id-a"}
    reason = failure_reason(status)
    _, failures, drops = sender.counts()
    assert {name: count for name, count in failures.items() if count} == {reason: 6}
    assert set(drops.values()) == {0}


def test_an_event_that_is_refused_five_times_does_not_block_the_others(tmp_path: Path) -> None:
    """The refused event is dropped and counted; the next event has five attempts of its own."""
    with Receiver(lambda number: (422 if number < 9 else 200, {})) as receiver:
        with sending(tmp_path, receiver.url) as (queue, sender):
            queue.append([event("a"), event("b")])
            sender.wake()
            wait_until(lambda: sender.counts()[0] == 1, "the second event")
        assert receiver.subjects == ["a"] * 5 + ["b"] * 5
    assert sender.counts()[2] == {"queue_full": 0, "refused": 1}


def test_a_stop_does_not_wait_for_the_end_of_a_request(tmp_path: Path) -> None:
    """The sender stops while the receiver has not answered. The event stays in the queue."""
    with Receiver(delay=20) as slow:
        with sending(tmp_path, slow.url, timeout=60) as (queue, sender):
            queue.append([event("a")])
            sender.wake()
            wait_until(lambda: slow.subjects == ["a"], "the request")
        assert slow.responses == 0
    with contextlib.closing(EventQueue(tmp_path, 100)) as queue:
        assert queue.size() == (1, 1.0)


def test_pauses_grow_and_have_a_limit() -> None:
    """A pause doubles from 1 s to five minutes; Retry-After only makes it longer, up to an hour."""
    assert [pause_seconds(failures, 0.0) for failures in (1, 2, 3, 9, 10, 10**6)] == [1, 2, 4, 256, 300, 300]
    assert pause_seconds(1, 60.0) == 60
    assert pause_seconds(9, 60.0) == 256
    assert pause_seconds(1, float("inf")) == 3600
