"""Packed columns and tables: nothing is lost, and what repeats or is narrow takes few bytes."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream.health import packed_columns
from stream.health.packed_columns import PackedColumn, PackedTable
from tests.stream.health.tables import wrong
from tests.support.hypothesis_profiles import examples


@pytest.fixture(scope="module", autouse=True)
def every_column_is_packed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setattr(packed_columns, "LEAST_BYTES", 0)
        yield


WIDTHS = (0, 1, 254, 255, 256, 65_534, 65_535, 65_536, 2**32 - 2, 2**32 - 1, 2**32, 2**63)
BASES = (-(2**63), -300, -2, -1, 0, 1, 1_700_000_000_000, 2**63 - 1)


@st.composite
def column(draw: st.DrawFn) -> NDArray[np.int64]:
    """Return a column of numbers from a range of any width, some of them -1."""
    base = draw(st.sampled_from(BASES))
    highest = min(base + draw(st.sampled_from(WIDTHS)), 2**63 - 1)
    number = st.one_of(st.integers(base, highest), st.sampled_from([base, highest, -1]))
    return np.array(draw(st.lists(number, max_size=20)), np.int64)


@examples(500)
@given(column(), st.integers(0, 20), st.integers(0, 20))
def test_any_slice_of_a_packed_column_has_its_numbers(numbers: NDArray[np.int64], first: int, last: int) -> None:
    """The slice has the same type.

    A packed column of fewer bytes does not share the memory of the original. The slice of a column of several numbers
    that cannot be made smaller does, and is read-only.
    """
    packed = PackedColumn.pack(numbers)
    for expected, rows in ((numbers, packed.rows(0)), (numbers[first:last], packed.rows(first, last))):
        assert rows.dtype == np.int64
        assert rows.tolist() == expected.tolist()
        is_original = len(numbers) > 1 and packed.nbytes == numbers.nbytes
        assert np.shares_memory(rows, numbers) == (is_original and len(rows) > 0)
        assert not (is_original and rows.flags.writeable)
    assert [int(packed[at]) for at in range(len(numbers))] == packed[np.arange(len(numbers))].tolist()


def test_a_packed_column_takes_as_many_bytes_as_its_numbers_span() -> None:
    """The number for an unknown value does not count towards the span."""
    begin, minute, day = 1_700_000_000_000, 1_700_000_060_000, 1_700_086_400_000
    stories = {
        "one number": ([7] * 1_000, 8),
        "all numbers unknown": ([-1] * 1_000, 8),
        "one time or unknown": ([-1, begin] * 500, 1_000),
        "numbers up to 200": ([-1, 0, 200] * 300, 900),
        "times within a minute": ([begin, minute] * 500, 2_000),
        "times within a day or unknown": ([-1, begin, day] * 300, 3_600),
        "numbers up to 2**40": ([0, 1 << 40] * 500, 8_000),
    }
    assert wrong(stories, lambda numbers: PackedColumn.pack(np.array(numbers, np.int64)).nbytes) == []
    for numbers, _ in stories.values():
        assert PackedColumn.pack(np.array(numbers, np.int64)).rows(0).tolist() == numbers


@dataclasses.dataclass(frozen=True)
class _Inner:
    offset: NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class _Outer:
    lag: NDArray[np.int64]
    again: NDArray[np.int64]
    inner: _Inner
    other: _Inner | None
    names: NDArray[np.object_]
    now: int


def test_a_table_is_packed_with_its_tables_and_without_its_other_fields() -> None:
    """A slice has the selected rows of each column of rows, and all other fields in full."""
    lag = np.array([1, 2, 300], np.int64)
    names = np.array(["a", "b"], object)
    table = _Outer(lag, lag, _Inner(np.array([5, 6, 7], np.int64)), None, names, 9)
    packed = PackedTable.pack(table, {_Outer: ("names",), _Inner: ()})
    found = packed.rows(1)
    assert (found.lag.tolist(), found.again.tolist(), found.inner.offset.tolist()) == ([2, 300], [2, 300], [6, 7])
    assert (found.names is names, found.now, found.other) == (True, 9, None)
    whole = packed.rows()
    assert whole.lag.tolist() == [1, 2, 300]
    changed = dataclasses.replace(whole, again=np.array([3, 4, 5]), inner=packed.inner)
    repacked = PackedTable.pack(changed, {_Outer: ("names",), _Inner: ()}, packed.by_array(whole))
    assert (repacked.lag is packed.lag, repacked.inner is packed.inner) == (True, True), "what did not change"
    assert repacked.rows().again.tolist() == [3, 4, 5]
    assert packed.nbytes == 3 * 2 + 3, "a column of two fields is packed once"
