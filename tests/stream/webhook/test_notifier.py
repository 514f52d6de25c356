"""From snapshots to events at a real HTTP server, over restarts of the monitor and failures of the disk."""

from pathlib import Path

import pytest

from sandbox.ports import free_port
from sandbox.waiting import wait_until
from stream.config.options import WebhookOptions
from stream.errors import Refusal
from stream.webhook.notifier import WebhookNotifier
from tests.exporters.snapshots import verdicts_snapshot as shown
from tests.stream.webhook.receiver import Receiver


def announce(notifier: WebhookNotifier | None, **verdicts: str) -> WebhookNotifier:
    assert notifier is not None
    notifier.announce(shown(**verdicts), lambda _: None)
    return notifier


def test_each_change_is_sent_once(tmp_path: Path) -> None:
    """A verdict that stays is not sent again, by the same process or by the next one."""
    with Receiver() as receiver:
        options = WebhookOptions(url=(receiver.url,))
        with WebhookNotifier.running(options, tmp_path, "c1") as notifier:
            announce(notifier, a="stalled", b="ok")
            announce(notifier, a="stalled", b="ok")
            first = announce(notifier, a="stalled", b="stopped")
            wait_until(lambda: first.status().sent == 2, "two events")
        with WebhookNotifier.running(options, tmp_path, "c1") as notifier:
            second = announce(notifier, a="ok", b="stopped")
            wait_until(lambda: second.status().sent == 1, "one event")
        changes = [(event["subject"], event["data"]["before"], event["data"]["verdict"]) for event in receiver.events]
        assert changes == [("a", None, "stalled"), ("b", None, "stopped"), ("a", "stalled", "ok")]


def test_a_change_that_cannot_be_stored_is_found_again(tmp_path: Path) -> None:
    """A tick continues without its events if they cannot be stored, and the next tick queues them."""
    options = WebhookOptions(url=(f"http://127.0.0.1:{free_port()}/",))
    with WebhookNotifier.running(options, tmp_path, "c1") as notifier:
        announce(notifier, a="ok")
        connection = notifier._queue._connection
        connection.execute("PRAGMA query_only = ON")
        failures = announce(notifier, a="stalled").status().failures
        assert {row["reason"] for row in failures.to_pylist() if row["failures"] == 1} >= {"queue"}
        connection.execute("PRAGMA query_only = OFF")
        assert announce(notifier, a="stalled").status().queued == 1


def test_a_queue_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    """The start is refused, because a webhook that is configured and sends nothing would be worse."""
    running = WebhookNotifier.running(WebhookOptions(url=("http://127.0.0.1:1/",)), tmp_path / "missing", "c1")
    with pytest.raises(Refusal, match="cannot be opened"):
        running.__enter__()
