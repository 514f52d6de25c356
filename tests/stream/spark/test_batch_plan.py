"""Tests of the plan of a micro-batch: its end, and the ranges of its tasks."""

from hypothesis import given
from hypothesis import strategies as st

from stream.spark.batch_plan import SMALL_BATCH, batch_ends, split_into_tasks

POSITIONS = st.dictionaries(st.integers(0, 20), st.integers(0, 1_000_000), min_size=1)


def test_a_batch_ends_at_the_last_stable_offsets_within_its_limit() -> None:
    """A partition that does not answer keeps its position, and no batch ends behind its start.

    The limit is shared in proportion to the unread offsets, with at least one offset per partition.
    """
    assert batch_ends({0: 5, 1: 7}, {0: 9, 1: 7}, 100) == {0: 9, 1: 7}
    assert batch_ends({0: 5, 1: 7}, {1: 9}, 100) == {0: 5, 1: 9}
    assert batch_ends({0: 5}, {0: 3}, 100) == {0: 5}
    assert batch_ends({0: 0, 1: 0}, {0: 300, 1: 100}, 100) == {0: 75, 1: 25}
    assert batch_ends({0: 0, 1: 0}, {0: 1_000_000, 1: 1}, 10) == {0: 9, 1: 1}


@given(starts=POSITIONS, stable=POSITIONS, most=st.integers(1, 100_000))
def test_batches_reach_the_stable_offsets(starts: dict[int, int], stable: dict[int, int], most: int) -> None:
    """Each batch advances until all is read, stays near its limit, and never passes a stable offset."""
    at = starts
    for _ in range(3):
        ends = batch_ends(at, stable, most)
        unread = {partition for partition in at if stable.get(partition, -1) > at[partition]}
        assert ends.keys() == at.keys()
        assert {partition for partition in at if ends[partition] > at[partition]} == unread
        assert all(ends[each] <= max(at[each], stable.get(each, at[each])) for each in at)
        assert sum(ends.values()) - sum(at.values()) <= most + len(at)
        at = ends


@given(starts=POSITIONS, added=POSITIONS, tasks=st.integers(1, 8))
def test_each_partition_is_read_by_one_task(starts: dict[int, int], added: dict[int, int], tasks: int) -> None:
    """The ranges of all tasks are the unread ranges; a small batch has one task."""
    ends = {partition: start + added.get(partition, 0) for partition, start in starts.items()}
    split = split_into_tasks(starts, ends, tasks)
    ranges = [each for some in split for each in some]
    assert sorted(ranges) == [(each, starts[each], ends[each]) for each in sorted(starts) if ends[each] > starts[each]]
    assert len(split) <= tasks
    if sum(end - start for _, start, end in ranges) < SMALL_BATCH:
        assert len(split) <= 1
