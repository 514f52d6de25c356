"""Properties of group histories over random logs, valid and invalid: histories depend on the log, not on batches."""

import dataclasses
import itertools
import random
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import pack, unpack_change, unpack_delta, unpack_state
from stream.groups.fold import Fold
from stream.groups.lifecycle.model import TransitionType
from stream.groups.placement import Placement
from stream.groups.reduce import reduce
from stream.groups.shard import ShardChange, ShardDelta, ShardState, StateLimits, empty_state
from tests.stream.groups.written import gone, group_epoch, member, stands, target_epoch
from tests.support.commits import KEEP, SLOT_MS
from tests.support.driver_states import Timed, batch_of, delta_of
from tests.support.group_histories import EVERYTHING, at, histories_in, read
from tests.support.histories import CUTS, GRACE, LOGS, operations
from tests.support.hypothesis_profiles import examples

RULES = StateLimits(KEEP, keep_transitions=3, dead_grace_ms=GRACE, live_from=5)


def deltas_of(log: Sequence[Timed], cuts: Sequence[int]) -> list[ShardDelta]:
    """Return the deltas of a log that is split at these places."""
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    return [delta_of(log[begin:end], begin) for begin, end in itertools.pairwise(borders) if begin < end]


def histories_of(state: ShardState | ShardChange) -> dict[str, Any]:
    """Return the histories of a state as bytes, independent of the order of its rows."""
    return {
        "lives": dict(zip(state.histories.groups.to_pylist(), state.histories.values.to_pylist(), strict=True)),
        "died": dict(zip(state.histories.groups.to_pylist(), state.histories.died.tolist(), strict=True)),
        "records": dict(zip(state.records.keys.to_pylist(), state.records.values.to_pylist(), strict=True)),
        "offsets": set(state.runs.keys.to_pylist()),
        "time": state.time,
        "position": state.position,
    }


def reduced(deltas: Sequence[ShardDelta], rules: StateLimits = RULES) -> ShardState:
    state = empty_state()
    for delta in deltas:
        state, _ = reduce(state, [delta], rules)
    return state


@examples(60)
@given(LOGS, CUTS)
def test_batch_borders_do_not_change_histories(log: list[Timed], cuts: list[int]) -> None:
    """The bytes of all histories are equal for any split, also inside an operation and also for dead groups."""
    assert histories_of(reduced(deltas_of(log, cuts))) == histories_of(reduced(deltas_of(log, [])))


@examples(10)
@given(LOGS)
def test_single_records_give_the_same_histories(log: list[Timed]) -> None:
    """Batches of one record, which are the finest split, give the histories of one batch."""
    assert histories_of(reduced(deltas_of(log, range(len(log))))) == histories_of(reduced(deltas_of(log, [])))


@examples(30)
@given(LOGS, CUTS, CUTS)
def test_arrow_batches_do_not_change_histories(log: list[Timed], cuts: list[int], more: list[int]) -> None:
    """The histories are equal for any split of a task's records into Arrow batches."""
    if log:
        assert histories_of(reduced([delta_of(log, 0, cuts)])) == histories_of(reduced([delta_of(log, 0, more)]))


@examples(30)
@given(LOGS, CUTS, st.randoms())
def test_deltas_of_one_batch_may_come_in_any_order(log: list[Timed], cuts: list[int], order: random.Random) -> None:
    """The histories follow the log positions, not the order of the deltas."""
    deltas = deltas_of(log, cuts)
    order.shuffle(deltas)
    state, _ = reduce(empty_state(), deltas, RULES)
    assert histories_of(state) == histories_of(reduced(deltas_of(log, [])))


@examples(30)
@given(LOGS, CUTS, st.integers(0, 8))
def test_records_read_again_change_nothing(log: list[Timed], cuts: list[int], again: int) -> None:
    """A batch that is delivered again changes no history and gives an empty change."""
    deltas = deltas_of(log, cuts)
    state = reduced(deltas)
    for delta in deltas[again:]:
        same, change = reduce(state, [delta], RULES)
        assert histories_of(same) == histories_of(state)
        assert not len(change.histories)
        assert not len(change.tombstones)


@examples(30)
@given(LOGS, st.integers(0, 40), st.integers(0, 40))
def test_a_partly_seen_batch_adds_its_new_records(log: list[Timed], first: int, second: int) -> None:
    """Only the new records of a batch with known and new records have an effect."""
    one, two = sorted((min(first, len(log)), min(second, len(log))))
    if 0 < two < len(log):
        state = reduced([delta_of(log[:two], 0), delta_of(log[one:], one)])
        assert histories_of(state)["lives"] == histories_of(reduced(deltas_of(log, [])))["lives"]


@examples(25)
@given(LOGS, CUTS)
def test_histories_round_trip_through_bytes(log: list[Timed], cuts: list[int]) -> None:
    """A round trip of states, deltas and changes at every step gives the same final state."""
    state = empty_state()
    for delta in deltas_of(log, cuts):
        state, change = reduce(unpack_state(pack(state)), [unpack_delta(pack(delta))], RULES)
        back = unpack_change(pack(change))
        assert histories_of(back) == histories_of(change)
        assert [column.tolist() for column in _numbers(back)] == [column.tolist() for column in _numbers(change)]
    assert histories_of(unpack_state(pack(state))) == histories_of(reduced(deltas_of(log, cuts)))


def _numbers(shard: ShardDelta | ShardChange) -> list[np.ndarray[Any, Any]]:
    fields = dataclasses.fields(shard.tombstones)
    return [np.asarray(shard.tombstones.keys), *(getattr(shard.tombstones, field.name) for field in fields[1:])]


@examples(25)
@given(LOGS)
def test_sub_shards_do_not_change_histories(log: list[Timed]) -> None:
    """A partition split into sub-shards has the same histories, each in the shard of its group."""
    placement, fold = Placement(1, 3), Fold(Placement(1, 3), slot_ms=SLOT_MS, keep_slots=KEEP)
    if log:
        fold.add(batch_of(log, 0))
    found: dict[str, Any] = {}
    for shard, delta in fold.drain():
        state, _ = reduce(empty_state(), [delta], EVERYTHING)
        in_shard = histories_in(state)
        assert all(placement.shard(0, group) == shard for group in in_shard)
        found |= in_shard
    assert found == histories_in(reduced(deltas_of(log, []), EVERYTHING))


@examples(30)
@given(LOGS, CUTS)
def test_histories_agree_with_memberships_and_offsets(log: list[Timed], cuts: list[int]) -> None:
    """A group is not dead while it has a record or an offset, and has the kind and the state of its membership."""
    columns = read(log, cuts).driver_state.columns()
    living = {group: life for group, life in columns.histories.items() if life.died is None}
    assert living.keys() == {*columns.memberships, *columns.group.to_pylist()}
    for group, life in living.items():
        membership = columns.memberships.get(group)
        assert (life.kind, life.state) == ((membership.kind, membership.state) if membership else ("simple", "Empty"))
    for life in columns.histories.values():
        assert life.created is not None
        assert (life.state == "Dead") is (life.died is not None)


@examples(50)
@given(LOGS)
def test_creations_and_deaths_alternate(log: list[Timed]) -> None:
    """A group is created once, then deaths and recreations alternate; positions rise, counts add up."""
    for life in histories_in(read(log).state).values():
        turns = [each.type for each in life.transitions if each.type in _TURNS]
        wanted = [TransitionType.CREATED, *itertools.chain.from_iterable(itertools.repeat(_TURNS[1:], len(turns)))]
        assert turns == wanted[: len(turns)]
        positions = [each.position for each in life.transitions]
        assert positions == sorted(positions)
        assert sum(life.counts.values()) == len(life.transitions)


_TURNS = (TransitionType.CREATED, TransitionType.DEAD, TransitionType.RECREATED)


@examples(30)
@given(operations(), st.lists(st.integers(0, 14), max_size=4))
def test_every_transition_is_an_event_once(drawn: list[list[Timed]], cuts: list[int]) -> None:
    """The events of all batches are the transitions of the final histories; a repeated change causes no event."""
    borders = [0, *sorted(min(cut, len(drawn)) for cut in cuts), len(drawn)]
    batches = [list(itertools.chain.from_iterable(drawn[a:b])) for a, b in itertools.pairwise(borders)]
    shard_reader = read([])
    seen_events: list[Any] = []
    position = 0
    for batch in filter(None, batches):
        change = shard_reader.apply(delta_of(batch, position))
        position += len(batch)
        # Consecutive operations may have the same time and so be one operation that the end of the batch cuts in two.
        # Its first transitions are then replaced, or dropped with the history of a group that turns out not to exist.
        histories = shard_reader.driver_state.columns().histories
        seen_events = [
            (group, each) for group, each in seen_events if group in histories and each in histories[group].transitions
        ]
        seen_events += shard_reader.events.transitions
        assert shard_reader.driver_state.apply(0, change).transitions == ()
    histories = shard_reader.driver_state.columns().histories
    transitions = [(group, each) for group, history in histories.items() for each in history.transitions]
    assert sorted(seen_events, key=repr) == sorted(transitions, key=repr)


def test_members_that_come_one_by_one_cost_the_same_each() -> None:
    """The calls that a log of n joining and leaving members takes grow with n, not with its square."""

    def calls(members: int) -> int:
        joins = [
            at(each, member(f"m{each}", "t"), group_epoch(each), target_epoch(each), stands(f"m{each}", each, {}))
            for each in range(1, members)
        ]
        leaves = [at(2 * members + each, gone(member(f"m{each}", "t"))) for each in range(1, members)]
        delta = delta_of(list(itertools.chain.from_iterable(joins + leaves)), 0)
        counted = itertools.count()
        sys.setprofile(lambda *_: next(counted))
        try:
            reduce(empty_state(), [delta], RULES)
        finally:
            sys.setprofile(None)
        return next(counted)

    calls(2)  # imports and caches
    assert calls(160) < 3 * calls(80)
