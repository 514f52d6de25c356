"""The size of `__consumer_offsets` on the brokers, and whether its log cleaner works."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import Snapshot
from stream.cluster.configs import REPLICA_SIZES, Settings, replicas_of
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_high_watermarks
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.cluster_facts.log_cleaner import CleanerWatch, CompactionConfig, OffsetsPartitionSizes
from stream.groups.placement import InstancePart, partition_for

_RECORDS_OF_A_MEMBER: Final = 3
"""Records of a member in newer group types: metadata, target and current assignment. A group has as many."""


class OffsetsTopicSizes:
    """Evaluates the sizes of the partitions of an instance from poll to poll; used by one thread."""

    def __init__(self, cluster: Cluster, part: InstancePart) -> None:
        self._cluster = cluster
        self._part = part
        self._cleaner = CleanerWatch()

    def evaluate(
        self,
        now: float,
        offsets: pa.Table,
        replicas: pa.Table,
        topic: Settings,
        brokers: Mapping[int, Settings],
        *,
        snapshot: Snapshot | None,
    ) -> tuple[pa.Table, bool | None, tuple[str, ...]]:
        """Evaluate the sizes at `now` (Unix s): `offsets` are the topic's partitions (TOPIC_PARTITIONS).

        Returns its replicas (REPLICA_SIZES), whether the log cleaner is suspect (None: unknown), and the evidence.
        """
        replicas = replicas_of(replicas, NAME) if len(offsets) else REPLICA_SIZES.empty_table()
        evidence, limits = _turned_off(topic, brokers), _limits(topic)
        current = replicas.filter(pc.fill_null(pc.invert(replicas["future"]), fill_value=False))
        evaluated = limits is not None and len(current) > 0
        if limits is not None and evaluated:
            evidence += self._cleaner.evaluate(self._sizes(now, current, offsets, snapshot), limits)
        return replicas, bool(evidence) if evidence or evaluated else None, tuple(evidence)

    def _sizes(
        self, now: float, replicas: pa.Table, offsets: pa.Table, snapshot: Snapshot | None
    ) -> OffsetsPartitionSizes:
        rows = zip(*(replicas[name].to_pylist() for name in ("broker", "partition", "size")), strict=True)
        in_sync = zip(*(offsets[name].to_pylist() for name in ("partition", "in_sync_brokers")), strict=True)
        return OffsetsPartitionSizes(
            time=now,
            replicas={(broker, partition): size for broker, partition, size in rows if self._part.owns(partition)},
            in_sync={(broker, partition) for partition, brokers in in_sync for broker in brokers},
            high_watermarks=self._high_watermarks(),
            keys=lambda: None if snapshot is None else estimate_live_keys(snapshot, len(offsets)),
        )

    def _high_watermarks(self) -> dict[int, int]:
        try:
            ends = read_high_watermarks(self._cluster, [NAME])
        except ClusterError:
            return {}
        return {partition: end for (_, partition), end in ends.items()}


def estimate_live_keys(snapshot: Snapshot, offsets_partitions: int) -> dict[int, int]:
    """Estimate the number of live keys per partition of `__consumer_offsets`; an upper bound.

    One for each committed offset; for each group as many as the newer group types have at most, which is one of each
    record for itself and one of each per member.
    """
    keys: dict[int, int] = {}
    columns = (snapshot.groups[name].to_pylist() for name in ("group", "partitions", "members"))
    for group, partitions, members in zip(*columns, strict=True):
        at = partition_for(group, offsets_partitions)
        keys[at] = keys.get(at, 0) + (partitions or 0) + _RECORDS_OF_A_MEMBER * (1 + (members or 0))
    return keys


def _turned_off(topic: Settings, brokers: Mapping[int, Settings]) -> list[str]:
    """Return a sentence for each setting that prevents the compaction of the offsets topic."""
    policy = _value(topic, "cleanup.policy")
    found = [] if policy is None or "compact" in policy else [f"cleanup.policy of {NAME} is {policy}, not compact"]
    return found + [
        f"log.cleaner.enable is false on broker {node}"
        for node, settings in sorted(brokers.items())
        if _value(settings, "log.cleaner.enable") == "false"
    ]


def _limits(topic: Settings) -> CompactionConfig | None:
    """Return the settings that limit the size of the offsets topic; None if they are unknown."""
    segment, ratio = _value(topic, "segment.bytes"), _value(topic, "min.cleanable.dirty.ratio")
    if segment is None or ratio is None:
        return None
    return CompactionConfig(int(segment), float(ratio), int(_value(topic, "min.compaction.lag.ms") or 0) / 1000)


def _value(settings: Settings, name: str) -> str | None:
    return settings[name].value if name in settings else None
