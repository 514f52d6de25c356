"""Aborted commits: those after the last commit of a key are counted, for any split of the log."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import pack, unpack_change, unpack_delta, unpack_state
from stream.groups.commits.tombstones import KEPT_MS, AbortedCommits
from stream.groups.driver_state import DriverState
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.shard import ShardDelta, empty_state
from tests.support.commits import KEEP, SLOT_MS
from tests.support.driver_states import batch_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

KEYS = [commit_key("g", "t", 0), commit_key("g", "t", 1), commit_key("h", "t", 0)]
ABORTED, COMMITTED, REMOVED = "aborted", "committed", "removed"
Entry = tuple[bytes, str, int]
"""A key, what happened to it, and the producer. The position is the place in the log, the time ten times that."""
LOGS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from([ABORTED, ABORTED, COMMITTED, REMOVED]), st.integers(7, 9)),
    max_size=30,
)


def delta_of(log: list[Entry], first: int = 0) -> ShardDelta:
    """Return the delta of a part of the log; aborted records are added first, as they come before the others."""
    fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
    entries = [(first + at, *entry) for at, entry in enumerate(log)]
    for producer in (7, 8, 9):
        rows = [(at, key) for at, key, what, by in entries if what == ABORTED and by == producer]
        add_aborted(fold, producer, rows)
    for at, key, what, _ in entries:
        if what != ABORTED:
            fold.add(batch_of([(10 * at, key, commit_value(at, 10 * at) if what == COMMITTED else None)], at))
    ((_, delta),) = fold.drain()
    return delta


def add_aborted(fold: Fold, producer: int, rows: list[tuple[int, bytes]]) -> None:
    position = np.array([at for at, _ in rows], np.int64)
    keys = pa.array([key for _, key in rows], pa.binary())
    values = pa.array([commit_value(0, 0) for _ in rows], pa.binary())
    fold.add_aborted(producer, RecordColumns.of_partition(0, position, 10 * position, keys, values))


def expected(log: list[Entry]) -> dict[bytes, tuple[int, ...]]:
    """Return count, first and last place and producer of the aborted commits of each key since its last commit."""
    since: dict[bytes, list[tuple[int, int]]] = {}
    for at, (key, what, producer) in enumerate(log):
        if what == ABORTED:
            since.setdefault(key, []).append((at, producer))
        else:
            since.pop(key, None)
    return {
        key: (len(rows), rows[0][0], 10 * rows[0][0], rows[-1][0], 10 * rows[-1][0], rows[-1][1])
        for key, rows in since.items()
    }


def read(aborts: AbortedCommits) -> dict[bytes, tuple[int, ...]]:
    """Return the rows by key as plain values."""
    names = ("count", "first_position", "first_time", "last_position", "last_time", "producer_id")
    columns = zip(*(getattr(aborts, name).tolist() for name in names), strict=True)
    rows: dict[bytes, Any] = dict(zip(aborts.keys.to_pylist(), columns, strict=True))
    assert len(rows) == len(aborts)
    return rows


def pieces_of(log: list[Entry], cuts: list[int]) -> list[ShardDelta]:
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    return [delta_of(log[a:b], a) for a, b in itertools.pairwise(borders) if a < b]


@examples(80)
@given(log=LOGS, cuts=st.lists(st.integers(0, 30), max_size=5), together=st.booleans(), order=st.randoms())
def test_aborted_commits_do_not_depend_on_batch_borders(
    log: list[Entry],
    cuts: list[int],
    together: bool,  # noqa: FBT001 - drawn
    order: Any,
) -> None:
    """The rows of the state, the driver state and a restarted driver state equal a record-by-record evaluation."""
    state, driver, restarted = empty_state(), DriverState(), DriverState()
    pieces = pieces_of(log, cuts)
    order.shuffle(pieces if together else [])
    for deltas in [pieces] if together else [[piece] for piece in pieces]:
        state, change = reduce(state, [unpack_delta(pack(delta)) for delta in deltas], KEEP)
        state = unpack_state(pack(state))
        driver.apply(0, unpack_change(pack(change)))
        driver.apply(0, change)
    restarted.seed(0, state)
    assert read(state.aborts) == read(driver.columns().aborts) == read(restarted.columns().aborts) == expected(log)


@examples(40)
@given(log=LOGS.filter(bool), cuts=st.lists(st.integers(0, 30), max_size=4), again=st.integers(0, 5))
def test_records_read_again_count_once(log: list[Entry], cuts: list[int], again: int) -> None:
    """A batch that is delivered again changes no count. The whole log in one batch changes none either."""
    state, pieces = empty_state(), pieces_of(log, cuts)
    for piece in pieces:
        state, _ = reduce(state, [piece], KEEP)
    for delta in (pieces[again % len(pieces)], delta_of(log)):
        same, change = reduce(state, [delta], KEEP)
        assert read(same.aborts) == read(state.aborts)
        assert not len(change.aborts)


def test_a_batch_that_was_applied_in_part_replaces_the_count() -> None:
    """The count of a batch that overlaps the state replaces the count of the state."""
    log: list[Entry] = [(KEYS[0], ABORTED, 7)] * 6
    state, _ = reduce(empty_state(), [delta_of(log[:4])], KEEP)
    state, _ = reduce(state, [delta_of(log[2:], 2)], KEEP)
    assert read(state.aborts) == {KEYS[0]: (4, 2, 20, 5, 50, 7)}


def test_shards_of_one_partition_have_the_aborted_commits_of_their_groups() -> None:
    """Each shard has the aborted commits of its groups, also without other records."""
    fold = Fold(Placement(1, 16), slot_ms=SLOT_MS, keep_slots=KEEP)
    add_aborted(fold, 7, [(1, KEYS[0]), (2, KEYS[1]), (3, KEYS[2])])
    deltas = dict(fold.drain())
    assert len(deltas) == 2
    assert sorted(len(delta.aborts) for delta in deltas.values()) == [1, 2]
    assert {delta.position for delta in deltas.values()} == {3}


def test_aborted_commits_are_dropped_after_a_day() -> None:
    """Aborted commits are kept for a day by the timestamps of the log, not by a clock."""
    driver = DriverState()
    state, change = reduce(empty_state(), [delta_of([(KEYS[0], ABORTED, 7)])], KEEP)
    driver.apply(0, change)
    for late, kept in ((KEPT_MS // 10, 1), (KEPT_MS // 10 + 1, 0)):
        state, change = reduce(state, [delta_of([(KEYS[2], COMMITTED, 7)], late)], KEEP)
        driver.apply(0, change)
        assert len(state.aborts) == len(driver.columns().aborts) == kept
