"""Simulated producers, consumers and brokers, evaluated tick by tick as the monitor does.

Everything is a function of time, so the true state is known at any time. Commits become runs and slots by the code of
`stream.groups` itself. Times are ms from `NOON`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stream.groups.commits import runs
from stream.groups.commits import slots as window
from stream.groups.commits.slots import Slots
from stream.groups.membership.model import MemberClient
from stream.health.evaluator import EvaluationResult, Evaluator
from stream.health.features.lag import PartitionEnds
from stream.health.inputs import (
    NO_COMMIT,
    AbortStreak,
    GroupInputs,
    GroupStage,
    HealthInputs,
    OpenTransaction,
    RemovedCommits,
    Subscribers,
)
from stream.health.limits import HealthLimits
from stream.health.verdict import SEVERITY, VERDICTS, Severity, Verdict
from tests.stream.health.columns import group_inputs

NOON = 1_700_006_400_000
SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
TICK = 10 * SECOND
SLOT, SLOTS = 30 * SECOND, 10

Commit = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Partition:
    """One partition of a topic, and what the group commits to it (ascending times)."""

    end: Callable[[int], int]
    commits: Sequence[Commit]
    log_start: Callable[[int], int] = lambda _: 0
    stable: Callable[[int], int] | None = None
    known: Callable[[int], bool] = lambda _: True
    reason: str = "no_leader"
    """The reason why the end of the partition is not known, at the times at which it is not known."""
    topic: str = "orders"
    owner: int = -1
    subscribed: int = -1
    leader_epoch: Callable[[int], int] = lambda _: -1
    commit_epoch: int = -1
    expiry: Callable[[int], int] = lambda _: -1
    forgotten: int = -1
    """The time at which the broker removes the offset too early; `gone_from` must end the offset."""
    removed: int = -1
    """The time at which the offset is deleted, in whatever way; `gone_from` must end the offset."""
    retention: int = -1
    kept: int = -1
    gapless: bool = True
    aborts: Sequence[int] = ()
    """The times (ascending) at which commits are aborted with their transactions; the producer is 4,000."""
    exists_from: int = -(1 << 40)
    gone_from: int = 1 << 40

    @functools.cached_property
    def made(self) -> tuple[Any, Any]:
        """Times (ms from noon) and offsets of the commits as columns."""
        both = np.array(self.commits, np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]


@dataclasses.dataclass(frozen=True)
class Membership:
    """The membership of a group from a time on."""

    since: int
    stage: GroupStage = GroupStage.STABLE
    members: int = 1
    generation: int = -1
    joined: int = -1
    left: int = -1
    joined_clients: tuple[MemberClient, ...] = ()


@dataclasses.dataclass(frozen=True)
class Scene:
    """One group with its partitions, and its membership over time (ascending)."""

    partitions: Sequence[Partition]
    memberships: Sequence[Membership] = (Membership(-2 * HOUR),)
    rebalances: Sequence[int] = ()
    static: bool = False
    tails: Callable[[HealthInputs], Any] | None = None
    away: Callable[[int], bool] = lambda _: False
    """The times at which the cluster does not answer and there is no tick."""
    read_until: Callable[[int], int] | None = None
    """Time up to which the log has been read; None: up to now."""
    subscribers: Callable[[int], tuple[Subscribers, ...]] = lambda _: ()
    """The members by subscription, while these differ."""
    clients: Sequence[MemberClient] = ()
    """The members, by the numbers of `Partition.owner`."""
    known_hanging: int = 2 * HOUR
    """The time at which it becomes known that the open transaction of the first partition hangs."""
    noon: int = NOON


def evenly(rate: float, start: int = -3 * HOUR) -> Callable[[int], int]:
    return lambda t: max(int((t - start) * rate / SECOND), 0)


def by_list(times: Sequence[int]) -> Callable[[int], int]:
    """Return the end offset over time with a record at each of these times (ascending)."""
    moments = np.array(times)
    return lambda t: int(np.searchsorted(moments, t, side="right"))


def consume(
    end: Callable[[int], int],
    start: int,
    until: int,
    *,
    every: int = 5 * SECOND,
    rate: float = 1e9,
    position: int | None = None,
    repeats: bool = True,
    stuck_at: int | None = None,
) -> list[Commit]:
    """Return the commits of a consumer that reads up to `rate` records per second and commits `every` ms.

    It commits the same offset again if it `repeats`, begins at `position` (None: at the end), and never gets past
    `stuck_at`.
    """
    at = end(start) if position is None else position
    commits: list[Commit] = []
    for now in range(start, until + 1, SECOND):
        at = max(at, min(end(now), at + int(rate) if rate < 1e9 else end(now)))
        if stuck_at is not None:
            at = min(at, stuck_at)
        if (now - start) % every == 0 and (repeats or not commits or commits[-1][1] != at):
            commits.append((now, at))
    return commits


@dataclasses.dataclass(frozen=True)
class Seen:
    """The result of one tick of a scene."""

    time: int
    result: EvaluationResult

    @property
    def verdict(self) -> Verdict:
        return VERDICTS[self.result.group_verdict[0]]

    @property
    def sick(self) -> bool:
        """True if the shown verdict of the group is a fault."""
        return SEVERITY[self.verdict] >= Severity.WARNING

    @property
    def age(self) -> int:
        """The largest age of the time lags of the group (ms)."""
        return int(self.result.window.time_lag.age.max())

    def of(self, row: int) -> Verdict:
        return VERDICTS[self.result.verdict[row]]


def new_evaluator(packed: bytes | None = None) -> Evaluator:
    """Return a monitor that has just started, with the packed state of an earlier one if there is one."""
    return Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=packed)


def watch(scene: Scene, start: int, until: int, *, evaluator: Evaluator | None = None, tick: int = TICK) -> list[Seen]:
    """Evaluate a scene tick by tick and return the results; without an `evaluator` by one that has just started."""
    evaluator = evaluator or new_evaluator()
    ticks = []
    for now in range(start, until + 1, tick):
        if scene.away(now):
            evaluator.record_missed_tick()
        else:
            ticks.append(Seen(now, evaluator.evaluate(look(scene, now))))
    return ticks


def verdicts(ticks: Sequence[Seen | GroupTick], since: int, until: int = 1 << 40) -> set[Verdict]:
    """Return the verdicts of the group from one time until another."""
    return {each.verdict for each in ticks if since <= each.time <= until}


@dataclasses.dataclass(frozen=True)
class GroupTick:
    """The verdicts of one group and of its first partition at one tick, and the largest age of its time lags (ms)."""

    time: int
    verdict: Verdict
    first: Verdict | None
    age: int

    @property
    def sick(self) -> bool:
        """True if the verdict is a fault."""
        return SEVERITY[self.verdict] >= Severity.WARNING


def watch_together(
    scenes: Sequence[Scene],
    start: int | Sequence[int],
    until: int | Sequence[int],
    *,
    tick: int = TICK,
    evaluator: Evaluator | None = None,
) -> list[list[GroupTick]]:
    """Evaluate scenes as groups of one monitor, each from and until its own time, and return the ticks of each.

    Scenes with different times of their start are moved, so that all begin with the first tick of the monitor.

    An evaluation of many groups takes little more time than one of a single group. The scenes have no `clients` and
    `subscribers`, are `away` at the same times, and either all or none of them have `tails`. The verdict of a group
    does not depend on the other groups, as a law of `test_situations` states.
    """
    evaluator = evaluator or new_evaluator()
    ticks: list[list[GroupTick]] = [[] for _ in scenes]
    first = [start] * len(scenes) if isinstance(start, int) else start
    last = [until] * len(scenes) if isinstance(until, int) else until
    scenes = [
        dataclasses.replace(scene, noon=NOON + first[0] - begin) for scene, begin in zip(scenes, first, strict=True)
    ]
    for passed in range(0, max(map(operator.sub, last, first)) + 1, tick):
        times = [begin + passed for begin in first]
        if scenes[0].away(times[0]):
            evaluator.record_missed_tick()
            continue
        there = [number for number in range(len(scenes)) if times[number] <= last[number]]
        assert not any(
            scenes[each].clients or scenes[each].subscribers(times[each]) or scenes[each].away(times[each])
            for each in there
        )
        spans, slots = commit_columns([row for each in there for row in _commits(scenes[each], times[each])])
        looks = {each: look(scenes[each], times[each], needs_commits=scenes[each].tails is not None) for each in there}
        seen = dataclasses.replace(join(looks), spans=spans, slots=slots)
        result = evaluator.evaluate(seen)
        age = result.window.time_lag.age
        for group, number in enumerate(there):
            rows = np.flatnonzero(seen.group == group)
            verdict = VERDICTS[result.group_verdict[group]]
            of_first = VERDICTS[result.verdict[rows[0]]] if len(rows) else None
            assert SEVERITY[verdict] < Severity.WARNING or result.group_finding(group).next_step, (
                "a fault has a finding"
            )
            ticks[number].append(GroupTick(times[number], verdict, of_first, int(max(age[rows], default=0))))
    return ticks


def join(by_number: Mapping[int, HealthInputs]) -> HealthInputs:
    """Return the inputs of one tick with the group of each part; the topics of two parts are not the same."""
    parts = list(by_number.values())
    rows = np.cumsum([0, *(len(part) for part in parts)])
    topics = np.cumsum([0, *(len(part.topics) for part in parts)])
    slots = [dataclasses.replace(part.slots, row=part.slots.row + row) for part, row in zip(parts, rows, strict=False)]
    places = [at << 32 for at in topics.tolist()]
    optional = ("subscribed", "owner", "expiry", "retention", "kept", "gapless", "reasons", "read_until")
    return dataclasses.replace(
        parts[0],
        groups=dataclasses.replace(
            _columns([part.groups for part in parts], leave=("names",)),
            names=[f"group-{number:03}" for number in by_number],
        ),
        topics=[f"{number:03}-{topic}" for number, part in by_number.items() for topic in part.topics],
        group=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        topic=np.concatenate([part.topic + at for part, at in zip(parts, topics, strict=False)]),
        partition=np.concatenate([part.partition for part in parts]),
        spans=runs.concat([part.spans for part in parts]),
        slots=window.Slots.concat(slots),
        ends=_columns([_moved(part.ends, at, "place") for part, at in zip(parts, places, strict=False)]),
        tails=None
        if parts[0].tails is None
        else _columns([_moved(part.tails, at, "place", "unreadable") for part, at in zip(parts, places, strict=False)]),
        origins=_columns([part.origins for part in parts]),
        removed=_columns([part.removed for part in parts]),
        joined={number: part.joined[0] for number, part in enumerate(parts)},
        transactions={
            (topic + at, partition): each
            for part, at in zip(parts, topics.tolist(), strict=False)
            for (topic, partition), each in part.transactions.items()
        },
        aborts={
            row + first: streak for part, first in zip(parts, rows, strict=False) for row, streak in part.aborts.items()
        },
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in optional},
    )


def _moved(table: Any, by: int, *columns: str) -> Any:
    return dataclasses.replace(table, **{name: getattr(table, name) + by for name in columns})


def _columns(tables: Sequence[Any], leave: Sequence[str] = ()) -> Any:
    """Return the first table with the rows of all, without the columns `leave`, which stay as they are."""
    names = [field.name for field in dataclasses.fields(tables[0]) if field.name not in leave]
    columns = {name: [getattr(table, name) for table in tables] for name in names}
    joined = {name: np.concatenate(parts) for name, parts in columns.items() if parts[0] is not None}
    return dataclasses.replace(tables[0], **joined)


def look(scene: Scene, now: int, *, needs_commits: bool = True) -> HealthInputs:
    """Return the inputs of one tick; without commits if the caller computes those of many scenes together."""
    there = _partitions(scene, now)
    topics = sorted({part.topic for part in there})
    topic = np.array([topics.index(part.topic) for part in there], np.int64)
    partition = np.array([_number(there, at) for at in range(len(there))], np.int32)
    read = now if scene.read_until is None else scene.read_until(now)
    spans, slots = commit_columns(_commits(scene, now) if needs_commits else [])
    seen = HealthInputs(
        now=scene.noon + now,
        groups=_groups(scene, now),
        topics=topics,
        group=np.zeros(len(there), np.int64),
        topic=topic,
        partition=partition,
        spans=spans,
        slots=slots,
        ends=_ends(there, topic, partition, now),
        subscribed=np.array([part.subscribed for part in there], np.int8),
        owner=np.array([part.owner for part in there], np.int64),
        clients=scene.clients,
        joined={0: [each for each in scene.memberships if each.since <= now][-1].joined_clients},
        subscribers={0: differ} if (differ := scene.subscribers(now)) else {},
        expiry=np.array([_moment(part.expiry(now), scene.noon) for part in there], np.int64),
        removed=RemovedCommits(
            _latest([part.removed for part in there], now, scene.noon),
            np.zeros(len(there), np.int64),
            _latest([part.forgotten for part in there], now, scene.noon),
        ),
        retention=np.array([part.retention for part in there], np.int64),
        kept=np.array([part.kept for part in there], np.int64),
        gapless=np.array([part.gapless for part in there], np.bool_),
        reasons=np.array([None if part.known(now) else part.reason for part in there], object),
        read_until=np.full(len(there), scene.noon + read, np.int64),
        transactions={(int(topic[0]), 0): OpenTransaction(4_000, hanging=True)} if now >= scene.known_hanging else {},
        aborts={row: one for row, part in enumerate(there) if (one := _aborts(part, read, scene.noon)) is not None},
    )
    origins = dataclasses.replace(seen.origins, leader_epoch=np.array([p.commit_epoch for p in there], np.int32))
    seen = dataclasses.replace(seen, origins=origins)
    return seen if scene.tails is None else dataclasses.replace(seen, tails=scene.tails(seen))


def _aborts(part: Partition, now: int, noon: int) -> AbortStreak | None:
    """Return the aborted commits since the last commit."""
    if not part.aborts:
        return None
    last = max((time for time, _ in part.commits if time <= now), default=-(1 << 40))
    since = [time for time in part.aborts if last < time <= now]
    return AbortStreak(len(since), noon + since[0], noon + since[-1], 4_000) if since else None


def _moment(relative: int, noon: int) -> int:
    return relative if relative == -1 else noon + relative


def _latest(times: Sequence[int], now: int, noon: int) -> Any:
    return np.array([_moment(time if time <= now else -1, noon) for time in times], np.int64)


def _number(there: list[Partition], at: int) -> int:
    return sum(part.topic == there[at].topic for part in there[:at])


def _groups(scene: Scene, now: int) -> GroupInputs:
    past = [each for each in scene.memberships if each.since <= now]
    last = past[-1]
    empties = [at for at, each in enumerate(past) if each.stage is GroupStage.EMPTY]
    emptied = scene.noon + past[empties[-1]].since if empties else -1
    refilled = scene.noon + past[empties[-1] + 1].since if empties and empties[-1] + 1 < len(past) else -1
    counted = sum(now - HealthLimits().storm_window < time <= now for time in scene.rebalances)
    return group_inputs(
        ["billing"],
        stage=[last.stage],
        since=[scene.noon + max([last.since, *(t for t in scene.rebalances if t <= now)])],
        members=[last.members if last.stage is not GroupStage.OFFSETS_ONLY else -1],
        rebalances=[counted],
        emptied=[emptied],
        refilled=[refilled],
        static=[scene.static],
        **{name: [getattr(last, name)] for name in ("generation", "joined", "left")},
    )


def _partitions(scene: Scene, now: int) -> list[Partition]:
    there = (part for part in scene.partitions if part.exists_from <= now < part.gone_from)
    return sorted(there, key=lambda part: part.topic)


def _commits(scene: Scene, now: int) -> list[tuple[Any, Any]]:
    read = now if scene.read_until is None else scene.read_until(now)
    made = [part.made for part in _partitions(scene, now)]
    until = [int(np.searchsorted(time, read, side="right")) for time, _ in made]
    return [(scene.noon + time[:end], offset[:end]) for (time, offset), end in zip(made, until, strict=True)]


def commit_columns(rows: Sequence[tuple[Any, Any]]) -> tuple[runs.Spans, Slots]:
    """Return the runs and slots of rows, each with the times (ascending) and offsets of its commits as columns."""
    counts = np.array([len(time) for time, _ in rows], np.int64)
    made, missing = np.flatnonzero(counts), np.flatnonzero(counts == 0)
    none = np.full(len(missing), NO_COMMIT, np.int64)
    unread = runs.single_record_spans(none, none, none, np.zeros(len(missing), np.bool_))
    spans, slots = [dataclasses.replace(unread, commits=np.zeros(len(missing), np.int64))], [window.Slots.empty()]
    if len(made):
        time, offset = (np.concatenate([rows[row][at] for row in made]) for at in (0, 1))
        position = np.concatenate([np.arange(counts[row]) for row in made])
        unit = runs.single_record_spans(position, offset, time, np.zeros(len(time), np.bool_))
        spans.append(runs.merge(unit, np.cumsum([0, *counts[made[:-1]]]).astype(np.intp))[0])
        slots.append(Slots(np.repeat(made, counts[made]), time // SLOT, offset, time, np.ones(len(time), np.int64)))
    row_order = np.argsort(np.concatenate([missing, made]), kind="stable")
    return runs.concat(spans).take(row_order), window.merge(window.Slots.concat(slots), SLOTS)


def _ends(there: list[Partition], topic: Any, partition: Any, now: int) -> PartitionEnds:
    return PartitionEnds(
        place=(topic << 32) | partition.astype(np.int64),
        high_watermark=np.array([part.end(now) for part in there], np.int64),
        log_start=np.array([part.log_start(now) for part in there], np.int64),
        known=np.array([part.known(now) for part in there], np.bool_),
        last_stable=np.array([part.end(now) if part.stable is None else part.stable(now) for part in there], np.int64),
        leader_epoch=np.array([part.leader_epoch(now) for part in there], np.int32),
    )
