"""Compares the positions in the state with those in Spark's offset log. Pure.

The position of a shard is the last record of its partition that the query received. If that is not the record before
the position of the offset log, either only transaction markers are in between, or the state is older than the offset
log; only a read of the topic shows which.
"""

from collections.abc import Iterable, Mapping

from stream.cluster.offsets_topic import NAME
from stream.groups.placement import Placement
from stream.groups.shard import ShardState


def misplaced(
    shards: Iterable[tuple[int, ShardState]], positions: Mapping[int, int], placement: Placement
) -> str | None:
    """Return, as a sentence, which shard is ahead of the offset log or duplicate; None if all are consistent.

    `positions` are those of the offset log: the next offsets to read.
    """
    seen: set[int] = set()
    for number, shard in shards:
        if number in seen:
            return f"shard {number} occurs twice in the state"
        seen.add(number)
        partition = placement.offsets_partition(number)
        end = positions.get(partition)
        if end is None or shard.position >= end:
            known = "does not have that partition" if end is None else f"ends at {end}"
            return f"the state has read partition {partition} of {NAME} up to {shard.position}, the offset log {known}"
    return None


def unseen(
    shards: Iterable[tuple[int, ShardState]],
    positions: Mapping[int, int],
    placement: Placement,
    log_starts: Mapping[int, int],
) -> list[tuple[int, int, int]]:
    """Return (partition, first, end): the offsets that are read according to the offset log but missing in the state.

    Empty if a partition has several shards: a record without a group advances none of them.
    """
    if placement.sub_shards != 1:
        return []
    after = {placement.offsets_partition(number): shard.position + 1 for number, shard in shards}
    found = []
    for partition, end in sorted(positions.items()):
        first = max(after.get(partition, 0), log_starts.get(partition, 0))
        if first < end:
            found.append((partition, first, end))
    return found
