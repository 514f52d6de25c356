"""Windows made by hand, for rules: every column has a healthy default, and a case changes only what its story is about.

The default row: a consumer of one group with two members that commits every five seconds, 400 offsets from the end.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from stream.groups.commits import runs
from stream.groups.commits import slots as window
from stream.groups.membership.model import MemberClient
from stream.health.evaluator import EvaluationResult
from stream.health.features.control_records import TailState
from stream.health.features.lag import OffsetDistances, PartitionEnds
from stream.health.features.memory.columns import Memory
from stream.health.features.time_lag import Rates, TimeLag
from stream.health.features.window import Window
from stream.health.inputs import (
    AbortStreak,
    FailedReplica,
    GroupInputs,
    GroupStage,
    HealthInputs,
    OffsetsOutage,
    OpenTransaction,
    Subscribers,
)
from stream.health.limits import HealthLimits
from stream.health.verdict import CODE, Verdict, roll_up
from tests.stream.health.columns import group_inputs

NOW = 1_700_000_000_000
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
SPLIT = (
    Subscribers(("orders",), (MemberClient("a-1", "a", "/10.0.0.1"), MemberClient("a-2", "a", "/10.0.0.2"))),
    Subscribers(("payments",), (MemberClient("b-1", "b", "/10.0.0.3"),)),
)
"""The subscriptions of a group whose members differ."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One row. Times are how long ago (None: never), durations and ages in ms."""

    group: str = "billing"
    topic: str = "orders"
    committed: int = 10_000
    commit_ago: int = 2 * SECOND
    progress_ago: int = 2 * SECOND
    commits: int = 50
    known: bool = True
    known_ago: int = 0
    observed_ago: int = 0
    habit_until_ago: int | None = None
    """Negative: the habit is not known until this long after now."""
    broken: int = 0
    reason: str | None = None
    lag: int = 400
    last_read: bool = False
    end: int = 10_400
    log_start: int = 0
    stable: int = 10_400
    stable_lag: int = 400
    lost: int = 0
    age: int = 4 * SECOND
    exact: bool = True
    produce: float = 100.0
    consume: float = 100.0
    catch_up: int = -1
    ended: bool = False
    trend: int = 0
    idle: int = 2 * SECOND
    patience: int = 20 * SECOND
    longest_pause: int = 46 * SECOND
    stuck: bool = False
    excused: bool = False
    undecided: bool = False
    held_for: int | None = None
    loss_in: int = -1
    losing: bool = False
    stage: GroupStage = GroupStage.STABLE
    settled: int = HOUR
    members: int = 2
    rebalances: int = 0
    emptied_ago: int | None = None
    refilled_ago: int | None = None
    generation: int = -1
    joined: int = -1
    left: int = -1
    subscribed: int = 1
    owner: int = 0
    expires_in: int | None = None
    rewinds: int = 0
    rewind_from: int = -1
    rewind_to: int = -1
    rewind_ago: int | None = None
    jump_from: int = -1
    jump_to: int = -1
    jump_ago: int | None = None
    jump_planned: bool = False
    turns: int = 0
    turn_from: int = -1
    turn_to: int = -1
    turn_ago: int | None = None
    turns_ago: int | None = None
    turn_interval: int = -1
    climbed_ago: int | None = None
    steps: int = 0
    steps_ago: int | None = None
    split_ago: int | None = None
    forgotten_ago: int | None = None
    last_committed: int = -1
    aborts: int = 0
    aborts_ago: tuple[int, int] = (0, 0)
    """How long ago the first and the last aborted commit were."""
    passed_written_ago: tuple[int | None, int | None] = (None, None)
    failed: tuple[FailedReplica, ...] = ()
    outage_ago: int | None = None
    """Since when the end of the group's offsets partition, number 3, is not known: it has no leader."""


def _outage(rows: Sequence[Row]) -> OffsetsOutage | None:
    since = [-1 if row.outage_ago is None else NOW - row.outage_ago for row in rows]
    return (
        OffsetsOutage(_ints(since), _ints([3] * len(rows)), {3: "no_leader"}) if max(since, default=-1) >= 0 else None
    )


def pane(*rows: Row, transactions: dict[tuple[int, int], OpenTransaction] | None = None) -> Window:
    """Return a window of these rows, sorted by group and topic. The values of a group are those of its last row."""
    groups = sorted({row.group for row in rows})
    topics = sorted({row.topic for row in rows})
    group, topic = (_ints([groups.index(r.group) for r in rows]), _ints([topics.index(r.topic) for r in rows]))
    partition = np.array(_within(rows), np.int32)
    of_group = [[row for row in rows if row.group == name][-1] for name in groups]
    seen = HealthInputs(
        now=NOW,
        groups=_groups(groups, of_group),
        topics=topics,
        group=group,
        topic=topic,
        partition=partition,
        spans=_spans(rows),
        slots=window.Slots.empty(),
        ends=PartitionEnds(_ints([]), _ints([]), _ints([]), np.empty(0, np.bool_)),
        subscribed=np.array([row.subscribed for row in rows], np.int8),
        owner=_ints([row.owner for row in rows]),
        expiry=_ints([-1 if row.expires_in is None else NOW + row.expires_in for row in rows]),
        transactions=transactions or {},
        aborts={
            at: AbortStreak(row.aborts, NOW - row.aborts_ago[0], NOW - row.aborts_ago[1], 4_000)
            for at, row in enumerate(rows)
            if row.aborts
        },
        subscribers={number: SPLIT for number, row in enumerate(of_group) if row.split_ago is not None},
        reasons=np.array([row.reason for row in rows], object),
        offsets_outage=_outage(rows),
        failed_replicas={at: row.failed for at, row in enumerate(rows) if row.failed},
    )
    spans, no = seen.spans, np.zeros(len(rows), np.bool_)
    return Window(
        inputs=seen,
        limits=HealthLimits(),
        known_until=np.full(len(rows), NOW, np.int64),
        out_of_range=_column(rows, "broken", np.int8),
        unread=np.array([row.lag > row.last_read for row in rows], np.bool_),
        memory=_memory(rows),
        tail=TailState(*(no,) * 3, spans.last_offset, no),
        stuck_unproven=np.zeros(len(rows), np.bool_),
        ends=_ends(rows),
        time_lag=TimeLag(_column(rows, "age"), _column(rows, "exact", np.bool_), _ago([r.age for r in rows])),
        rates=Rates(
            _column(rows, "produce", np.float64),
            _column(rows, "consume", np.float64),
            _column(rows, "catch_up"),
            _column(rows, "ended", np.bool_),
        ),
        trend=_column(rows, "trend", np.int8),
        idle_time=_column(rows, "idle"),
        behind=np.array([row.lag > row.last_read and row.age > row.patience for row in rows], np.bool_),
        paused=np.zeros(len(rows), np.bool_),
        before_transaction=np.array([row.stable < row.end and 0 <= row.stable_lag <= 3 for row in rows], np.bool_),
        stable_since=_ago([row.held_for for row in rows]),
        stage=seen.groups.stage[group],
        settled_time=_column(rows, "settled"),
        members=seen.groups.members[group],
        **{name: _column(rows, name, np.bool_) for name in ("known", "stuck", "excused", "undecided", "losing")},
        **{name: _column(rows, name) for name in ("lag", "patience", "longest_pause", "loss_in")},
    )


def judged(window: Window, verdicts: Sequence[str], since: int = NOW) -> EvaluationResult:
    """Return an evaluation with these verdicts, one per row, that hold since a time (ms)."""
    codes = np.array([CODE[Verdict(verdict)] for verdict in verdicts], np.int8)
    code, row, rows = roll_up(codes, window.lag, window.inputs.group, len(window.inputs.groups.names))
    return EvaluationResult(
        window=window,
        rule_verdict=codes,
        also=np.zeros(len(codes), np.int64),
        verdict=codes,
        since=np.full(len(codes), since, np.int64),
        group_verdict=code,
        group_row=row,
        group_rows=rows,
        group_since=np.where(row >= 0, since, -1),
        group_skipped=np.zeros(len(code), np.int64),
    )


def _ints(values: list[int]) -> Any:
    return np.array(values, np.int64)


def _ago(values: list[int | None]) -> Any:
    return _ints([-1 if value is None else NOW - value for value in values])


def _column(rows: tuple[Row, ...], name: str, kind: Any = np.int64) -> Any:
    return np.array([getattr(row, name) for row in rows], kind)


def _within(rows: tuple[Row, ...]) -> list[int]:
    return [sum((b.group, b.topic) == (a.group, a.topic) for b in rows[:at]) for at, a in enumerate(rows)]


def _spans(rows: tuple[Row, ...]) -> runs.Spans:
    committed, time = _column(rows, "committed"), _ago([row.commit_ago for row in rows])
    made = runs.single_record_spans(np.zeros(len(rows), np.int64), committed, time, np.zeros(len(rows), np.bool_))
    return dataclasses.replace(
        made,
        reached_time=_ago([row.progress_ago for row in rows]),
        commits=_column(rows, "commits"),
        rewinds=_column(rows, "rewinds"),
        rewind_from=_column(rows, "rewind_from"),
        rewind_to=_column(rows, "rewind_to"),
        rewind_time=_ago([row.rewind_ago for row in rows]),
    )


def _memory(rows: tuple[Row, ...]) -> Memory:
    return dataclasses.replace(
        Memory.empty(len(rows)),
        last_read=_column(rows, "last_read", np.bool_),
        last_committed=_column(rows, "last_committed"),
        skip_from=_column(rows, "jump_from"),
        skip_to=_column(rows, "jump_to"),
        skip_time=_ago([row.jump_ago for row in rows]),
        skip_planned=_column(rows, "jump_planned"),
        skip_written_from=_ago([row.passed_written_ago[0] for row in rows]),
        skip_written_to=_ago([row.passed_written_ago[1] for row in rows]),
        end_known_at=_ago([row.known_ago for row in rows]),
        back_from=_column(rows, "turn_from"),
        back_to=_column(rows, "turn_to"),
        back_time=_ago([row.turn_ago for row in rows]),
        swings=_column(rows, "turns"),
        swings_since=_ago([row.turns_ago for row in rows]),
        back_interval=_column(rows, "turn_interval"),
        climbed=_ago([row.climbed_ago for row in rows]),
        steps_back=_column(rows, "steps"),
        steps_since=_ago([row.steps_ago for row in rows]),
        split_since=_ago([row.split_ago for row in rows]),
        removed_early=_ago([row.forgotten_ago for row in rows]),
        first_seen=_ago([row.observed_ago for row in rows]),
        schedule_unknown_until=_ago([row.habit_until_ago for row in rows]),
    )


def _ends(rows: tuple[Row, ...]) -> OffsetDistances:
    committed, start = _column(rows, "committed"), _column(rows, "log_start")
    return OffsetDistances(
        high_watermark=_column(rows, "end"),
        log_start=start,
        last_stable=_column(rows, "stable"),
        stable_lag=_column(rows, "stable_lag"),
        lost=_column(rows, "lost"),
        margin=np.maximum(committed - start, 0),
    )


def _groups(names: list[str], rows: list[Row]) -> GroupInputs:
    same = ("stage", "members", "rebalances", "generation", "joined", "left")
    return group_inputs(
        names,
        since=_ago([row.settled for row in rows]),
        emptied=_ago([row.emptied_ago for row in rows]),
        refilled=_ago([row.refilled_ago for row in rows]),
        **{name: [getattr(row, name) for row in rows] for name in same},
    )
