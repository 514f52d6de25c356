"""The facts of a small cluster, some of them unknown, for the examples of the OpenAPI document. Times are Unix ms."""

import dataclasses
from typing import Any, Final

import pyarrow as pa

from exporters.catalogue import brokers, topics
from exporters.cluster.model import ClusterFacts

NOON: Final = 1_700_000_000_000
_PARTITION: Final[dict[str, Any]] = {
    "topic": "orders",
    "leader_epoch": 3,
    "replicas": 2,
    "in_sync_replicas": 2,
    "under_replicated": False,
    "preferred_leader": True,
    "replica_brokers": [1, 2],
    "in_sync_brokers": [1, 2],
    "offline_brokers": [],
}
_RETENTION: Final = "offsets.retention.minutes"
_TOTALS: Final = (
    "leader_epoch metadata_high_watermark quorum_voters quorum_voters_behind reassigning_partitions adding_replicas"
    " removing_replicas version_sets quotas under_replicated_ratio"
)
_TOPIC: Final = (
    "topic partitions replication_factor under_replicated leaderless at_min_isr under_min_isr preferred_leaders_ratio"
    " brokers_skewed_ratio brokers_spread_ratio leaders_skewed_ratio under_replicated_ratio"
)
_SHARE: Final = (
    "group topic partition end returned acknowledged archived returns start_offset lag finished most_deliveries"
)


def rows(columns: str, *values: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return rows by the names of their columns; a short row has the first columns only."""
    return [dict(zip(columns.split(), each, strict=False)) for each in values]


def rows_table(schema: pa.Schema, columns: str, *values: tuple[Any, ...]) -> pa.Table:
    """Return a table of the read model from rows with these columns; all others are null."""
    return pa.Table.from_pylist(rows(columns, *values), schema=schema)


def small_cluster(**changes: Any) -> ClusterFacts:
    """Return two brokers and a topic whose second partition has no leader, with changes."""
    whole = {"partition": 0, "leader": 1, **_PARTITION}
    lost = {**_PARTITION, "partition": 1, "in_sync_replicas": 1, "under_replicated": True, "preferred_leader": False}
    of_orders = [whole, {**lost, "in_sync_brokers": [2], "offline_brokers": [1]}]
    partitions = pa.Table.from_pylist(of_orders, schema=topics.TOPIC_PARTITIONS.schema)
    configs = rows_table(
        brokers.CONFIGS.schema,
        "scope name key value source unknown_reason",
        ("broker", "1", _RETENTION, "10080", "default_config"),
        ("broker", "2", _RETENTION, None, None, "unreachable"),
        ("topic", "__consumer_offsets", "cleanup.policy", "compact", "dynamic_topic_config"),
        ("topic", "orders", "retention.ms", "604800000", "default_config"),
    )
    of_topic = ("orders", 2, 2, 1, 1, 0, 1, 0.5, 0.0, 1.0, 0.33, 0.5)
    seen = ClusterFacts(
        taken_at=NOON / 1000,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
        controller=3000,
        controller_unknown_reason=None,
        polls=rows_table(brokers.POLLS.schema, "poll_time poll_seconds cleaner_suspect", (NOON, 0.25, True)),
        brokers=rows_table(
            brokers.BROKERS.schema,
            "broker host port leads holds rack",
            (1, "kafka-1", 9092, 1, 2, "eu-1a"),
            (2, "kafka-2", 9092, 0, 2),
        ),
        controllers=rows_table(brokers.CONTROLLERS.schema, "broker active", (3000, True)),
        cluster_topics=rows_table(topics.CLUSTER_TOPICS.schema, _TOPIC, of_topic),
        topic_partitions=partitions,
        partitions_shown=partitions,
        offsets_replicas=rows_table(
            brokers.OFFSETS_REPLICAS.schema,
            "broker bytes growth unknown_reason",
            (1, 2**40, -12.5),
            (2, None, None, "not_authorized"),
        ),
        configs=configs,
        configs_shown=configs,
        cluster_totals=rows_table(brokers.CLUSTER_TOTALS.schema, _TOTALS, (12, 499, 3, 1, 1, 1, 0, 2, 1, 0.5)),
        quorum_replicas=rows_table(
            brokers.QUORUM_REPLICAS.schema,
            "replica role log_end_offset lag last_fetch_time last_caught_up_time",
            (3000, "voter", 500, 0, NOON, NOON),
            (1, "observer", 480, 20, NOON - 1000, NOON - 9000),
            (2, "observer"),
        ),
        reassignments=rows_table(
            brokers.REASSIGNMENTS.schema,
            "topic partition replica_brokers adding_brokers removing_brokers",
            ("orders", 1, [1, 2], [1], []),
        ),
        reassigning_topics=rows_table(brokers.REASSIGNING_TOPICS.schema, "topic partitions", ("orders", 1)),
        features=rows_table(brokers.FEATURES.schema, "feature level", ("metadata.version", 20)),
        broker_features=rows_table(
            brokers.BROKER_FEATURES.schema, "broker feature min_level max_level", (1, "metadata.version", 7, 27)
        ),
        share_partitions=rows_table(
            topics.SHARE_PARTITIONS.schema,
            _SHARE,
            ("jobs", "orders", 0, 2000, 2, 1590, 1, 3, 1600, 390, 10, 3),
            ("jobs", "orders", 1, 7, 0, 0, 0, 0),
        ),
        share_groups=rows_table(topics.SHARE_GROUPS.schema, "group partitions lag", ("jobs", 1, 390)),
        share_reads=rows_table(topics.SHARE_READS.schema, "read_time", (NOON,)),
        quotas=rows_table(
            brokers.QUOTAS.schema, "user client_id ip key value", ("", "billing-1", "", "consumer_byte_rate", 1024.0)
        ),
        broker_disks=rows_table(brokers.BROKER_DISKS.schema, "broker bytes left_replicas", (1, 2**41, 2)),
        topic_sizes=rows_table(brokers.TOPIC_SIZES.schema, "topic bytes", ("orders", 4096)),
        followers=rows_table(topics.FOLLOWERS.schema, "topic partition broker lag", ("orders", 1, 2, 700)),
        unknown_facts=rows_table(
            brokers.UNKNOWN_FACTS.schema,
            "fact reason amount",
            ("broker setting", "unreachable", 1),
            ("offsets topic size", "not_authorized", 1),
        ),
        cleaner_suspect=True,
        cleaner_evidence=("log.cleaner.enable is false on broker 1",),
        failed_log_dirs=((1, "/data/2"),),
        mixed_versions=("broker 2 differs from broker 1: metadata.version 7 to 25 instead of 7 to 27",),
        is_whole=True,
    )
    return dataclasses.replace(seen, **changes)
