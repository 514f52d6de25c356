"""The webhook, from a real broker to a real HTTP server, over a kill of the monitor while the receiver is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.kafka.broker import Broker
from sandbox.ports import free_port
from sandbox.waiting import wait_until
from tests.integration.traffic import commit, make_topic, stop_reading
from tests.stream.webhook.receiver import Receiver
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

QUEUED = "lagwarden_webhook_events_queued"


def test_an_event_survives_a_kill_while_the_receiver_is_away(tmp_path: Path) -> None:
    """A group that stops is announced once, with owner and cluster, after the next start."""
    port = free_port()
    settings = {
        "webhook.url": f"http://127.0.0.1:{port}/events",
        "groups.owners": "[{groups: bill.*, team: payments}]",
        "groups.maintenance": "[{groups: other, at: '00:00', for: 7d}]",
    }
    with Broker() as broker:
        make_topic(broker.bootstrap, "t", 1, records=10)
        commit(broker.bootstrap, "other", "t", {0: 10})
        with Monitor(broker.bootstrap, tmp_path, settings) as monitor:
            monitor.wait_ready()
            stop_reading(broker.bootstrap, "billing")
            monitor.wait_for(
                lambda: monitor.get("/api/v1/groups/billing").json.get("verdict") == "stopped", "the verdict", 120
            )
            monitor.wait_for(lambda: monitor.metrics().value(QUEUED) >= 1, "an event in the queue")
            shown = monitor.metrics()
            assert shown.rows("lagwarden_group_owner_info", group="billing")[0][0]["team"] == "payments"
            assert [labels["group"] for labels, _ in shown.rows("lagwarden_group_maintenance")] == ["other"]
            monitor.kill()
            with Receiver(port=port) as receiver:
                monitor.start().wait_ready()
                wait_until(lambda: len(receiver.events) >= 1, "the event")
                monitor.wait_for(lambda: monitor.metrics().value(QUEUED) == 0, "an empty queue")
                monitor.wait_ticks(3)
                assert monitor.stop().code == 0
    event = receiver.events[-1]
    assert len({each["id"] for each in receiver.events}) == len(receiver.events)
    assert {each["subject"] for each in receiver.events} == {"billing"}
    assert event["source"].startswith("/lagwarden/clusters/")
    assert event["data"]["verdict"] == "stopped"
    assert event["data"]["owner"]["team"] == "payments"
