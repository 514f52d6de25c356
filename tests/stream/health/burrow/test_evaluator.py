"""The evaluation by Burrow's rules: windows, statuses and names, a restart, and the statuses beside other rules."""

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sandbox.verdict_scenarios.burrow_store import Ring, columns_of_rings
from stream.groups.commits import runs
from stream.groups.commits.slots import Slots, no_slots
from stream.health.burrow.evaluator import SEVERITIES, VERDICT_NAMES, BurrowEvaluator
from stream.health.burrow.rules import INTERVALS, BurrowStatus, evaluate
from stream.health.evaluator import Evaluator
from stream.health.features.lag import PartitionEnds
from stream.health.inputs import NO_COMMIT, GroupInputs, GroupStage, HealthInputs
from stream.health.verdict import Severity
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
    never, no = np.full(len(groups), -1, np.int64), np.zeros(len(groups), np.bool_)
    return HealthInputs(
        now=now,
        groups=GroupInputs(
            groups, np.full(len(groups), GroupStage.STABLE, np.int8), never, *(never,) * 4, no, no, never, never, never
        ),
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
def test_windows_are_those_of_burrows_own_store(steps: list[list[tuple[int, bool, int]]]) -> None:
    """The columns have the verdicts of the rings at every tick, with one commit per tick or none."""
    evaluator, rings, ends = BurrowEvaluator(), [Ring(), Ring()], [[], []]
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
        result = evaluator.evaluate(moment(now, *parts))
        assert result.verdict.tolist() == evaluate(columns_of_rings(rings, ends), now).tolist()


def test_each_status_of_burrow_has_a_severity() -> None:
    """The columns of names and of severities have an entry for each number of Burrow."""
    assert dict(zip(VERDICT_NAMES, map(Severity, SEVERITIES.tolist()), strict=True)) == {
        "NOTFOUND": Severity.UNKNOWN,
        "OK": Severity.FINE,
        "WARN": Severity.WARNING,
        "ERR": Severity.CRITICAL,
        "STOP": Severity.CRITICAL,
        "STALL": Severity.CRITICAL,
        "REWIND": Severity.CRITICAL,
    }


STORIES: dict[str, tuple[list[tuple[int, int, bool]], BurrowStatus]] = {
    # The beginning of the sentence: offset, end and whether it is committed at each tick, and the status.
    "All records are read.": ([(10, 10, True), (20, 20, True)], BurrowStatus.OK),
    "No rule of Burrow holds: 5 offsets unread": ([(10, 10, True), (15, 20, True)], BurrowStatus.OK),
    "Lag did not shrink within the window of 2 commits": ([(10, 11, True), (20, 22, True)], BurrowStatus.WARN),
    "All 2 commits in the window are of offset 10": ([(10, 11, True), (10, 12, True)], BurrowStatus.STALL),
    "Offsets went back within the window, to 5": ([(10, 11, True), (5, 12, True)], BurrowStatus.REWIND),
    "No commit for 20 s, while the window of 2 commits spans 10 s": (
        [(10, 13, True), (12, 14, True), (12, 14, False), (12, 14, False)],
        BurrowStatus.STOP,
    ),
}


def test_each_status_has_its_sentence() -> None:
    """The sentence has the numbers of the rule; the sentence of the group adds the partition."""
    for sentence, (steps, status) in STORIES.items():
        evaluator, committed, time, position = BurrowEvaluator(), 0, 0, 0
        for tick, (offset, end, commits) in enumerate(steps):
            now = NOON + tick * TICK
            if commits:
                committed, time, position = offset, now, tick + 1
            last = evaluator.evaluate(moment(now, At(committed, time, position, end)))
        finding = last.row_finding(0)
        assert finding.verdict == status.name
        assert finding.sentence.startswith(sentence)
        assert last.group_finding(0).sentence == f"t-0 {status.name}: {finding.sentence}"
        assert last.group_finding(0).verdict == BurrowStatus(min(status, BurrowStatus.ERR)).name


def test_a_partition_without_a_commit_is_not_found() -> None:
    """A partition without a commit does not count for its group; a group without any commit is not found."""
    result = BurrowEvaluator().evaluate(moment(NOON, At(10, NOON, 1, 10), None))
    assert [VERDICT_NAMES[code] for code in result.verdict] == ["OK", "NOTFOUND"]
    assert VERDICT_NAMES[result.group_verdict[0]] == "OK"
    assert result.row_finding(1).sentence == "There is no commit for the partition."
    assert result.row_finding(1).evidence["window_commits"] == 0
    result = BurrowEvaluator().evaluate(moment(NOON, None))
    assert (result.group_finding(0).verdict, result.group_finding(0).evidence) == ("NOTFOUND", {})
    assert "none" in result.group_finding(0).sentence


def test_the_date_of_a_group_verdict_survives_a_restart() -> None:
    """The next process reads the date from the packed bytes; damaged bytes are ignored."""
    first = BurrowEvaluator()
    for tick in range(3):
        result = first.evaluate(moment(NOON + tick * TICK, At(10, NOON + tick * TICK, tick + 1, 11)))
    assert (VERDICT_NAMES[result.verdict[0]], result.since.tolist()) == ("STALL", [NOON])
    assert result.group_since.tolist() == [NOON]
    second = BurrowEvaluator(packed=first.pack())
    again = second.evaluate(moment(NOON + 9 * TICK, At(10, NOON + 9 * TICK, 9, 11)))
    assert again.group_since.tolist() == [NOON]
    for nonsense in (b"", b"[1]", b'{"g": 1}', b"\xff"):
        fresh = BurrowEvaluator(packed=nonsense).evaluate(moment(NOON, At(10, NOON, 9, 11)))
        assert fresh.group_since.tolist() == [NOON]


def test_a_new_process_starts_with_the_slots() -> None:
    """A group that keeps up is not STOP after a restart, because slots and past ends fill its window."""
    evaluator = BurrowEvaluator()
    count = 5
    time = NOON - 30_000 * np.arange(count, 0, -1)
    offset = 1_000 - 30 * np.arange(count, 0, -1)
    slots = Slots(np.zeros(count, np.int64), time // 30_000, offset, time, np.ones(count, np.int64))
    seen = moment(NOON, At(999, NOON - 1_000, 9, 1_003), slots=slots)
    history = NOON - 10_000 * np.arange(20, 0, -1), (1_003 - 10 * np.arange(20, 0, -1))[None, :]
    evaluator.start(seen, history)
    result = evaluator.evaluate(seen)
    assert result.rings.count.tolist() == [count + 1]
    assert result.rings.offset[0, : count + 1].tolist() == [*offset.tolist(), 999]
    assert result.rings.lag[0, : count + 1].min() >= 0
    assert result.rings.ends[0].min() >= 0
    assert VERDICT_NAMES[result.verdict[0]] in {"OK", "WARN"}


def test_rows_keep_their_windows_when_others_are_added() -> None:
    """A partition keeps its commits when its row number changes."""
    evaluator = BurrowEvaluator()
    for tick in range(4):
        evaluator.evaluate(moment(NOON + tick * TICK, At(10 + tick, NOON + tick * TICK, tick + 1, 20)))
    result = evaluator.evaluate(moment(NOON + 4 * TICK, At(14, NOON + 4 * TICK, 5, 20), At(3, NOON, 2, 9)))
    assert result.rings.count.tolist() == [5, 1]
    assert evaluator.evaluate(moment(NOON + 5 * TICK)).verdict.tolist() == []


def ticks(count: int) -> list[HealthInputs]:
    """Return ticks of three partitions: one keeps up, one has stopped, one has no commit."""
    return [
        moment(
            NOON + tick * TICK,
            At(90 + tick, NOON + tick * TICK - 1_000, 1 + tick, 90 + tick),
            At(50, NOON - 1_000, 1, 90 + tick),
            None,
        )
        for tick in range(count)
    ]


def test_statuses_are_those_of_the_evaluation_by_burrows_rules() -> None:
    """The statuses beside lagwarden's verdicts are Burrow's verdicts at every tick.

    Burrow shows some values only of complete windows: with one commit per tick, after ten commits. Statuses that are
    not requested are not computed.
    """
    own, burrow, complete = Evaluator(), BurrowEvaluator(), []
    own.evaluate(ticks(1)[0])
    assert own.burrow_statuses is None
    own = Evaluator()
    own.track_burrow_statuses()
    for inputs in ticks(INTERVALS + 2):
        own.evaluate(inputs)
        wanted = burrow.evaluate(inputs)
        assert own.burrow_statuses is not None
        assert burrow.burrow_statuses is not None
        assert own.burrow_statuses.status.tolist() == wanted.verdict.tolist()
        assert burrow.burrow_statuses.status.tolist() == wanted.verdict.tolist()
        complete.append(own.burrow_statuses.complete.tolist())
    assert set(wanted.verdict.tolist()) == {BurrowStatus.OK, BurrowStatus.STOP, BurrowStatus.NOTFOUND}
    assert complete == [[False] * 3] * (INTERVALS - 1) + [[True, False, False]] * 3
