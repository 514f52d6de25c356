"""Placement of groups: their partition of `__consumer_offsets`, and their shard of the state.

As Kafka's coordinator shards, a shard belongs to one partition. A partition is split into sub-shards only if the topic
has fewer partitions than the wanted number of shards.
"""

from __future__ import annotations

import dataclasses


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
