"""Properties of the cluster in a running monitor with default settings."""

import pytest

from sandbox.kafka.broker import Broker
from tests.support.monitor import Monitor
from tests.support.processes import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_cluster_properties_are_in_metrics_and_api(monitor: Monitor, cluster: Broker) -> None:
    """`/metrics` and the API have the layout, the settings of read topics, and the size of the offsets topic."""
    wait_until(lambda: 'name="t",key="retention.ms"' in monitor.get("/metrics").text, "the settings of a read topic")
    text = monitor.get("/metrics").text
    for line in (
        'lagwarden_topic_partitions{topic="t"} 3\n',
        'lagwarden_topic_partition_leader{topic="t",partition="2"} 1\n',
        'lagwarden_topic_partition_under_replicated{topic="__consumer_offsets",partition="0"} 0\n',
        'lagwarden_controller{broker="1"} 1\n',
        'lagwarden_quorum_replica_lag{replica="1",role="voter"} 0\n',
        "lagwarden_reassigning_partitions 0\n",
        "lagwarden_cluster_version_sets 1\n",
        'lagwarden_broker_bytes{broker="1"} ',
        "lagwarden_offsets_topic_cleaner_suspect 0\n",
        f'lagwarden_broker_info{{broker="1",host="127.0.0.1",port="{cluster.port}",rack=""}} 1\n',
    ):
        assert line in text
    assert monitor.get("/api/v1/topics/t").json["partitions"] == 3
    offsets = monitor.get("/api/v1/cluster").json["offsets_topic"]
    assert [row["bytes"] > 0 for row in offsets["by_broker"]] == [True]
    assert monitor.get("/api/v1/topics/none").status == 404
