"""Holds the positions in the state against those in Spark's offset log. Pure.

A shard stands at the last record of its partition that the query was given. Where that is not the one before the
position of the offset log, there may be only markers of transactions in between, or the state may be older than the
offset log: the topic itself has to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.cluster.offsets_topic import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.groups.placement import Placement
    from stream.groups.shard import ShardState


def misplaced(
    shards: Iterable[tuple[int, ShardState]], positions: Mapping[int, int], placement: Placement
) -> str | None:
    """Say as a sentence which shard has read beyond the offset log, or is there twice; None if all are in place.

    `positions` are those of the offset log: the next offsets to read.
    """
    seen: set[int] = set()
    for number, shard in shards:
        if number in seen:
            return f"shard {number} is in the state twice"
        seen.add(number)
        partition = placement.offsets_partition(number)
        end = positions.get(partition)
        if end is None or shard.position >= end:
            known = "does not know that partition" if end is None else f"ends at {end}"
            return f"the state has read {NAME} to {shard.position} in partition {partition}, the offset log {known}"
    return None


def unseen(
    shards: Iterable[tuple[int, ShardState]],
    positions: Mapping[int, int],
    placement: Placement,
    log_starts: Mapping[int, int],
) -> list[tuple[int, int, int]]:
    """Return (partition, first, end): the offsets that the offset log says were read, and the state does not have.

    Empty where a partition is split into several shards: a record that belongs to no group moves none of them.
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
