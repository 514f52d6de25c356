"""Placement of groups: their partition of `__consumer_offsets`, and their shard of the state.

As Kafka's coordinator shards, a shard belongs to one partition. A partition is split into sub-shards only if the topic
has fewer partitions than the wanted number of shards.

The part of the groups that one of several instances monitors: some partitions of `__consumer_offsets`.

A group's records are in one partition of the topic, so instances that own different partitions share nothing. Instance
`i/n` owns the partitions whose number leaves the remainder `i` when divided by `n`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Final, Self, TypeVar


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: over UTF-16 code units, in 32 bits, signed."""
    total = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        total = (31 * total + (encoded[at] << 8 | encoded[at + 1])) & 0xFFFFFFFF
    return total - (1 << 32) if total >= 1 << 31 else total


def partition_for(name: str, partitions: int) -> int:
    """Return the partition of a coordinator topic for a group or transactional id (`Utils.abs` of -2^31 is 0)."""
    hashed = java_hash(name)
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partitions


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """The layout of the state; it cannot change for an existing checkpoint."""

    offsets_partitions: int
    sub_shards: int

    @classmethod
    def build(cls, offsets_partitions: int, wanted_shards: int) -> Placement:
        """Return the placement whose number of shards is nearest to the wanted number."""
        return cls(offsets_partitions, max(1, round(wanted_shards / max(1, offsets_partitions))))

    def offsets_partition(self, shard: int) -> int:
        """Return the offsets partition whose records this shard holds."""
        return shard // self.sub_shards

    def shard(self, offsets_partition: int, group: str) -> int:
        """Return the shard of a group whose records are in this offsets partition.

        The partition is the one that has the records. After partitions were added to the topic, that need not be the
        partition of the group's current coordinator.
        """
        if self.sub_shards == 1:
            return offsets_partition
        hashed = java_hash(group)
        spread = (0 if hashed == -(1 << 31) else abs(hashed)) // max(1, self.offsets_partitions)
        return offsets_partition * self.sub_shards + spread % self.sub_shards


MOST: Final = 1000
"""The largest number of instances."""

_Value = TypeVar("_Value")


@dataclasses.dataclass(frozen=True, slots=True)
class InstancePart:
    """Instance `index` of `instances`, counted from 0."""

    index: int = 0
    instances: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `i/n`, such as `0/3`, the first of three instances. Raises ValueError.

        `i` may be a name that ends in a hyphen and the number, as that of a pod of a StatefulSet: `lagwarden-0/3`.
        """
        match = re.fullmatch(r"(?:\S*-)?([0-9]{1,4})/([0-9]{1,4})", text)
        if match is None:
            raise ValueError(f"{text!r} must be INSTANCE/INSTANCES, counted from 0: 0/3 is the first of three")
        index, instances = int(match.group(1)), int(match.group(2))
        if not 1 <= instances <= MOST:
            raise ValueError(f"{text!r} must have 1 to {MOST} instances")
        if index >= instances:
            last = cls(instances - 1, instances)
            raise ValueError(f"{text!r} counts instances from 0: the last of {instances} is {last}")
        return cls(index, instances)

    def owns(self, partition: int) -> bool:
        """Return whether the groups of this partition of `__consumer_offsets` belong to this instance."""
        return partition % self.instances == self.index

    def owned(self, partitions: Iterable[int]) -> tuple[int, ...]:
        """Return the partitions of this instance, in the given order."""
        return tuple(partition for partition in partitions if self.owns(partition))

    def of(self, by_partition: Mapping[int, _Value]) -> dict[int, _Value]:
        """Return the entries of the partitions of this instance."""
        return {partition: value for partition, value in by_partition.items() if self.owns(partition)}

    @property
    def is_whole(self) -> bool:
        """True if there is one instance, with all groups."""
        return self.instances == 1

    @property
    def is_first(self) -> bool:
        """True for the instance that also exports the facts about brokers and topics."""
        return self.index == 0

    def __str__(self) -> str:
        return f"{self.index}/{self.instances}"


EVERY_GROUP: Final = InstancePart()
"""The part of a single instance."""


def owner_of(group: str, partitions: int, instances: int) -> InstancePart:
    """Return the instance of a group, where `__consumer_offsets` has so many partitions.

    As Kafka's `GroupMetadataManager.partitionFor`: the partition is the hash of the name.
    """
    return InstancePart(partition_for(group, partitions) % instances, instances)
