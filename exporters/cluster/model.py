"""The read model of the cluster: brokers, topics, partitions, configuration, quorum, size of the offsets topic.

The rules of `exporters.readmodel` apply: unknown is null, names are dictionary-encoded, a table is sorted by its label
columns, times are UTC. One `ClusterFacts` is the result of one poll; polls are less frequent than snapshots.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import NAME, TIMESTAMP

_NODES: Final = pa.list_(pa.int32())

POLLS: Final = pa.schema(
    [
        # When the poll began, and how long it took in seconds.
        ("poll_time", TIMESTAMP),
        ("poll_seconds", pa.float64()),
        # True if there are signs that the log cleaner does not compact the offsets topic; null: unknown.
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
        # Partitions that it leads, and replicas assigned to it, of the topics that may be described.
        ("leads", pa.int32()),
        ("holds", pa.int32()),
    ]
)
"""One row per live broker."""

CONTROLLERS: Final = pa.schema([("broker", pa.int32()), ("active", pa.bool_())])
"""One row for the active controller, which with KRaft need not be a broker; no row if unknown."""

CLUSTER_TOPICS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partitions", pa.int32()),
        # Of the topic's first partition.
        ("replication_factor", pa.int32()),
        ("under_replicated", pa.int32()),
        ("leaderless", pa.int32()),
        # Partitions that one more lost replica would close to producers with acks=all, and those that are closed: as
        # many replicas in sync as min.insync.replicas, or fewer, or no leader. Null if the setting is unknown.
        ("at_min_isr", pa.int32()),
        ("under_min_isr", pa.int32()),
        # CMAK's percentages (kafka.manager.model.ActorModel, rounded down to whole percents) as shares from 0 to 1.
        ("preferred_leaders_ratio", pa.float64()),
        ("brokers_skewed_ratio", pa.float64()),
        ("brokers_spread_ratio", pa.float64()),
        ("leaders_skewed_ratio", pa.float64()),
        ("under_replicated_ratio", pa.float64()),
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
        # True if its first replica leads it; false if it has no leader.
        ("preferred_leader", pa.bool_()),
        # Broker ids: all replicas, the preferred leader first; in-sync replicas; replicas on failed brokers or disks.
        ("replica_brokers", _NODES),
        ("in_sync_brokers", _NODES),
        ("offline_brokers", _NODES),
    ]
)
"""One row per partition."""

PARTITIONS_SHOWN: Final = TOPIC_PARTITIONS
"""The rows of TOPIC_PARTITIONS that have their own series."""

OFFSETS_REPLICAS: Final = pa.schema(
    [
        ("broker", pa.int32()),
        # All replicas of `__consumer_offsets` on this broker, in bytes of their segments.
        ("bytes", pa.int64()),
        # Growth over the last hour in bytes per second; negative while the log cleaner shrinks the topic.
        ("growth", pa.float64()),
        ("unknown_reason", NAME),
    ]
)
"""One row per broker that has replicas of `__consumer_offsets`, or whose log directories are unknown."""

CONFIGS: Final = pa.schema(
    [
        # `broker` or `topic`, and the id of the broker or the name of the topic.
        ("scope", NAME),
        ("name", NAME),
        ("key", NAME),
        ("value", NAME),
        # The source, as Kafka names it (ConfigEntry.ConfigSource), in lower case.
        ("source", NAME),
        # Why the value is unknown; null if it is known.
        ("unknown_reason", NAME),
    ]
)
"""One row per requested configuration. Those that a broker does not know (another version of Kafka) are left out."""

CONFIGS_SHOWN: Final = CONFIGS
"""The rows of CONFIGS that have their own series: of topics that groups read, only the chosen settings."""

CLUSTER_TOTALS: Final = pa.schema(
    [
        # The quorum of a KRaft cluster; null with ZooKeeper.
        ("leader_epoch", pa.int32()),
        ("metadata_high_watermark", pa.int64()),
        # Its voters, and those that do not follow its leader; the latter also null before Kafka 3.3.
        ("quorum_voters", pa.int32()),
        ("quorum_voters_behind", pa.int32()),
        # Partitions that are being moved, and the replicas that are being added and removed.
        ("reassigning_partitions", pa.int32()),
        ("adding_replicas", pa.int32()),
        ("removing_replicas", pa.int32()),
        # The number of different sets of supported requests and features among the brokers that answered.
        ("version_sets", pa.int32()),
        # The number of configured quotas, also of those that QUOTAS leaves out.
        ("quotas", pa.int32()),
        # The share of all partitions that are under-replicated, from 0 to 1; null without partitions.
        ("under_replicated_ratio", pa.float64()),
    ]
)
"""One row; a value is null if it is unknown."""

QUORUM_REPLICAS: Final = pa.schema(
    [
        # The id of a controller or broker.
        ("replica", pa.int32()),
        # `voter` or `observer`.
        ("role", NAME),
        ("directory", NAME),
        ("log_end_offset", pa.int64()),
        # The distance to the end of the leader's log, in records.
        ("lag", pa.int64()),
        # By the clock of the leader.
        ("last_fetch_time", TIMESTAMP),
        ("last_caught_up_time", TIMESTAMP),
    ]
)
"""One row per node that holds the metadata log of a KRaft cluster, sorted by role and id; none if unknown."""

REASSIGNMENTS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        # Broker ids. The replicas include those that are being added and removed.
        ("replica_brokers", _NODES),
        ("adding_brokers", _NODES),
        ("removing_brokers", _NODES),
    ]
)
"""One row per partition that is being moved to other brokers."""

REASSIGNING_TOPICS: Final = pa.schema([("topic", NAME), ("partitions", pa.int32())])
"""One row per topic with partitions in REASSIGNMENTS, and their number."""

FEATURES: Final = pa.schema([("feature", NAME), ("level", pa.int32())])
"""One row per finalized feature of the cluster (KIP-584), such as `metadata.version`."""

BROKER_FEATURES: Final = pa.schema(
    [("broker", pa.int32()), ("feature", NAME), ("min_level", pa.int32()), ("max_level", pa.int32())]
)
"""One row per broker and feature that it supports, with the lowest and the highest supported level."""

BROKER_DISKS: Final = pa.schema(
    [
        ("broker", pa.int32()),
        # All replicas on the broker, in bytes of their segments.
        ("bytes", pa.int64()),
        # Replicas that were deleted or moved away while the broker was away, since the monitor started.
        ("left_replicas", pa.int32()),
    ]
)
"""One row per broker that reported all of its log directories; none if the cluster has too many replicas to ask."""

TOPIC_SIZES: Final = pa.schema([("topic", NAME), ("bytes", pa.int64())])
"""One row per topic, with the bytes of all replicas; none if a broker with a replica did not report it."""

FOLLOWERS: Final = pa.schema([("topic", NAME), ("partition", pa.int32()), ("broker", pa.int32()), ("lag", pa.int64())])
"""One row per follower on a live broker that is not in sync, with its distance from the high watermark in offsets."""

QUOTAS: Final = pa.schema(
    [
        # Empty: not part of the quota; `<default>`: of all that have no quota of their own.
        ("user", NAME),
        ("client_id", NAME),
        ("ip", NAME),
        ("key", NAME),
        ("value", pa.float64()),
    ]
)
"""One row per configured quota."""

SHARE_PARTITIONS: Final = pa.schema(
    [
        ("group", NAME),
        ("topic", NAME),
        ("partition", pa.int32()),
        # The high watermark of the partition.
        ("end", pa.int64()),
        # All records before it are finished; null until the first delivery has ended.
        ("start_offset", pa.int64()),
        # Records between start and end that are neither acknowledged nor archived.
        ("lag", pa.int64()),
        # Records after the start offset that are acknowledged or archived; null before Kafka 4.2.
        ("finished", pa.int64()),
        # Records that were delivered and returned, and the highest number of their deliveries; null: not known.
        ("returned", pa.int64()),
        ("most_deliveries", pa.int32()),
        # Records that were acknowledged and archived since the monitor began.
        ("acknowledged", pa.int64()),
        ("archived", pa.int64()),
        # Deliveries since then after which the record was not finished.
        ("returns", pa.int64()),
    ]
)
"""One row per partition of a share group, from `__share_group_state`."""

SHARE_GROUPS: Final = pa.schema([("group", NAME), ("partitions", pa.int32()), ("lag", pa.int64())])
"""One row per share group; the lag is null if that of a partition is unknown, both if not all partitions are kept."""

SHARE_READS: Final = pa.schema([("read_time", TIMESTAMP)])
"""One row: when the numbers in SHARE_PARTITIONS and SHARE_GROUPS were read; no row if there are none."""

SHARE_GROUPS_FACT: Final = "share groups"
"""The fact in UNKNOWN_FACTS if share groups are unknown, and not just absent."""

SHARE_READ_FACT: Final = "share group read"
"""The fact in UNKNOWN_FACTS if share groups could not be read, and the numbers of an earlier poll are shown."""

UNKNOWN_FACTS: Final = pa.schema([("fact", NAME), ("reason", NAME), ("amount", pa.int32())])
"""Number of requested facts that are unknown, by fact (controller, topic, offsets topic size, …) and reason."""


# Compared by identity: tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClusterFacts:
    """The result of one poll of the cluster. The schema of each table is the constant with its name.

    `partitions_shown` are the rows of `topic_partitions` that have their own series: all, or as many as allowed, those
    with problems first; `configs_shown` are those of `configs`. `cleaner_evidence` has one sentence for each sign that
    the log cleaner has stopped, `mixed_versions` one for each set of brokers that supports other requests or features
    than most brokers do.
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
    configs_shown: pa.Table
    cluster_totals: pa.Table
    quorum_replicas: pa.Table
    reassignments: pa.Table
    reassigning_topics: pa.Table
    features: pa.Table
    broker_features: pa.Table
    quotas: pa.Table
    broker_disks: pa.Table
    topic_sizes: pa.Table
    followers: pa.Table
    share_partitions: pa.Table
    share_groups: pa.Table
    share_reads: pa.Table
    unknown_facts: pa.Table
    cleaner_suspect: bool | None
    cleaner_evidence: tuple[str, ...]
    mixed_versions: tuple[str, ...]
    # Broker and path of each log directory that a broker reports as failed.
    failed_log_dirs: tuple[tuple[int, str], ...]
    # False: only the tables of share groups have rows; nothing else was polled, or it was discarded.
    is_whole: bool

    @property
    def share_read_time(self) -> int | None:
        """When the numbers of share groups were read (Unix ms); None if they are unknown."""
        return next(iter(self.share_reads["read_time"].cast(pa.int64()).to_pylist()), None)

    def with_share_groups(self, later: ClusterFacts) -> ClusterFacts:
        """Return these facts with the share groups of a `later` poll, and what that poll did not know about them."""
        is_other = pc.invert(pc.starts_with(self.unknown_facts["fact"].cast(pa.string()), "share"))
        unknown = pa.concat_tables([self.unknown_facts.filter(is_other), later.unknown_facts]).unify_dictionaries()
        names = pa.table({name: unknown[name].cast(pa.string()) for name in ("fact", "reason")})
        return dataclasses.replace(
            self,
            share_partitions=later.share_partitions,
            share_groups=later.share_groups,
            share_reads=later.share_reads,
            unknown_facts=unknown.take(pc.sort_indices(names, [("fact", "ascending"), ("reason", "ascending")])),
        )

    def only_share_groups(self) -> ClusterFacts:
        """Return the facts about share groups alone."""
        return share_group_facts(
            self.taken_at, self.share_partitions, self.share_groups, self.share_reads, UNKNOWN_FACTS.empty_table()
        )


_OTHER_TABLES: Final = {
    "polls": POLLS,
    "brokers": BROKERS,
    "controllers": CONTROLLERS,
    "cluster_topics": CLUSTER_TOPICS,
    "topic_partitions": TOPIC_PARTITIONS,
    "partitions_shown": TOPIC_PARTITIONS,
    "offsets_replicas": OFFSETS_REPLICAS,
    "configs": CONFIGS,
    "configs_shown": CONFIGS,
    "cluster_totals": CLUSTER_TOTALS,
    "quorum_replicas": QUORUM_REPLICAS,
    "reassignments": REASSIGNMENTS,
    "reassigning_topics": REASSIGNING_TOPICS,
    "features": FEATURES,
    "broker_features": BROKER_FEATURES,
    "quotas": QUOTAS,
    "broker_disks": BROKER_DISKS,
    "topic_sizes": TOPIC_SIZES,
    "followers": FOLLOWERS,
}
"""The tables that are not about share groups, with their schemas."""


def share_group_facts(
    taken_at: float, partitions: pa.Table, groups: pa.Table, reads: pa.Table, unknown: pa.Table
) -> ClusterFacts:
    """Return facts with the tables of share groups and the unknown facts about them, and nothing else."""
    return ClusterFacts(
        taken_at=taken_at,
        cluster_id=None,
        controller=None,
        controller_unknown_reason=None,
        **{name: schema.empty_table() for name, schema in _OTHER_TABLES.items()},
        share_partitions=partitions,
        share_groups=groups,
        share_reads=reads,
        unknown_facts=unknown,
        cleaner_suspect=None,
        cleaner_evidence=(),
        mixed_versions=(),
        failed_log_dirs=(),
        is_whole=False,
    )
