"""The program of KMinion as a reference: on one real broker, its series and those of lagwarden have the same values.

The test needs the binary of KMinion; the variable KMINION_BINARY has its path (`bench.kminion`).
"""

import time
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.kminion import VARIABLE, binary
from bench.service import get
from exporters.cluster.exposition import PublishedCluster, join_expositions
from exporters.compatibility.selection import PeerSelection
from exporters.selection.series import SeriesSelection, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, eventually, wait_until
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.poll import ClusterPoll
from stream.groups.commits.counts import CommitCounts
from stream.groups.driver_state import DriverState
from stream.tick.snapshot.build import build
from tests.exporters.compatibility.exporter_programs import running_exporter
from tests.exporters.exposition_text import Series, parsed, plain_text
from tests.integration.folded_log import FoldedLog

pytestmark = pytest.mark.kafka

GROUP: Final = "beside-kminion"
TOPIC: Final = "read-beside-kminion"
COMMITS: Final = 7
SAME: Final = (
    "kminion_kafka_broker_log_dir_size_total_bytes",
    "kminion_kafka_topic_log_dir_size_total_bytes",
    "kminion_kafka_topic_info",
    "kminion_kafka_topic_partition_high_water_mark",
    "kminion_kafka_topic_partition_low_water_mark",
    "kminion_kafka_consumer_group_offset_commits_total",
    "kminion_kafka_consumer_group_topic_offset_sum",
    "kminion_kafka_consumer_group_topic_partition_lag",
    "kminion_kafka_consumer_group_topic_lag",
)
"""The names that have the same series for a topic of which a group reads every partition."""


def series(text: str) -> Series:
    """Return the series of SAME about the broker, the group and its topic."""
    own = {"topic_name": TOPIC, "group_id": GROUP}
    return {
        (name, labels): value
        for (name, labels), value in parsed(text).items()
        if name in SAME and all(own.get(key, text) == text for key, text in labels)
    }


def own_text(cluster: Cluster) -> str:
    """Return the text of lagwarden under KMinion's names, from all records of the topic."""
    state = DriverState(CommitCounts())
    for partition, change in FoldedLog(cluster).read():
        state.apply(partition, change)
    now = time.time()
    snapshot = build(state.columns(), read_ends(cluster, [TOPIC]), now)
    selection = SeriesSelection(compatibility=PeerSelection(("kminion",)))
    of_groups = PublishedSnapshot.build(snapshot, SeriesSelector(selection)).exposition
    of_cluster = PublishedCluster.build(ClusterPoll(cluster, 100).poll(snapshot, now), selection).exposition
    return plain_text(join_expositions(of_groups, of_cluster))


def test_sizes_commits_and_lags_are_those_of_kminion(broker: Broker, tmp_path: Path) -> None:
    """KMinion and lagwarden read the same offsets topic of the same broker, and have the same values."""
    program = binary()
    if program is None:
        pytest.skip(f"{VARIABLE} is not set")
    create_topics(broker.bootstrap, {TOPIC: 2})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(40):
        producer.produce(TOPIC, b"x" * 100, partition=number % 2)
    assert producer.flush(LIMIT) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": GROUP, "enable.auto.commit": False})
    for number in range(COMMITS):
        positions = [TopicPartition(TOPIC, partition, number) for partition in range(2)]
        eventually(lambda positions=positions: consumer.commit(offsets=positions, asynchronous=False))
    consumer.close()
    with (
        Cluster([broker.bootstrap]) as cluster,
        running_exporter("kminion", program, broker.bootstrap, tmp_path, "offsetsTopic") as kminion,
    ):
        wait_until(lambda: get(kminion.port, "/ready")[0] == 200, "KMinion to be ready", limit=120)
        wait_until(lambda: series(kminion.metrics()) == series(own_text(cluster)), "the same series")
        same = series(own_text(cluster))
    assert {name for name, _ in same} == set(SAME)
    assert same["kminion_kafka_consumer_group_offset_commits_total", frozenset({("group_id", GROUP)})] == 2 * COMMITS
