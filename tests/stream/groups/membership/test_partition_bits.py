"""Partitions as bits: the results equal those of sets of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from stream.groups.membership.partition_bits import (
    HIGHEST,
    mask_of_first,
    merge_owned,
    partition_mask,
    partitions_in_mask,
)

NUMBERS = st.lists(st.one_of(st.integers(0, 200), st.sampled_from([-1, HIGHEST, HIGHEST + 1, 2**31 - 1])), max_size=8)


@given(NUMBERS)
def test_a_mask_is_the_set_of_possible_partitions(numbers: list[int]) -> None:
    """Masks round trip without impossible partitions, so that a number of a client cannot exhaust the memory."""
    assert partitions_in_mask(partition_mask(tuple(numbers))) == tuple(
        sorted({one for one in numbers if 0 <= one <= HIGHEST})
    )


@given(st.integers(0, 300))
def test_the_mask_of_a_topic_has_all_its_partitions(count: int) -> None:
    """The mask of a topic has the partitions from 0 to below the partition count."""
    assert partitions_in_mask(mask_of_first(count)) == tuple(range(count))


@given(st.lists(st.tuples(st.sampled_from("tuv"), NUMBERS.map(tuple)), max_size=5))
def test_rows_of_a_topic_are_merged(rows: list[tuple[str, tuple[int, ...]]]) -> None:
    """Each topic occurs once, with the partitions of all its rows."""
    every: dict[str, set[int]] = {}
    for topic, numbers in rows:
        every.setdefault(topic, set()).update(one for one in numbers if 0 <= one <= HIGHEST)
    found = merge_owned(rows)
    assert [topic for topic, _ in found] == sorted(every)
    assert {topic: set(partitions_in_mask(mask)) for topic, mask in found} == every
