"""The webhook, from a real broker to a real HTTP server, with a kill of the monitor while the receiver is away."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import pandas as pd
import pytest

from sandbox.kafka.broker import Broker
from sandbox.ports import LOOPBACK, free_port
from tests.exporters.openapi_check import validator
from tests.integration.traffic import commit, make_topic, stop_reading
from tests.stream.webhook.receiver import Receiver
from tests.support.monitor import Monitor
from tests.support.processes import patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(600))]

QUEUED = "lagwarden_webhook_events_queued"
REASON = "moves to another cluster"


_PATH: Final = "/api/v1/events"
_SILENT_SECONDS: Final = 60.0
"""The greatest time between two lines; a heartbeat comes every 15 s."""


class EventStreamReader:
    """Reads inside `with EventStreamReader(port):`, in a thread, until the server or the block ends.

    `last_id` is the `id` of the last message, with which the next reader continues. The headers of the response have
    arrived when the block begins, so that no later event is lost. `failure` is an error of the reader itself.
    """

    def __init__(self, port: int, last_id: str | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.missed: list[int | None] = []
        self.last_id = last_id
        self.failure: Exception | None = None
        self._client = http.client.HTTPConnection(LOOPBACK, port, timeout=_SILENT_SECONDS)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._client.request("GET", _PATH, headers={} if self.last_id is None else {"last-event-id": self.last_id})
        self._socket = self._client.sock
        self._response = self._client.getresponse()
        assert self._response.status == 200
        assert (self._response.getheader("content-type") or "").startswith("text/event-stream")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._client.close()

    def _read(self) -> None:
        try:
            with contextlib.suppress(OSError, http.client.HTTPException):  # the server or the block has ended
                for message in self._messages():
                    self._take(message)
        except Exception as error:  # noqa: BLE001 -- the test shows it
            self.failure = error

    def _messages(self) -> Iterator[dict[str, str]]:
        """Yield the fields of each message; a comment has the empty name."""
        fields: dict[str, str] = {}
        while line := self._response.readline().decode():
            name, _, value = line.rstrip("\n").partition(":")
            if line == "\n":
                yield fields
                fields = {}
            else:
                fields[name] = value.removeprefix(" ")

    def _take(self, message: dict[str, str]) -> None:
        self.last_id = message.get("id", self.last_id)
        if "data" not in message:
            return
        data = json.loads(message["data"])
        validator(_PATH, 200).validate(data)
        if message.get("event") == "missed":
            self.missed.append(data["missed"])
        else:
            self.events.append(data)


def verdicts(events: list[dict[str, Any]]) -> list[str | None]:
    """Return the new verdict of each event."""
    return [each["data"]["verdict"] for each in events]


def test_an_event_survives_a_kill_while_the_receiver_is_away(tmp_path: Path) -> None:
    """The next start sends each event of a stopped group once, with owner, silence and cluster.

    A client of the event stream that connects again has the same events as the webhook, in the same order.
    """
    port = free_port()
    settings = {
        "webhook.url": f"http://127.0.0.1:{port}/events",
        "history.dir": str(tmp_path / "history"),
        "groups.owners": "[{groups: bill.*, team: payments}]",
        "groups.maintenance": "[{groups: other, at: '00:00', for: 7d}]",
        "groups.silences": f"[{{groups: bill.*, reason: {REASON}}}]",
    }
    with Broker() as broker:
        make_topic(broker.bootstrap, "t", 1, records=10)
        commit(broker.bootstrap, "other", "t", {0: 10})
        with Monitor(broker.bootstrap, tmp_path, settings) as monitor:
            monitor.wait_ready()
            with EventStreamReader(monitor.port) as before:
                stop_reading(broker.bootstrap, "billing")
                monitor.wait_for(
                    lambda: monitor.get("/api/v1/groups/billing").json.get("verdict") == "stopped", "the verdict", 120
                )
                monitor.wait_for(lambda: monitor.metrics().value(QUEUED) >= 1, "an event in the queue")
                wait_until(lambda: "stopped" in verdicts(before.events), "the event in the stream")
                shown = monitor.metrics()
                assert shown.rows("lagwarden_group_owner_info", group="billing")[0][0]["team"] == "payments"
                muted = {labels["group"] for labels, _ in shown.rows("lagwarden_group_maintenance")}
                assert muted == {"billing", "other"}
                rows = {row["group"]: row for row in monitor.get("/api/v1/groups").json["groups"]}
                assert rows["billing"]["silence_reason"] == REASON
                assert rows["billing"]["maintenance_until"] is None
                assert rows["other"]["silence_reason"] is None
                assert rows["other"]["maintenance_until"] is not None
                monitor.kill()
            with Receiver(port=port) as receiver:
                monitor.start().wait_ready()
                with EventStreamReader(monitor.port, before.last_id) as after:
                    wait_until(lambda: len(receiver.events) >= 1, "the event")
                    monitor.wait_for(lambda: monitor.metrics().value(QUEUED) == 0, "an empty queue")
                    monitor.wait_ticks(3)
                    assert monitor.stop().code == 0
    assert before.failure is None
    assert after.failure is None
    assert after.missed == [None]  # another process does not know how many
    ids = [each["id"] for each in receiver.events]
    assert len(set(ids)) == len(ids)
    assert [each["id"] for each in before.events + after.events] == ids
    assert {each["subject"] for each in receiver.events} == {"billing"}
    event = receiver.events[verdicts(receiver.events).index("stopped")]
    assert event["id"] in {each["id"] for each in before.events}
    assert event["source"].startswith("/lagwarden/clusters/")
    assert event["data"]["owner"]["team"] == "payments"
    assert event["data"]["silence_reason"] == REASON

    kept = pd.read_parquet(tmp_path / "history" / "verdicts").sort_values("time")
    assert [*kept["verdict"]] == verdicts(receiver.events), "the kill lost none"
    transitions = pd.read_parquet(tmp_path / "history" / "events")
    assert "created" in set(transitions[transitions["group"] == "billing"]["event"])
