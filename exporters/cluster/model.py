"""The read model of the cluster beside the groups: brokers, topics, partitions, settings, the offsets topic's size.

The rules of `exporters.readmodel` hold here too: unknown is null, names are dictionary-encoded, a table is sorted by
its label columns, moments are UTC. One `ClusterFacts` is what one poll saw: a poll has a slower rhythm than snapshots.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import pyarrow as pa

from exporters.readmodel import NAME, TIMESTAMP

_NODES: Final = pa.list_(pa.int32())

POLLS: Final = pa.schema(
    [
        # When the poll began, and how long it took in seconds.
        ("poll_time", TIMESTAMP),
        ("poll_seconds", pa.float64()),
        # Whether something says that the log cleaner does not keep the offsets topic small; null: not known.
        ("cleaner_suspect", pa.bool_()),
    ]
)
"""One row: the poll itself."""

BROKERS: Final = pa.schema(
    [
        ("broker", pa.int32()),
        ("host", NAME),
        ("port", pa.int32()),
        ("rack", NAME),
        # Partitions that it leads, and replicas that it is to hold, of the topics that may be described.
        ("leads", pa.int32()),
        ("holds", pa.int32()),
    ]
)
"""One row per broker that is there."""

CONTROLLERS: Final = pa.schema([("broker", pa.int32()), ("active", pa.bool_())])
"""One row for the active controller, which may be no broker; none where it is not known."""

CLUSTER_TOPICS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partitions", pa.int32()),
        # Of the topic's first partition.
        ("replication_factor", pa.int32()),
        ("under_replicated", pa.int32()),
        ("leaderless", pa.int32()),
        # CMAK's percentages (kafka.manager.model.ActorModel, rounded down to whole percents) as shares from 0 to 1.
        ("preferred_leaders_ratio", pa.float64()),
        ("brokers_skewed_ratio", pa.float64()),
        ("brokers_spread_ratio", pa.float64()),
        ("leaders_skewed_ratio", pa.float64()),
    ]
)
"""One row per topic that could be described."""

TOPIC_PARTITIONS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        # Null: no broker leads it at the moment.
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("replicas", pa.int32()),
        ("in_sync_replicas", pa.int32()),
        ("under_replicated", pa.bool_()),
        # Whether the first of its replicas leads it; false where nobody does.
        ("preferred_leader", pa.bool_()),
        # Broker numbers: all replicas, the preferred leader first; those in sync; those whose broker or disk is away.
        ("replica_brokers", _NODES),
        ("in_sync_brokers", _NODES),
        ("offline_brokers", _NODES),
    ]
)
"""One row per partition."""

PARTITIONS_SHOWN: Final = TOPIC_PARTITIONS
"""Those of them that have series of their own."""

OFFSETS_REPLICAS: Final = pa.schema(
    [
        ("broker", pa.int32()),
        # All replicas of `__consumer_offsets` on this broker, in bytes of their segments.
        ("bytes", pa.int64()),
        # How fast that grows over the last hour, in bytes per second; below 0 while the log cleaner shrinks it.
        ("growth", pa.float64()),
        ("unknown_reason", NAME),
    ]
)
"""One row per broker that holds a part of `__consumer_offsets`, or could not tell."""

CONFIGS: Final = pa.schema(
    [
        # broker or topic, and the broker's number or the topic's name.
        ("scope", NAME),
        ("name", NAME),
        ("key", NAME),
        ("value", NAME),
        # Where it was set, in Kafka's words (ConfigEntry.ConfigSource) and small letters.
        ("source", NAME),
        # Why the value is not known; null where it is.
        ("unknown_reason", NAME),
    ]
)
"""One row per setting asked for. Settings that a broker does not know (another version of Kafka) are left out."""

UNKNOWN_FACTS: Final = pa.schema([("fact", NAME), ("reason", NAME), ("amount", pa.int32())])
"""How much of what was asked is not known, by fact (controller, topic, offsets topic size, …) and reason."""


# Compared by identity: tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClusterFacts:
    """What one poll saw of the cluster. Every table has the schema of its name.

    `partitions_shown` are the rows of `topic_partitions` that have series of their own: all, or as many as allowed,
    those out of order first. `cleaner_evidence` are sentences, one for each sign that the log cleaner stands still.
    """

    taken_at: float
    cluster_id: str | None
    controller: int | None
    controller_unknown_reason: str | None
    polls: pa.Table
    brokers: pa.Table
    controllers: pa.Table
    cluster_topics: pa.Table
    topic_partitions: pa.Table
    partitions_shown: pa.Table
    offsets_replicas: pa.Table
    configs: pa.Table
    unknown_facts: pa.Table
    cleaner_suspect: bool | None
    cleaner_evidence: tuple[str, ...]
