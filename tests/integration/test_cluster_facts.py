"""The cluster's facts in a running monitor, without anybody setting anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.waiting import wait_until

if TYPE_CHECKING:
    from sandbox.kafka.broker import Broker
    from tests.support.monitor import Monitor

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_beside_the_groups(monitor: Monitor, cluster: Broker) -> None:
    """Layout, settings of what groups read and the offsets topic's size stand in `/metrics` and in the API."""
    wait_until(lambda: 'name="t",key="retention.ms"' in monitor.get("/metrics").text, "the settings of a read topic")
    text = monitor.get("/metrics").text
    for line in (
        'lagwarden_topic_partitions{topic="t"} 3\n',
        'lagwarden_topic_partition_leader{topic="t",partition="2"} 1\n',
        'lagwarden_topic_partition_under_replicated{topic="__consumer_offsets",partition="0"} 0\n',
        'lagwarden_controller{broker="1"} 1\n',
        "lagwarden_offsets_topic_cleaner_suspect 0\n",
        f'lagwarden_broker_info{{broker="1",host="127.0.0.1",port="{cluster.port}",rack=""}} 1\n',
    ):
        assert line in text
    assert monitor.get("/api/v1/topics/t").json["partitions"] == 3
    offsets = monitor.get("/api/v1/cluster").json["offsets_topic"]
    assert [row["bytes"] > 0 for row in offsets["by_broker"]] == [True]
    assert monitor.get("/api/v1/topics/none").status == 404
