"""A leader election while a follower in sync does not answer: the new leader does not know its high watermark."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topic_led_by
from tests.integration.traffic import OFFSETS_TOPIC, commit
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, eventually, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

PROPERTIES: Final = {
    "broker.session.timeout.ms": "120000",
    "replica.lag.time.max.ms": "120000",
    # As created below.
    "offsets.topic.num.partitions": "1",
}
"""A paused follower stays in sync for the whole test."""
UNKNOWN_LAGS: Final = "lagwarden_group_partitions_lag_unknown"


def test_a_new_leader_without_a_high_watermark_changes_no_verdict(tmp_path: Path) -> None:
    """The lag is not exported for several ticks, with the reason, and the group keeps its verdict."""
    with (
        Broker(properties=PROPERTIES) as one,
        Broker(joins=one, properties=PROPERTIES) as leader,
        Broker(joins=one, node=3, properties=PROPERTIES) as follower,
    ):
        eventually(lambda: create_topic_led_by(one.bootstrap, "t", leader=2, followers=(1, 3)))
        create_topic_led_by(one.bootstrap, OFFSETS_TOPIC, leader=1)
        _produce(one.bootstrap, 10)
        commit(one.bootstrap, "g", "t", {0: 10})
        with ThreadPoolExecutor() as pool, Monitor(one.bootstrap, tmp_path) as monitor:
            monitor.wait_ready()
            monitor.wait_for(lambda: _lag(monitor) == 0, "the group to be caught up")
            follower.pause()
            _produce(one.bootstrap, 1)  # the high watermark stays at 10
            wait_until(lambda: _size(one) == _size(leader), "the next leader to have the record")
            # It ends when every broker has read the change: after the pause.
            stopping = pool.submit(leader.stop)
            monitor.wait_for(lambda: _is_unknown(monitor), "the lag to be unknown")
            monitor.wait_ticks(5)
            assert _is_unknown(monitor)
            assert monitor.get("/api/v1/groups/g").json["verdict"] == "caught_up"
            follower.resume()
            stopping.result()
            monitor.wait_for(lambda: _lag(monitor) == 1, "the lag to be known")
            assert monitor.events("verdict changed") == []


def _produce(bootstrap: str, records: int) -> None:
    """Write records that only the leader must have."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": 1, "log_level": 0})
    for number in range(records):
        producer.produce("t", str(number))
    assert producer.flush(LIMIT) == 0


def _size(broker: Broker) -> int:
    return (broker.data / "t-0" / f"{0:020}.log").stat().st_size


def _is_unknown(monitor: Monitor) -> bool:
    return monitor.metrics().value(UNKNOWN_LAGS, group="g", reason="not_available") == 1


def _lag(monitor: Monitor) -> int | None:
    return monitor.metrics().lags.get(("g", "t", 0))
