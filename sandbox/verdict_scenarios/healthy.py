"""Groups that are healthy but odd: of none of them anything must be said for which somebody gets up."""

from __future__ import annotations

import itertools
from typing import Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    DeleteTopic,
    Grow,
    Join,
    JoinExactlyOnce,
    Leave,
    Live,
    Reset,
)
from sandbox.verdict_scenarios.outages import BROKER_STOPS
from sandbox.verdict_scenarios.scenario import EVENT, RATE, At, Flow, Habit, Scenario, Topic
from sandbox.verdict_scenarios.sick import BATCH, BATCH_TAKES, FOUR, OFFSETS_RETENTION, ONE, THREE, visits

AWAY: Final = 35 / pace.FASTER
"""Seconds that a static member is away while it is restarted."""
BETWEEN_RESTARTS: Final = 12.0
PAUSES: Final = (20.0, 47.0, 31.0, 75.0, 26.0, 58.0)
"""Seconds of production between the commits of a consumer that commits when a batch is full."""


def _comes_and_goes() -> tuple[At, ...]:
    starts = [5.0 + BATCH * number for number in range(40)]
    return tuple(
        step
        for start in starts
        for step in (At(start, (Join(),)), At(start + BATCH_TAKES, (Leave(),)))
        if step.time > 0
    )


def _rolling() -> tuple[At, ...]:
    names = ("a", "b", "c")
    away = [At(EVENT + BETWEEN_RESTARTS * number, (Leave((name,)),)) for number, name in enumerate(names)]
    back = [
        At(EVENT + BETWEEN_RESTARTS * number + AWAY, (Join(name, instance=name),)) for number, name in enumerate(names)
    ]
    return tuple(sorted([*away, *back], key=lambda step: step.time))


def _irregular() -> tuple[At, ...]:
    # Each commit is of a batch of its own: everything is processed, told, and then silence.
    times = itertools.accumulate(itertools.islice(itertools.cycle(PAUSES), 100))
    steps = [time / pace.FASTER for time in times]
    return tuple(
        step
        for time in steps
        for step in (At(time, (Live({"silent": False}),)), At(time + 0.5, (Live({"silent": True}),)))
    )


RHYTHMS: Final = (
    Scenario("steady", "healthy", "reads as records come", THREE, (Join("a"), Join("b"))),
    Scenario(
        "bursty",
        "healthy",
        "a producer writes everything at once every few minutes; it is worked off in half of the time",
        {"in": Topic(flows=(Flow(2 * RATE, every=30.0),))},
        (Join(),),
        Habit(rate=4 * RATE),
    ),
    Scenario(
        "batch-stays",
        "healthy",
        "a batch that reads all there is once an hour; its member stays",
        ONE,
        (Join(),),
        Habit(rate=0.0, repeats=False),
        script=visits(800.0),
        judged_from=50.0,
    ),
    Scenario(
        "batch-leaves",
        "healthy",
        "a batch that reads all there is once an hour and is gone in between",
        ONE,
        (),
        Habit(rate=400.0, repeats=False),
        script=_comes_and_goes(),
        judged_from=50.0,
    ),
    Scenario("slow-committer", "healthy", "commits once a minute", ONE, (Join(),), Habit(every=60 / pace.FASTER)),
    Scenario(
        "irregular-committer",
        "healthy",
        "commits when a batch is full, which takes between 20 and 75 seconds",
        ONE,
        (Join(),),
        Habit(silent=True, repeats=False),
        script=_irregular(),
    ),
    Scenario(
        "quiet",
        "healthy",
        "a record now and then, read at once by a client that commits only when it has read something",
        {"in": Topic(flows=(Flow(1 / 24, every=24.0),))},
        (Join(),),
        Habit(repeats=False),
    ),
    Scenario(
        "at-a-distance",
        "healthy",
        "five minutes behind for ever, at the pace of the producer",
        {"in": Topic(backlog=int(RATE * 300 / pace.FASTER))},
        (Join(),),
        Habit(rate=RATE),
    ),
    Scenario(
        "recovering",
        "healthy",
        "a backlog of an hour that is worked off at twice the speed at which records come",
        {"in": Topic(backlog=5_000)},
        (Join(),),
        Habit(rate=2 * RATE),
    ),
    Scenario(
        "spike",
        "healthy",
        "for a minute ten times as much is written; the group needs minutes to be back",
        {"in": Topic(flows=(Flow(), Flow(9 * RATE, start=EVENT, until=EVENT + 60 / pace.FASTER)))},
        (Join(),),
        Habit(rate=3.5 * RATE),
    ),
    Scenario(
        "read-and-gone",
        "healthy",
        "a group has read all there was, and has left",
        {"in": Topic(flows=(Flow(until=30.0),))},
        (Join(),),
        script=(At(170.0, (Leave(),)),),
        # Then it is true that its offsets are about to be forgotten.
        judged_until=170.0 + 0.75 * OFFSETS_RETENTION,
    ),
)

RECORDS: Final = (
    Scenario(
        "compacted",
        "healthy",
        "a compacted topic, whose offsets have gaps",
        {
            "in": Topic(
                backlog=3_000,
                keys=5,
                config={
                    "cleanup.policy": "compact",
                    "segment.ms": "3000",
                    "min.cleanable.dirty.ratio": "0.01",
                    "delete.retention.ms": "1000",
                },
            )
        },
        (Join(),),
        Habit(rate=2 * RATE),
    ),
    Scenario(
        "marker",
        "healthy",
        "a quiet topic that ends with the marker of a transaction, which no client commits past",
        {"in": Topic(flows=(Flow(10 / 24, every=24.0),), transaction=1.0)},
        (Join(),),
        Habit(repeats=False),
    ),
    Scenario(
        "transactional",
        "healthy",
        "reads committed records of short transactions, and commits in transactions of its own",
        {"in": Topic(transaction=1.0), "out": Topic(flows=())},
        (JoinExactlyOnce(),),
        # A broker that goes in the middle of it may leave librdkafka waiting for ever (see
        # `sandbox.demo.transactional`): then the group is stopped indeed.
        judged_until=BROKER_STOPS,
    ),
    Scenario(
        "checkpointed",
        "healthy",
        "reads committed records of a producer that commits with its checkpoint, every two minutes",
        {"in": Topic(transaction=120 / pace.FASTER)},
        (Join(isolated=True),),
        judged_from=50.0,
    ),
    Scenario(
        "topic-deleted",
        "healthy",
        "the topic is deleted under its group",
        ONE,
        (Join(),),
        script=(At(EVENT, (DeleteTopic(),), "deleted"),),
    ),
    Scenario(
        "shaded",
        "healthy",
        "commits as ever, while a transaction of somebody else keeps its offsets partition from being read",
        THREE,
        (Join(),),
        corner=True,
    ),
)

PEOPLE: Final = (
    Scenario(
        "planned-reset",
        "healthy",
        "stopped, set back, started again; then it catches up",
        {"in": Topic(backlog=4_000)},
        (Join(),),
        script=(
            At(EVENT, (Leave(), Live({"rate": 10 * RATE}))),
            At(EVENT + 3.0, (Reset(4_000),), "reset"),
            At(EVENT + 5.0, (Join(),)),
        ),
    ),
    Scenario(
        "rolling-restart",
        "healthy",
        "three static members are restarted one after the other, each away for a while",
        THREE,
        tuple(Join(name, instance=name) for name in ("a", "b", "c")),
        script=_rolling(),
    ),
    Scenario(
        "autoscaling",
        "healthy",
        "members come and go with the load, and every step is a rebalance",
        FOUR,
        (Join("a"),),
        script=(
            At(50.0, (Join("b"),)),
            At(74.0, (Join("c"),)),
            At(98.0, (Join("d"),)),
            At(122.0, (Leave(("d",)),)),
            At(146.0, (Leave(("c",)),)),
        ),
    ),
    Scenario(
        "newer-protocol",
        "healthy",
        "a group of the newer protocol whose members come and go",
        FOUR,
        (Join("a", protocol="consumer"), Join("b", protocol="consumer")),
        script=(
            At(EVENT, (Leave(("b",)),)),
            At(EVENT + 20, (Join("c", protocol="consumer"),)),
        ),
    ),
    Scenario(
        "deploy",
        "healthy",
        "stopped cleanly while it works off a backlog, and soon back",
        {"in": Topic(backlog=9_000)},
        (Join(),),
        Habit(rate=3 * RATE),
        script=(At(EVENT, (Leave(),)), At(EVENT + 20 / pace.FASTER, (Join(),))),
    ),
    Scenario(
        "grown",
        "healthy",
        "a partition is added, which the members find when they next look",
        ONE,
        (Join(refresh=pace.MEMBERSHIP_REFRESH),),
        script=(At(EVENT, (Grow(2),)),),
    ),
)

HEALTHY: Final = (*RHYTHMS, *RECORDS, *PEOPLE)
