"""Where a group lives: its partition of `__consumer_offsets`, and its shard of our state.

Kafka keeps the state of a group in the coordinator shard of one partition; so do we, and split a partition into
sub-shards only so far that about the wanted number of shards results.
"""

from __future__ import annotations

import dataclasses


def java_hash(text: str) -> int:
    """`String.hashCode` of Java: over UTF-16 code units, in 32 bits, signed."""
    total = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        total = (31 * total + (encoded[at] << 8 | encoded[at + 1])) & 0xFFFFFFFF
    return total - (1 << 32) if total >= 1 << 31 else total


def partition_for(name: str, partitions: int) -> int:
    """Partition of a coordinator topic that holds this group or transactional id (`Utils.abs`: of -2^31 it is 0)."""
    hashed = java_hash(name)
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partitions


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """The layout of the state, fixed for the life of a checkpoint."""

    offsets_partitions: int
    sub_shards: int

    @classmethod
    def of(cls, offsets_partitions: int, wanted_shards: int) -> Placement:
        """Split each offsets partition into as many sub-shards as come nearest to the wanted number of shards."""
        return cls(offsets_partitions, max(1, round(wanted_shards / max(1, offsets_partitions))))

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return self.offsets_partitions * self.sub_shards

    def offsets_partition(self, shard: int) -> int:
        """Give the offsets partition whose records this shard holds."""
        return shard // self.sub_shards

    def shard(self, offsets_partition: int, group: str) -> int:
        """Shard of a group whose records stand in this offsets partition.

        The partition is where the records *are*: after the topic was given more partitions, that need not be where the
        group's coordinator is today.
        """
        if self.sub_shards == 1:
            return offsets_partition
        hashed = java_hash(group)
        spread = (0 if hashed == -(1 << 31) else abs(hashed)) // max(1, self.offsets_partitions)
        return offsets_partition * self.sub_shards + spread % self.sub_shards
