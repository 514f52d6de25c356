"""One poll of the cluster: layout, settings, the size of the offsets topic, and what follows from them.

Owns what is asked and how much of it: one request for all topics, one for the controller, one or two per broker, one
per few hundred topics that groups read. Nothing is changed on the cluster and no topic is created. What could not be
asked is null and counted; only a cluster of which no broker answers is an error.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow.compute as pc

from exporters.cluster.model import ClusterFacts
from stream.cluster.configs import read_broker_configs, read_topic_config, read_topic_configs
from stream.cluster.log_dirs import read_replica_sizes, size_per_broker
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.cluster.topology import read_topology
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError
from stream.cluster_facts import tables
from stream.cluster_facts.growth import LogGrowth
from stream.cluster_facts.log_cleaner import CleanerWatch, CompactionConfig, OffsetsPartitionSizes
from stream.groups.placement import partition_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from exporters.readmodel import Snapshot
    from stream.cluster.configs import Settings
    from stream.cluster.topology import Topology
    from stream.cluster.transport.client import Cluster

BROKER_SETTINGS: Final = (
    "log.cleaner.enable",
    "offsets.retention.check.interval.ms",
    "offsets.retention.minutes",
    "offsets.topic.segment.bytes",
)
TOPIC_SETTINGS: Final = (
    "cleanup.policy",
    "message.format.version",
    "message.timestamp.type",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
)
OFFSETS_SETTINGS: Final = (
    *TOPIC_SETTINGS,
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "segment.ms",
)
MOST_TOPICS: Final = 2_000
"""Of how many topics the settings are asked, the first by name."""

_RECORDS_OF_A_MEMBER: Final = 3
"""Of the newer kinds of groups: the member, what it is to own, what it owns. And as many of the group."""


class _OnDisk(NamedTuple):
    """The offsets topic's replicas (REPLICA_SIZES), and what their sizes say of the log cleaner."""

    replicas: pa.Table
    suspect: bool | None
    evidence: tuple[str, ...]


class ClusterPoll:
    """Asks, poll after poll, and remembers sizes between them; used by one thread alone."""

    def __init__(self, cluster: Cluster, most_partitions_shown: int) -> None:
        self._cluster = cluster
        self._most_shown = most_partitions_shown
        self._cleaner = CleanerWatch()
        self._growth = LogGrowth()

    def look(self, snapshot: Snapshot | None, now: float) -> ClusterFacts:
        """Ask at `now` (Unix seconds); the snapshot tells which topics groups read. Raises ClusterError."""
        began = time.perf_counter()
        topology = read_topology(self._cluster)
        partitions = tables.partitions_table(topology)
        shown = tables.shown_partitions(partitions, self._most_shown)
        of_brokers = read_broker_configs(self._cluster, [broker.node for broker in topology.brokers], BROKER_SETTINGS)
        of_topics, left_out = self._topic_settings(topology, snapshot)
        configs = tables.configs_table(of_brokers, of_topics)
        offsets = partitions.filter(pc.equal(partitions["topic"], NAME))
        disk = self._on_disk(now, offsets, of_topics.get(NAME, {}), of_brokers, snapshot)
        sizes = size_per_broker(disk.replicas)
        unknown = tables.unknown_of(topology, disk.replicas, configs)
        unknown["topic setting", ErrorReason.NOT_ASKED] += left_out
        unknown["partition series", "not_shown"] += len(partitions) - len(shown)
        return ClusterFacts(
            taken_at=now,
            cluster_id=topology.cluster_id,
            controller=topology.controller,
            controller_unknown_reason=topology.controller_error,
            polls=tables.poll_table(now, time.perf_counter() - began, disk.suspect),
            brokers=tables.brokers_table(topology),
            controllers=tables.controllers_table(topology),
            cluster_topics=tables.topics_table(topology),
            topic_partitions=partitions,
            partitions_shown=shown,
            offsets_replicas=tables.offsets_replicas_table(sizes, self._growth.look(now, sizes), disk.replicas),
            configs=configs,
            unknown_facts=tables.unknown_table(unknown),
            cleaner_suspect=disk.suspect,
            cleaner_evidence=disk.evidence,
        )

    def _topic_settings(self, topology: Topology, snapshot: Snapshot | None) -> tuple[dict[str, Settings], int]:
        """Give the settings by topic, and of how many topics that groups read they were not asked."""
        there = set(topology.topics.filter(pc.is_valid(topology.topics["partitions"]))["topic"].to_pylist())
        read = set() if snapshot is None else there & set(snapshot.partitions["topic"].unique().to_pylist())
        asked = sorted(read - {NAME})[:MOST_TOPICS]
        told = read_topic_configs(self._cluster, asked, TOPIC_SETTINGS)
        if NAME in there:
            told[NAME] = read_topic_config(self._cluster, NAME, OFFSETS_SETTINGS)
        return told, len(read - {NAME}) - len(asked)

    def _on_disk(
        self, now: float, offsets: pa.Table, topic: Settings, brokers: Mapping[int, Settings], snapshot: Snapshot | None
    ) -> _OnDisk:
        """Ask for the sizes of the offsets topic, whose partitions are given (TOPIC_PARTITIONS), and judge them."""
        asked = {NAME: offsets["partition"].to_pylist()} if len(offsets) else {}
        replicas = read_replica_sizes(self._cluster, asked, None if asked else [])
        evidence, limits = _turned_off(topic, brokers), _limits(topic)
        there = replicas.filter(pc.fill_null(pc.invert(replicas["future"]), fill_value=False))
        judged = limits is not None and len(there) > 0
        if limits is not None and judged:
            evidence += self._cleaner.look(self._sizes(now, there, offsets, snapshot), limits)
        return _OnDisk(replicas, bool(evidence) if evidence or judged else None, tuple(evidence))

    def _sizes(
        self, now: float, replicas: pa.Table, offsets: pa.Table, snapshot: Snapshot | None
    ) -> OffsetsPartitionSizes:
        rows = zip(*(replicas[name].to_pylist() for name in ("broker", "partition", "size")), strict=True)
        in_sync = zip(*(offsets[name].to_pylist() for name in ("partition", "in_sync_brokers")), strict=True)
        return OffsetsPartitionSizes(
            time=now,
            replicas={(broker, partition): size for broker, partition, size in rows},
            in_sync={(broker, partition) for partition, brokers in in_sync for broker in brokers},
            high_watermarks=self._high_watermarks(),
            keys=lambda: None if snapshot is None else living_keys(snapshot, len(offsets)),
        )

    def _high_watermarks(self) -> dict[int, int]:
        try:
            ends = read_ends(self._cluster, [NAME])
        except ClusterError:
            return {}
        known = ends.filter(pc.is_valid(ends["high_watermark"]))
        return dict(zip(known["partition"].to_pylist(), known["high_watermark"].to_pylist(), strict=True))


def living_keys(snapshot: Snapshot, offsets_partitions: int) -> dict[int, int]:
    """Estimate how many keys live in each partition of `__consumer_offsets`, rather too many than too few.

    One for each committed offset; for a group as many as the newer kinds have at most, which is one of each record for
    itself and one of each for a member.
    """
    keys: dict[int, int] = {}
    columns = (snapshot.groups[name].to_pylist() for name in ("group", "partitions", "members"))
    for group, partitions, members in zip(*columns, strict=True):
        at = partition_for(group, offsets_partitions)
        keys[at] = keys.get(at, 0) + (partitions or 0) + _RECORDS_OF_A_MEMBER * (1 + (members or 0))
    return keys


def _turned_off(topic: Settings, brokers: Mapping[int, Settings]) -> list[str]:
    """Give a sentence for each setting that keeps the offsets topic from being compacted."""
    policy = _value(topic, "cleanup.policy")
    found = [] if policy is None or "compact" in policy else [f"cleanup.policy of {NAME} is {policy}, not compact"]
    return found + [
        f"log.cleaner.enable is false on broker {node}"
        for node, settings in sorted(brokers.items())
        if _value(settings, "log.cleaner.enable") == "false"
    ]


def _limits(topic: Settings) -> CompactionConfig | None:
    """Read what bounds the size of the offsets topic; None where it may not be known."""
    segment, ratio = _value(topic, "segment.bytes"), _value(topic, "min.cleanable.dirty.ratio")
    if segment is None or ratio is None:
        return None
    return CompactionConfig(int(segment), float(ratio), int(_value(topic, "min.compaction.lag.ms") or 0) / 1000)


def _value(settings: Settings, name: str) -> str | None:
    return settings[name].value if name in settings else None
