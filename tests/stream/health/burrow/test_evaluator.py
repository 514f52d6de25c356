"""Burrow's rules at work: the same windows as its own store, its words, and what a restart leaves of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.verdict_scenarios.burrow_store import Ring, columns_of_rings
from stream.groups.commits import runs
from stream.groups.commits.slots import Slots, no_slots
from stream.health.burrow.evaluator import SEVERITIES, VERDICT_NAMES, BurrowEvaluator
from stream.health.burrow.rules import BurrowStatus, evaluate
from stream.health.features.lag import PartitionEnds
from stream.health.inputs import NO_COMMIT, GroupInputs, GroupStage, HealthInputs
from stream.health.verdict import Severity
from tests.support.laws import examples

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
    """Put partitions of `g` on topic t side by side; None: it has no commit, and its end stands at 100."""
    rows = len(parts)
    number = np.arange(rows)
    known = [part or At(NO_COMMIT, -1, -1, 100) for part in parts]
    offset, time, position, end = (
        np.array([getattr(part, name) for part in known], np.int64) for name in ("offset", "time", "position", "end")
    )
    spans = runs.single_record_spans(position, offset, time, np.array([part is None for part in parts], np.bool_))
    never, no = np.full(len(groups), -1, np.int64), np.zeros(len(groups), np.bool_)
    return HealthInputs(
        now=now,
        groups=GroupInputs(groups, np.full(len(groups), GroupStage.STABLE, np.int8), never, *(never,) * 4, no, no),
        topics=("t",),
        group=np.zeros(rows, np.int64),
        topic=np.zeros(rows, np.int64),
        partition=number.astype(np.int32),
        spans=spans,
        slots=no_slots() if slots is None else slots,
        ends=PartitionEnds(number.astype(np.int64), end, np.zeros(rows, np.int64), np.ones(rows, np.bool_)),
    )


STEPS = st.lists(
    st.lists(st.tuples(st.integers(-2, 5), st.booleans(), st.integers(0, 6)), min_size=2, max_size=2),
    min_size=1,
    max_size=16,
)


@examples(50)
@given(STEPS)
def test_windows_move_as_in_burrows_own_store(steps: list[list[tuple[int, bool, int]]]) -> None:
    """One commit a tick, or none: the columns give the verdicts of the rings, at every tick."""
    judge, rings, ends = BurrowEvaluator(), [Ring(), Ring()], [[], []]
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
        judged = judge.evaluate(moment(now, *parts))
        assert judged.verdict.tolist() == evaluate(columns_of_rings(rings, ends), now).tolist()


def test_its_words_and_how_bad_they_are() -> None:
    """One of each, in Burrow's numbers."""
    assert dict(zip(VERDICT_NAMES, map(Severity, SEVERITIES.tolist()), strict=True)) == {
        "NOTFOUND": Severity.UNKNOWN,
        "OK": Severity.FINE,
        "WARN": Severity.WARNING,
        "ERR": Severity.CRITICAL,
        "STOP": Severity.CRITICAL,
        "STALL": Severity.CRITICAL,
        "REWIND": Severity.CRITICAL,
    }


Step = tuple[int, int, bool]
STORIES: list[tuple[str, list[Step], BurrowStatus, str]] = [
    ("reads all", [(10, 10, True), (20, 20, True)], BurrowStatus.OK, "All records are read."),
    (
        "had no lag in between",
        [(10, 10, True), (15, 20, True)],
        BurrowStatus.OK,
        "No rule of Burrow holds: 5 offsets unread",
    ),
    (
        "lag grows",
        [(10, 11, True), (20, 22, True)],
        BurrowStatus.WARN,
        "Lag did not shrink within the window of 2 commits",
    ),
    (
        "the same offset",
        [(10, 11, True), (10, 12, True)],
        BurrowStatus.STALL,
        "All 2 commits in the window are of offset 10",
    ),
    ("back", [(10, 11, True), (5, 12, True)], BurrowStatus.REWIND, "Offsets went back within the window, to 5"),
    (
        "silence",
        [(10, 13, True), (12, 14, True), (12, 14, False), (12, 14, False)],
        BurrowStatus.STOP,
        "No commit for 20 s, while the window of 2 commits spans 10 s",
    ),
]


@pytest.mark.parametrize(("steps", "status", "sentence"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_each_status_has_its_sentence(steps: list[Step], status: BurrowStatus, sentence: str) -> None:
    """What the rule saw, in words; the group says it with the place."""
    judge, last = BurrowEvaluator(), None
    committed, time, position = 0, 0, 0
    for tick, (offset, end, commits) in enumerate(steps):
        now = NOON + tick * TICK
        if commits:
            committed, time, position = offset, now, tick + 1
        last = judge.evaluate(moment(now, At(committed, time, position, end)))
    assert last is not None
    finding = last.row_finding(0)
    assert finding.verdict == status.name
    assert finding.sentence.startswith(sentence)
    assert last.group_finding(0).sentence == f"t-0 {status.name}: {finding.sentence}"
    assert last.group_finding(0).verdict == BurrowStatus(min(status, BurrowStatus.ERR)).name


def test_what_burrow_cannot_see_is_not_found_and_counts_for_nothing() -> None:
    """A partition without a commit is not Burrow's; a group of only such ones neither."""
    judged = BurrowEvaluator().evaluate(moment(NOON, At(10, NOON, 1, 10), None))
    assert [VERDICT_NAMES[code] for code in judged.verdict] == ["OK", "NOTFOUND"]
    assert VERDICT_NAMES[judged.group_verdict[0]] == "OK"
    assert judged.row_finding(1).sentence == "There is no commit for the partition."
    assert judged.row_finding(1).evidence["window_commits"] == 0
    judged = BurrowEvaluator().evaluate(moment(NOON, None))
    assert (judged.group_finding(0).verdict, judged.group_finding(0).evidence) == ("NOTFOUND", {})
    assert "none" in judged.group_finding(0).sentence


def test_a_verdict_has_a_date_that_survives_a_restart() -> None:
    """Of the group; what was packed by something else is no beginning."""
    first = BurrowEvaluator()
    for tick in range(3):
        judged = first.evaluate(moment(NOON + tick * TICK, At(10, NOON + tick * TICK, tick + 1, 11)))
    assert (VERDICT_NAMES[judged.verdict[0]], judged.since.tolist()) == ("STALL", [NOON])
    assert judged.group_since.tolist() == [NOON]
    second = BurrowEvaluator(packed=first.pack())
    again = second.evaluate(moment(NOON + 9 * TICK, At(10, NOON + 9 * TICK, 9, 11)))
    assert again.group_since.tolist() == [NOON]
    for nonsense in (b"", b"[1]", b'{"g": 1}', b"\xff"):
        fresh = BurrowEvaluator(packed=nonsense).evaluate(moment(NOON, At(10, NOON, 9, 11)))
        assert fresh.group_since.tolist() == [NOON]


def test_a_new_process_begins_with_the_slots() -> None:
    """With the ends of before, a group that keeps up is not STOP for having one commit only."""
    judge = BurrowEvaluator()
    count = 5
    time = NOON - 30_000 * np.arange(count, 0, -1)
    offset = 1_000 - 30 * np.arange(count, 0, -1)
    slots = Slots(np.zeros(count, np.int64), time // 30_000, offset, time, np.ones(count, np.int64))
    seen = moment(NOON, At(999, NOON - 1_000, 9, 1_003), slots=slots)
    history = NOON - 10_000 * np.arange(20, 0, -1), (1_003 - 10 * np.arange(20, 0, -1))[None, :]
    judge.start(seen, history)
    judged = judge.evaluate(seen)
    assert judged.rings.count.tolist() == [count + 1]
    assert judged.rings.offset[0, : count + 1].tolist() == [*offset.tolist(), 999]
    assert judged.rings.lag[0, : count + 1].min() >= 0
    assert judged.rings.ends[0].min() >= 0
    assert VERDICT_NAMES[judged.verdict[0]] in {"OK", "WARN"}


def test_rows_that_come_and_go_take_their_windows_along() -> None:
    """A partition keeps its commits when another comes before it."""
    judge = BurrowEvaluator()
    for tick in range(4):
        judge.evaluate(moment(NOON + tick * TICK, At(10 + tick, NOON + tick * TICK, tick + 1, 20)))
    judged = judge.evaluate(moment(NOON + 4 * TICK, At(14, NOON + 4 * TICK, 5, 20), At(3, NOON, 2, 9)))
    assert judged.rings.count.tolist() == [5, 1]
    assert judge.evaluate(moment(NOON + 5 * TICK)).verdict.tolist() == []
