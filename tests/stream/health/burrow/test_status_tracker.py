"""Burrow's windows and statuses beside the verdicts, from tick to tick."""

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sandbox.verdict_scenarios.burrow_store import Ring, columns_of_rings
from stream.groups.commits import runs
from stream.groups.commits.slots import Slots
from stream.health.burrow import BurrowStatus, BurrowStatuses, evaluate
from stream.health.evaluator import Evaluator
from stream.health.features.lag import PartitionEnds
from stream.health.inputs import NO_COMMIT, HealthInputs
from tests.stream.health.columns import group_inputs
from tests.support.hypothesis_profiles import examples

NOON = 1_700_000_000_000
TICK = 10_000


@dataclasses.dataclass(frozen=True)
class At:
    """One partition at one tick: the last commit's offset, time (ms) and place in the log, and the partition's end."""

    offset: int
    time: int
    position: int
    end: int


def moment(now: int, *parts: At | None, groups: tuple[str, ...] = ("g",), slots: Slots | None = None) -> HealthInputs:
    """Return inputs with partitions of `g` on topic t; None: without a commit, with the end offset 100."""
    rows = len(parts)
    number = np.arange(rows)
    known = [part or At(NO_COMMIT, -1, -1, 100) for part in parts]
    offset, time, position, end = (
        np.array([getattr(part, name) for part in known], np.int64) for name in ("offset", "time", "position", "end")
    )
    spans = runs.single_record_spans(position, offset, time, np.array([part is None for part in parts], np.bool_))
    return HealthInputs(
        now=now,
        groups=group_inputs(groups),
        topics=("t",),
        group=np.zeros(rows, np.int64),
        topic=np.zeros(rows, np.int64),
        partition=number.astype(np.int32),
        spans=spans,
        slots=Slots.empty() if slots is None else slots,
        ends=PartitionEnds(number.astype(np.int64), end, np.zeros(rows, np.int64), np.ones(rows, np.bool_)),
    )


def tracking() -> Evaluator:
    """Return an evaluator that applies Burrow's rules too."""
    evaluator = Evaluator()
    evaluator.track_burrow_statuses()
    return evaluator


def statuses(evaluator: Evaluator, inputs: HealthInputs) -> BurrowStatuses:
    evaluator.evaluate(inputs)
    assert evaluator.burrow_statuses is not None
    return evaluator.burrow_statuses


STEPS = st.lists(
    st.lists(st.tuples(st.integers(-2, 5), st.booleans(), st.integers(0, 6)), min_size=2, max_size=2),
    min_size=1,
    max_size=16,
)


@examples(50)
@given(STEPS)
def test_windows_are_those_of_burrows_own_store(steps: list[list[tuple[int, bool, int]]]) -> None:
    """The columns have the verdicts of the rings at every tick, with one commit per tick or none."""
    evaluator, rings, ends = tracking(), [Ring(), Ring()], [[], []]
    offset, end, position, time = [50, 50], [60, 60], [1, 1], [NOON - 1, NOON - 1]
    for tick, step in enumerate(steps):
        now = NOON + tick * TICK
        for at, (move, commits, written) in enumerate(step):
            end[at] += written
            if commits or not tick:
                offset[at] = max(0, min(offset[at] + move, end[at]))
                position[at], time[at] = position[at] + 1, now - 1_000
                rings[at].commit(offset[at], position[at], time[at], end[at])
            ends[at].append(end[at])
        parts = [At(offset[at], time[at], position[at], end[at]) for at in range(2)]
        found = statuses(evaluator, moment(now, *parts))
        assert found.status.tolist() == evaluate(columns_of_rings(rings, ends), now).tolist()


def test_a_new_process_starts_with_the_slots() -> None:
    """A group that keeps up is not STOP after a restart, because slots and past ends fill its window."""
    evaluator = tracking()
    count = 5
    time = NOON - 30_000 * np.arange(count, 0, -1)
    offset = 1_000 - 30 * np.arange(count, 0, -1)
    slots = Slots(np.zeros(count, np.int64), time // 30_000, offset, time, np.ones(count, np.int64))
    seen = moment(NOON, At(999, NOON - 1_000, 9, 1_003), slots=slots)
    history = NOON - 10_000 * np.arange(20, 0, -1), (1_003 - 10 * np.arange(20, 0, -1))[None, :]
    evaluator.start(seen, history)
    result = statuses(evaluator, seen)
    assert result.rings.count.tolist() == [count + 1]
    assert result.rings.offset[0, -count - 1 :].tolist() == [*offset.tolist(), 999]
    assert result.rings.lag[0, -count - 1 :].min() >= 0
    assert result.rings.ends[0].min() >= 0
    assert result.status[0] in {BurrowStatus.OK, BurrowStatus.WARN}


def test_rows_keep_their_windows_when_others_are_added() -> None:
    """A partition keeps its commits when its row number changes."""
    evaluator = tracking()
    for tick in range(4):
        evaluator.evaluate(moment(NOON + tick * TICK, At(10 + tick, NOON + tick * TICK, tick + 1, 20)))
    result = statuses(evaluator, moment(NOON + 4 * TICK, At(14, NOON + 4 * TICK, 5, 20), At(3, NOON, 2, 9)))
    assert result.rings.count.tolist() == [5, 1]
    assert statuses(evaluator, moment(NOON + 5 * TICK)).status.tolist() == []
