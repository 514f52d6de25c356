"""Laws of lives over random histories of every kind, lawful and not: only the log counts, not how it is read."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import pack, unpack_change, unpack_delta, unpack_state
from stream.groups.fold import Fold
from stream.groups.lifecycle.model import TransitionType
from stream.groups.placement import Placement
from stream.groups.reduce import StateLimits, reduce
from stream.groups.shard import empty_state
from tests.support.commits import KEEP, SLOT_MS
from tests.support.fleets import batch_of, delta_of
from tests.support.histories import CUTS, GRACE, LOGS, operations
from tests.support.laws import examples
from tests.support.lives import EVERYTHING, lives_in, read

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from stream.groups.shard import ShardChange, ShardDelta, ShardState
    from tests.support.fleets import Timed

RULES = StateLimits(KEEP, keep_transitions=3, dead_grace_ms=GRACE, live_from=5)


def pieces_of(log: Sequence[Timed], cuts: Sequence[int]) -> list[ShardDelta]:
    """Cut a log and fold each piece alone."""
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    return [delta_of(log[begin:end], begin) for begin, end in itertools.pairwise(borders) if begin < end]


def seen(state: ShardState | ShardChange) -> dict[str, Any]:
    """Read of a state all that lives are about, the bytes themselves, whatever the order of its rows."""
    return {
        "lives": dict(zip(state.histories.groups.to_pylist(), state.histories.values.to_pylist(), strict=True)),
        "died": dict(zip(state.histories.groups.to_pylist(), state.histories.died.tolist(), strict=True)),
        "records": dict(zip(state.records.keys.to_pylist(), state.records.values.to_pylist(), strict=True)),
        "offsets": set(state.runs.keys.to_pylist()),
        "time": state.time,
        "position": state.position,
    }


def reduced(deltas: Sequence[ShardDelta], rules: StateLimits = RULES) -> ShardState:
    """Reduce deltas one after the other."""
    state = empty_state()
    for delta in deltas:
        state, _ = reduce(state, [delta], rules)
    return state


@examples(60)
@given(LOGS, CUTS)
def test_batch_borders_do_not_show(log: list[Timed], cuts: list[int]) -> None:
    """Cut anywhere, also inside an operation, lives come out the same to the byte, those of the dead too."""
    assert seen(reduced(pieces_of(log, cuts))) == seen(reduced(pieces_of(log, [])))


@examples(10)
@given(LOGS)
def test_record_by_record_is_the_same(log: list[Timed]) -> None:
    """The finest cut of all."""
    assert seen(reduced(pieces_of(log, range(len(log))))) == seen(reduced(pieces_of(log, [])))


@examples(30)
@given(LOGS, CUTS, CUTS)
def test_arrow_batches_do_not_show(log: list[Timed], cuts: list[int], more: list[int]) -> None:
    """A task may get its records in any number of Arrow batches."""
    if log:
        assert seen(reduced([delta_of(log, 0, cuts)])) == seen(reduced([delta_of(log, 0, more)]))


@examples(30)
@given(LOGS, CUTS, st.randoms())
def test_deltas_of_one_batch_may_come_in_any_order(log: list[Timed], cuts: list[int], order: random.Random) -> None:
    """Spark gives no order within a batch; log positions do."""
    deltas = pieces_of(log, cuts)
    order.shuffle(deltas)
    state, _ = reduce(empty_state(), deltas, RULES)
    assert seen(state) == seen(reduced(pieces_of(log, [])))


@examples(30)
@given(LOGS, CUTS, st.integers(0, 8))
def test_what_was_read_before_changes_nothing(log: list[Timed], cuts: list[int], again: int) -> None:
    """A batch delivered again leaves lives as they were, and tells of no change."""
    deltas = pieces_of(log, cuts)
    state = reduced(deltas)
    for delta in deltas[again:]:
        same, change = reduce(state, [delta], RULES)
        assert seen(same) == seen(state)
        assert not len(change.histories)
        assert not len(change.tombstones)


@examples(30)
@given(LOGS, st.integers(0, 40), st.integers(0, 40))
def test_a_stretch_that_was_partly_seen_adds_what_was_not(log: list[Timed], first: int, second: int) -> None:
    """Of records that come again together with new ones, only the new ones happen."""
    one, two = sorted((min(first, len(log)), min(second, len(log))))
    if 0 < two < len(log):
        state = reduced([delta_of(log[:two], 0), delta_of(log[one:], one)])
        assert seen(state)["lives"] == seen(reduced(pieces_of(log, [])))["lives"]


@examples(25)
@given(LOGS, CUTS, st.booleans())
def test_bytes_hold_all_of_it(log: list[Timed], cuts: list[int], compressed: bool) -> None:  # noqa: FBT001 - drawn
    """States, deltas and changes that go through their bytes at every step are the same in the end."""
    state = empty_state()
    for delta in pieces_of(log, cuts):
        state, change = reduce(unpack_state(pack(state, compressed=compressed)), [unpack_delta(pack(delta))], RULES)
        back = unpack_change(pack(change))
        assert seen(back) == seen(change)
        assert [column.tolist() for column in _numbers(back)] == [column.tolist() for column in _numbers(change)]
    assert seen(unpack_state(pack(state))) == seen(reduced(pieces_of(log, cuts)))


def _numbers(shard: ShardDelta | ShardChange) -> list[np.ndarray[Any, Any]]:
    fields = dataclasses.fields(shard.tombstones)
    return [np.asarray(shard.tombstones.keys), *(getattr(shard.tombstones, field.name) for field in fields[1:])]


@examples(25)
@given(LOGS)
def test_sub_shards_do_not_show(log: list[Timed]) -> None:
    """A partition split into sub-shards keeps the same lives, each group's in its own."""
    placement, fold = Placement(1, 3), Fold(Placement(1, 3), slot_ms=SLOT_MS, keep_slots=KEEP)
    if log:
        fold.add(batch_of(log, 0))
    found: dict[str, Any] = {}
    for shard, delta in fold.drain():
        state, _ = reduce(empty_state(), [delta], EVERYTHING)
        mine = lives_in(state)
        assert all(placement.shard(0, group) == shard for group in mine)
        found |= mine
    assert found == lives_in(reduced(pieces_of(log, []), EVERYTHING))


@examples(30)
@given(LOGS, CUTS)
def test_lives_agree_with_what_is_there(log: list[Timed], cuts: list[int]) -> None:
    """A group lives as long as a record or an offset of it does, as the kind and in the state that those show."""
    columns = read(log, cuts).fleet.columns()
    living = {group: life for group, life in columns.histories.items() if life.died is None}
    assert living.keys() == {*columns.memberships, *columns.group.to_pylist()}
    for group, life in living.items():
        told = columns.memberships.get(group)
        assert (life.kind, life.state) == ((told.kind, told.state) if told else ("simple", "Empty"))
    for life in columns.histories.values():
        assert life.created is not None
        assert (life.state == "Dead") is (life.died is not None)


@examples(50)
@given(LOGS)
def test_births_and_deaths_take_turns(log: list[Timed]) -> None:
    """Created first and once, then death and rebirth in turn; positions rise, counts add up."""
    for life in lives_in(read(log).state).values():
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
    world = read([])
    seen_events: list[Any] = []
    position = 0
    for batch in filter(None, batches):
        change = world.take(delta_of(batch, position))
        position += len(batch)
        # Consecutive operations may have the same time and so be one operation that the end of the batch cuts in two.
        # Its first transitions are then replaced, or dropped with the history of a group that turns out not to exist.
        histories = world.fleet.columns().histories
        seen_events = [
            (group, each) for group, each in seen_events if group in histories and each in histories[group].transitions
        ]
        seen_events += world.news.transitions
        assert world.fleet.apply(0, change).transitions == ()
    histories = world.fleet.columns().histories
    transitions = [(group, each) for group, history in histories.items() for each in history.transitions]
    assert sorted(seen_events, key=repr) == sorted(transitions, key=repr)
