"""The positions of the state against those of the offset log."""

import dataclasses

from stream.checkpoint.continuity import misplaced, unseen
from stream.groups.placement import Placement
from stream.groups.shard import empty_state

PLACEMENT = Placement(offsets_partitions=2, sub_shards=2)


# Per row: the shards of the state with their positions, and a part of the problem.
SHARDS: list[tuple[list[tuple[int, int]], str]] = [
    ([], "None"),
    ([(0, 9), (1, 4), (2, 19), (3, -1)], "None"),
    ([(0, 10)], "the state has read partition 0 of __consumer_offsets up to 10, the offset log ends at 10"),
    ([(0, 9), (3, 25)], "partition 1 of __consumer_offsets up to 25, the offset log ends at 20"),
    ([(4, 0)], "partition 2 of __consumer_offsets up to 0, the offset log does not have that partition"),
    ([(0, 9), (2, 5), (0, 9)], "shard 0 occurs twice in the state"),
]


def test_state_ends_at_the_offset_log_or_before() -> None:
    """A state at or ahead of the offset log, an unknown partition and a repeated shard are problems."""
    for shards, problem in SHARDS:
        read = [(number, dataclasses.replace(empty_state(), position=position)) for number, position in shards]
        assert problem in str(misplaced(read, {0: 10, 1: 20}, PLACEMENT))


def test_unseen_offsets_are_found() -> None:
    """Unseen offsets are after the last record of a shard and in the log. Split partitions have none."""
    placement = Placement(offsets_partitions=4, sub_shards=1)
    read = [(number, dataclasses.replace(empty_state(), position=at)) for number, at in ((0, 9), (1, 7), (2, 3))]
    positions, starts = {0: 10, 1: 10, 2: 10, 3: 5, 4: 0}, {0: 0, 1: 0, 2: 10, 3: 2, 4: 0}
    assert unseen(read, positions, placement, starts) == [(1, 8, 10), (3, 2, 5)]
    assert unseen(read, positions, dataclasses.replace(placement, sub_shards=2), starts) == []
