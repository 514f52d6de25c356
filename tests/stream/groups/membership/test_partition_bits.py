"""Partitions as bits: the results equal those of sets of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from stream.groups.membership.model import HIGHEST, partition_mask, partitions_in_mask

NUMBERS = st.lists(st.one_of(st.integers(0, 200), st.sampled_from([-1, HIGHEST, HIGHEST + 1, 2**31 - 1])), max_size=8)


@given(NUMBERS)
def test_a_mask_is_the_set_of_possible_partitions(numbers: list[int]) -> None:
    """Masks round trip without impossible partitions, so that a number of a client cannot exhaust the memory."""
    assert partitions_in_mask(partition_mask(tuple(numbers))) == tuple(
        sorted({one for one in numbers if 0 <= one <= HIGHEST})
    )
