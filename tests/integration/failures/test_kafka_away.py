"""Kafka unreachable at the start and later: the monitor keeps running, names the cause, and recovers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.waiting import eventually
from tests.integration.traffic import commit, make_topic, offsets_ends
from tests.support.monitor import Monitor

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.kafka.broker import Broker
    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(500)]


@pytest.mark.long
def test_a_batch_waits_for_a_broker_that_hangs(make_broker: MakeBroker, tmp_path: Path) -> None:
    """A query whose broker is paused during a read neither fails nor restarts, and reads the records later."""
    broker: Broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 1})
    settings = {"kafka.request_timeout": "2s", "job.trigger_interval": "200ms", "job.freshness_limit": "20s"}
    with Monitor(broker.bootstrap, tmp_path, settings) as monitor:
        monitor.wait_ready()
        for offset in (2, 3, 4):
            commit(broker.bootstrap, "g", "t", {0: offset})
            broker.pause()
            try:
                monitor.wait_for(lambda: monitor.metrics().value("lagwarden_kafka_reachable") == 0, "the outage")
            finally:
                broker.resume()
            # The controller may have fenced the broker, which elects its leaders again.
            shown = monitor.wait_read(eventually(lambda: offsets_ends(broker.bootstrap)))
            assert shown.committed == {("g", "t", 0): offset}
        assert monitor.events("query failed") == []
        assert shown.value("lagwarden_resyncs_total") == 0
        assert shown.records_read == 4


def test_monitor_recovers_from_a_missing_broker(make_broker: MakeBroker, tmp_path: Path) -> None:
    """Readiness has the cause while the broker is missing. The old snapshot is shown until the broker returns."""
    broker: Broker = make_broker()
    bootstrap = broker.bootstrap
    make_topic(bootstrap, "t", 2)
    commit(bootstrap, "g", "t", {0: 3})
    broker.stop()

    with Monitor(bootstrap, tmp_path, {"job.freshness_limit": "6s", "kafka.request_timeout": "3s"}) as monitor:
        monitor.wait_for(lambda: bootstrap in monitor.reasons(), "the cause to be named")
        assert "nothing listens there" in monitor.reasons()
        assert monitor.get("/livez").status == 200
        assert monitor.get("/readyz").status == 503
        assert monitor.metrics().value("lagwarden_kafka_reachable") == 0
        assert [line["cause"] for line in monitor.wait_events("kafka unavailable at startup; trying again")] == [
            monitor.reasons()
        ]

        broker.start()
        monitor.wait_ready()
        assert monitor.metrics().committed == {("g", "t", 0): 3}

        broker.stop()
        monitor.wait_for(lambda: monitor.metrics().value("lagwarden_kafka_reachable") == 0, "the outage to be seen")
        monitor.wait_for(lambda: monitor.get("/readyz").status == 503, "readiness to end with freshness")
        assert "old (limit 6 s)" in monitor.reasons()
        shown = monitor.metrics()
        assert shown.committed == {("g", "t", 0): 3}
        assert shown.value("lagwarden_phase_info", phase="running") == 1
        assert monitor.get("/livez").status == 200
        assert len(monitor.wait_events("kafka unreachable")) == 1

        broker.start()
        monitor.wait_ready()
        assert monitor.metrics().value("lagwarden_kafka_reachable") == 1
        commit(bootstrap, "g", "t", {0: 5})
        commit(bootstrap, "after", "t", {1: 1})
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert shown.committed == {("g", "t", 0): 5, ("after", "t", 1): 1}
        assert len(monitor.wait_events("kafka reachable again")) == 1
        assert monitor.stop().code == 0


@pytest.mark.long
def test_sigterm_ends_the_process_while_the_broker_is_paused(make_broker: MakeBroker, tmp_path: Path) -> None:
    """The broker accepts connections without answers. SIGTERM gives exit code 0 within 30 s and leaves no process."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 3})
    with Monitor(broker.bootstrap, tmp_path, {"kafka.request_timeout": "3s"}) as monitor:
        monitor.wait_ready()
        broker.pause()
        try:
            monitor.wait_for(lambda: monitor.metrics().value("lagwarden_kafka_reachable") == 0, "the outage to be seen")
            ending = monitor.stop()
        finally:
            broker.resume()
        assert (ending.code, ending.left_behind) == (0, ())
        assert ending.seconds < 30
