"""The read model of the cluster: brokers, topics, partitions, configuration, quorum, size of the offsets topic.

`exporters.catalogue` declares the columns.

The rules of `exporters.readmodel` apply: unknown is null, names are dictionary-encoded, a table is sorted by its label
columns, times are UTC. One `ClusterFacts` is the result of one poll; polls are less frequent than snapshots.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue import brokers as broker_tables
from exporters.catalogue import topics as topic_tables

SHARE_GROUPS_FACT: Final = "share groups"
"""The fact in UNKNOWN_FACTS if share groups are unknown, and not just absent."""

SHARE_READ_FACT: Final = "share group read"
"""The fact in UNKNOWN_FACTS if share groups could not be read, and the numbers of an earlier poll are shown."""


# Compared by identity: tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClusterFacts:
    """The result of one poll of the cluster. `exporters.catalogue` has a table for each.

    `partitions_shown` are the rows of `topic_partitions` that have their own series: all, or as many as allowed, those
    with problems first; `configs_shown` are those of `configs`. `cleaner_evidence` has one sentence for each sign that
    the log cleaner has stopped, `mixed_versions` one for each set of brokers that supports other requests or features
    than most brokers do.
    """

    taken_at: float
    cluster_id: str | None = None
    controller: int | None = None
    controller_unknown_reason: str | None = None
    polls: pa.Table = dataclasses.field(default_factory=broker_tables.POLLS.empty_table)
    brokers: pa.Table = dataclasses.field(default_factory=broker_tables.BROKERS.empty_table)
    controllers: pa.Table = dataclasses.field(default_factory=broker_tables.CONTROLLERS.empty_table)
    cluster_topics: pa.Table = dataclasses.field(default_factory=topic_tables.CLUSTER_TOPICS.empty_table)
    topic_partitions: pa.Table = dataclasses.field(default_factory=topic_tables.TOPIC_PARTITIONS.empty_table)
    partitions_shown: pa.Table = dataclasses.field(default_factory=topic_tables.TOPIC_PARTITIONS.empty_table)
    offsets_replicas: pa.Table = dataclasses.field(default_factory=broker_tables.OFFSETS_REPLICAS.empty_table)
    configs: pa.Table = dataclasses.field(default_factory=broker_tables.CONFIGS.empty_table)
    configs_shown: pa.Table = dataclasses.field(default_factory=broker_tables.CONFIGS.empty_table)
    cluster_totals: pa.Table = dataclasses.field(default_factory=broker_tables.CLUSTER_TOTALS.empty_table)
    quorum_replicas: pa.Table = dataclasses.field(default_factory=broker_tables.QUORUM_REPLICAS.empty_table)
    reassignments: pa.Table = dataclasses.field(default_factory=broker_tables.REASSIGNMENTS.empty_table)
    reassigning_topics: pa.Table = dataclasses.field(default_factory=broker_tables.REASSIGNING_TOPICS.empty_table)
    features: pa.Table = dataclasses.field(default_factory=broker_tables.FEATURES.empty_table)
    broker_features: pa.Table = dataclasses.field(default_factory=broker_tables.BROKER_FEATURES.empty_table)
    quotas: pa.Table = dataclasses.field(default_factory=broker_tables.QUOTAS.empty_table)
    broker_disks: pa.Table = dataclasses.field(default_factory=broker_tables.BROKER_DISKS.empty_table)
    topic_sizes: pa.Table = dataclasses.field(default_factory=broker_tables.TOPIC_SIZES.empty_table)
    followers: pa.Table = dataclasses.field(default_factory=topic_tables.FOLLOWERS.empty_table)
    share_partitions: pa.Table = dataclasses.field(default_factory=topic_tables.SHARE_PARTITIONS.empty_table)
    share_groups: pa.Table = dataclasses.field(default_factory=topic_tables.SHARE_GROUPS.empty_table)
    share_reads: pa.Table = dataclasses.field(default_factory=topic_tables.SHARE_READS.empty_table)
    unknown_facts: pa.Table = dataclasses.field(default_factory=broker_tables.UNKNOWN_FACTS.empty_table)
    cleaner_suspect: bool | None = None
    cleaner_evidence: tuple[str, ...] = ()
    mixed_versions: tuple[str, ...] = ()
    # Broker and path of each log directory that a broker reports as failed.
    failed_log_dirs: tuple[tuple[int, str], ...] = ()
    # False: only the tables of share groups have rows; nothing else was polled, or it was discarded.
    is_whole: bool = False
    # Tables for the metrics of other exporters (`exporters.compatibility`).
    derived: Mapping[str, pa.Table] = dataclasses.field(default_factory=dict)

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
        return ClusterFacts(
            taken_at=self.taken_at,
            share_partitions=self.share_partitions,
            share_groups=self.share_groups,
            share_reads=self.share_reads,
        )
