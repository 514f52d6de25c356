"""The state of a shard does not depend on batch borders and repeated delivery."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.run_table import join_runs
from stream.groups.reduce import reduce
from stream.groups.shard import MembershipRecords, ShardDelta, ShardState, empty_state
from tests.support.commits import KEEP, Commit, expected, read_run, run_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, group_key, group_value

NAMES = {commit_key(name, "t", 0): name for name in "abc"}
KEYS = list(NAMES)
Entry = tuple[bytes, Commit]


@st.composite
def logs(draw: st.DrawFn) -> list[Entry]:
    """Generate the log of a shard: commits and tombstones of a few keys at rising positions."""
    steps = draw(
        st.lists(st.tuples(st.sampled_from(KEYS), st.one_of(st.none(), st.integers(0, 6)), st.integers(0, 60)))
    )
    return [(key, Commit(at, offset, time)) for at, (key, offset, time) in enumerate(steps)]


def delta_of(log: list[Entry]) -> ShardDelta:
    """Return the delta of a part of the log, whose records also serve as membership records."""
    runs = join_runs([run_of(key, [commit]) for key, commit in log], KEEP)
    records = MembershipRecords(
        keys=pa.array([group_key(NAMES[key]) for key, _ in log], pa.binary()),
        values=pa.array([None if c.offset is None else group_value(c.position, []) for _, c in log], pa.binary()),
        position=np.array([c.position for _, c in log], np.int64),
        time=np.array([c.time for _, c in log], np.int64),
    )
    return ShardDelta(runs, records, log[-1][1].position)


def tables_of(shard: ShardState) -> dict[str, Any]:
    """Return a state as plain values, independent of the order of its rows."""
    return {
        "runs": {key: read_run(shard.runs, row) for row, key in enumerate(shard.runs.keys.to_pylist())},
        "records": dict(zip(shard.records.keys.to_pylist(), shard.records.values.to_pylist(), strict=True)),
        "position": shard.position,
    }


def expected_tables(log: list[Entry]) -> dict[str, Any]:
    per_key = {key: [commit for k, commit in log if k == key] for key in KEYS}
    alive = {key: history for key, history in per_key.items() if history and history[-1].offset is not None}
    return {
        "runs": {key: expected(history) | {"reset": False} for key, history in alive.items()},
        "records": {group_key(NAMES[key]): group_value(history[-1].position, []) for key, history in alive.items()},
        "position": log[-1][1].position if log else -1,
    }


def split(log: list[Entry], cuts: list[int]) -> list[list[Entry]]:
    """Return the log split into parts that are not empty."""
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    return [log[a:b] for a, b in itertools.pairwise(borders) if a < b]


@examples(60)
@given(log=logs(), cuts=st.lists(st.integers(0, 40), max_size=6))
def test_batch_borders_do_not_matter(log: list[Entry], cuts: list[int]) -> None:
    """The state after one batch or many is the expected one, without keys that end with a tombstone."""
    state = empty_state()
    for piece in split(log, cuts):
        state, _ = reduce(state, [delta_of(piece)], KEEP)
    assert tables_of(state) == expected_tables(log)


@examples(60)
@given(log=logs(), cuts=st.lists(st.integers(0, 40), max_size=6), order=st.randoms())
def test_deltas_of_one_batch_may_come_in_any_order(log: list[Entry], cuts: list[int], order: Any) -> None:
    """The state follows the log positions, not the order of the deltas."""
    deltas = [delta_of(piece) for piece in split(log, cuts)]
    order.shuffle(deltas)
    state, _ = reduce(empty_state(), deltas, KEEP)
    assert tables_of(state) == expected_tables(log)


@examples(60)
@given(log=logs().filter(bool), cuts=st.lists(st.integers(0, 40), max_size=4), again=st.integers(0, 5))
def test_records_read_again_change_nothing(log: list[Entry], cuts: list[int], again: int) -> None:
    """A batch that is delivered again does not change the state and gives an empty change."""
    state, pieces = empty_state(), split(log, cuts)
    for piece in pieces:
        state, _ = reduce(state, [delta_of(piece)], KEEP)
    same, change = reduce(state, [delta_of(pieces[again % len(pieces)])], KEEP)
    assert tables_of(same) == tables_of(state)
    assert not len(change.runs)
    assert not len(change.records)


def test_a_partly_seen_run_replaces_the_stored_one() -> None:
    """A run that begins before the state's position has correct offsets. Its counts start again."""
    log = [(KEYS[0], Commit(n, 10 * n, n)) for n in range(6)]
    state, _ = reduce(empty_state(), [delta_of(log[:4])], KEEP)
    state, _ = reduce(state, [delta_of(log[2:])], KEEP)
    assert read_run(state.runs) == expected([commit for _, commit in log[2:]])


@examples(60)
@given(logs().filter(bool))
def test_the_change_has_deletions(log: list[Entry]) -> None:
    """Every key of the batch is in the change; deleted keys are runs without commits and records without value."""
    _, change = reduce(empty_state(), [delta_of(log)], KEEP)
    gone = {key for key in KEYS if any(k == key for k, _ in log)} - set(expected_tables(log)["runs"])
    dead = change.runs.keys.filter(pa.array(change.runs.spans.commits == 0)).to_pylist()
    assert set(change.runs.keys.to_pylist()) == {key for key, _ in log}
    assert set(dead) == gone
    assert set(change.records.keys.filter(change.records.values.is_null()).to_pylist()) == {
        group_key(NAMES[key]) for key in gone
    }
