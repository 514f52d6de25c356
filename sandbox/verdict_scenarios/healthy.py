"""Groups that are healthy but unusual: none of them may get a verdict of severity warning or critical."""

from __future__ import annotations

import itertools
from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    AddPartitions,
    ChangeBehaviour,
    CloseClients,
    DeleteGroupInUse,
    DeleteInputTopic,
    DeleteReadRecords,
    KillClient,
    ResetOffsets,
    StartConsumer,
    StartJavaConsumer,
    StartSimpleConsumer,
    StartTransactionalConsumer,
    SubscribeTo,
)
from sandbox.verdict_scenarios.outages import BROKER_RESTART_AT
from sandbox.verdict_scenarios.scenario import EVENT, TimedStep, VerdictScenario
from sandbox.verdict_scenarios.sick.parts import BATCH, BATCH_TAKES, FOUR, ONE, THREE, batch_runs

RESTART_SECONDS: Final = 35 / pace.FASTER
"""Seconds of a restart of a static member."""
BETWEEN_RESTARTS: Final = 12.0
PAUSES: Final = (20.0, 47.0, 31.0, 75.0, 26.0, 58.0)
"""Seconds of production between the commits of a consumer that commits full batches."""


def _joining_batch() -> tuple[TimedStep, ...]:
    starts = [5.0 + BATCH * number for number in range(40)]
    return tuple(
        step
        for start in starts
        for step in (TimedStep(start, (StartConsumer(),)), TimedStep(start + BATCH_TAKES, (CloseClients(),)))
        if step.time > 0
    )


def _rolling() -> tuple[TimedStep, ...]:
    names = ("a", "b", "c")
    leaving = [
        TimedStep(EVENT + BETWEEN_RESTARTS * number, (CloseClients((name,)),)) for number, name in enumerate(names)
    ]
    joining = [
        TimedStep(EVENT + BETWEEN_RESTARTS * number + RESTART_SECONDS, (StartConsumer(name, instance=name),))
        for number, name in enumerate(names)
    ]
    return tuple(sorted([*leaving, *joining], key=lambda step: step.time))


def _deletes_and_pauses() -> tuple[TimedStep, ...]:
    every, pause = 30 / pace.FASTER, 40 / pace.FASTER
    deletes = [TimedStep(10.0 + every * number, (DeleteReadRecords(),)) for number in range(40)]
    hangs = TimedStep(EVENT, (ChangeBehaviour({"hung": ("a",)}),))
    goes_on = TimedStep(EVENT + pause, (ChangeBehaviour({"hung": ()}),))
    return tuple(sorted([*deletes, hangs, goes_on], key=lambda step: step.time))


def _irregular() -> tuple[TimedStep, ...]:
    # Each commit ends a batch: everything is committed, and then nothing until the next batch is full.
    times = itertools.accumulate(itertools.islice(itertools.cycle(PAUSES), 100))
    steps = [time / pace.FASTER for time in times]
    return tuple(
        step
        for time in steps
        for step in (
            TimedStep(time, (ChangeBehaviour({"silent": False}),)),
            TimedStep(time + 0.5, (ChangeBehaviour({"silent": True}),)),
        )
    )


RHYTHMS: Final = (
    VerdictScenario(
        "one-of-two-dies",
        "healthy",
        "one of two members is killed; when its session ends the other one takes over, within the time of a pause",
        FOUR,
        (StartJavaConsumer("a"), StartJavaConsumer("b")),
        script=(TimedStep(EVENT, (KillClient("b"),)),),
        # The other member takes over at the end of a pause that is no fault; brokers are not as fast as the run.
        true_as_well=("stopped", "poison_record"),
    ),
    VerdictScenario(
        "steady", "healthy", "reads records as they arrive", THREE, (StartConsumer("a"), StartConsumer("b"))
    ),
    VerdictScenario(
        "bursty",
        "healthy",
        "a producer writes all records at once every few minutes; they are processed in half of that time",
        {"in": ScenarioTopic(flows=(Flow(2 * RATE, every=30.0),))},
        (StartConsumer(),),
        ClientBehaviour(rate=4 * RATE),
    ),
    VerdictScenario(
        "batch-stays",
        "healthy",
        "a batch that reads all records once an hour; its member stays",
        ONE,
        (StartConsumer(),),
        ClientBehaviour(rate=0.0, repeats=False),
        script=batch_runs(800.0),
        judged_from=50.0,
    ),
    VerdictScenario(
        "batch-leaves",
        "healthy",
        "a batch that joins once an hour, reads all records and leaves",
        ONE,
        (),
        ClientBehaviour(rate=400.0, repeats=False),
        script=_joining_batch(),
        judged_from=50.0,
    ),
    VerdictScenario(
        "slow-committer",
        "healthy",
        "commits once a minute",
        ONE,
        (StartConsumer(),),
        ClientBehaviour(every=60 / pace.FASTER),
    ),
    VerdictScenario(
        "irregular-committer",
        "healthy",
        "commits when a batch is full, which takes between 20 and 75 seconds",
        ONE,
        (StartConsumer(),),
        ClientBehaviour(silent=True, repeats=False),
        script=_irregular(),
    ),
    VerdictScenario(
        "quiet",
        "healthy",
        "rare records, read at once by a client that commits only after it has read something",
        {"in": ScenarioTopic(flows=(Flow(1 / 24, every=24.0),))},
        (StartConsumer(),),
        ClientBehaviour(repeats=False),
    ),
    VerdictScenario(
        "at-a-distance",
        "healthy",
        "a constant lag of five minutes, at the speed of the producer",
        {"in": ScenarioTopic(backlog=int(RATE * 300 / pace.FASTER))},
        (StartConsumer(),),
        ClientBehaviour(rate=RATE),
    ),
    VerdictScenario(
        "recovering",
        "healthy",
        "a backlog of an hour that is processed at twice the speed of the producer",
        {"in": ScenarioTopic(backlog=5_000)},
        (StartConsumer(),),
        ClientBehaviour(rate=2 * RATE),
    ),
    VerdictScenario(
        "spike",
        "healthy",
        "for a minute ten times as much is written; the group needs minutes to catch up",
        {"in": ScenarioTopic(flows=(Flow(), Flow(9 * RATE, start=EVENT, until=EVENT + 60 / pace.FASTER)))},
        (StartConsumer(),),
        ClientBehaviour(rate=3.5 * RATE),
    ),
    VerdictScenario(
        "read-and-gone",
        "healthy",
        "a group has read all records and has left",
        {"in": ScenarioTopic(flows=(Flow(until=30.0),))},
        (StartConsumer(),),
        script=(TimedStep(170.0, (CloseClients(),)),),
        # After that its offsets are about to expire, which is true.
        judged_until=170.0 + 0.75 * pace.OFFSETS_RETENTION,
    ),
)

RECORDS: Final = (
    VerdictScenario(
        "deletes-read",
        "healthy",
        "deletes every half minute what it has read, as Kafka Streams does with its own topics, and pauses once",
        ONE,
        (StartConsumer(),),
        script=_deletes_and_pauses(),
    ),
    VerdictScenario(
        "compacted",
        "healthy",
        "a compacted topic, whose offsets have gaps",
        {
            "in": ScenarioTopic(
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
        (StartConsumer(),),
        ClientBehaviour(rate=2 * RATE),
    ),
    VerdictScenario(
        "marker",
        "healthy",
        "a quiet topic that ends with a transaction marker, which no client commits past",
        {"in": ScenarioTopic(flows=(Flow(10 / 24, every=24.0),), transaction=1.0)},
        (StartConsumer(),),
        ClientBehaviour(repeats=False),
    ),
    VerdictScenario(
        "transactional",
        "healthy",
        "reads committed records of short transactions, and commits in transactions of its own",
        {"in": ScenarioTopic(transaction=1.0), "out": ScenarioTopic(flows=())},
        (StartTransactionalConsumer(),),
        # When the broker stops during a commit, librdkafka may wait for ever (see
        # `sandbox.demo.transactional`), and the group is stopped.
        judged_until=BROKER_RESTART_AT,
    ),
    VerdictScenario(
        "some-aborts",
        "healthy",
        "commits in transactions, and aborts every third one",
        {"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        (StartTransactionalConsumer(),),
        ClientBehaviour(abort_every=3),
        judged_until=BROKER_RESTART_AT,
    ),
    VerdictScenario(
        "checkpointed",
        "healthy",
        "reads committed records of a producer that commits with each checkpoint, every two minutes",
        {"in": ScenarioTopic(transaction=120 / pace.FASTER)},
        (StartConsumer(isolated=True),),
        judged_from=50.0,
    ),
    VerdictScenario(
        "topic-deleted",
        "healthy",
        "the topic is deleted while the group reads it",
        ONE,
        (StartConsumer(),),
        script=(TimedStep(EVENT, (DeleteInputTopic(),), "deleted"),),
        client_error="UNKNOWN_TOPIC_OR_PART",
    ),
    VerdictScenario(
        "shaded",
        "healthy",
        "commits regularly, while the open transaction of another group hides the commits in its offsets partition",
        THREE,
        (StartConsumer(),),
        reserved=True,
    ),
)

OPERATIONS: Final = (
    VerdictScenario(
        "planned-reset",
        "healthy",
        "stopped, reset, started again; then it catches up",
        {"in": ScenarioTopic(backlog=4_000)},
        (StartConsumer(),),
        script=(
            TimedStep(EVENT, (CloseClients(), ChangeBehaviour({"rate": 10 * RATE}))),
            TimedStep(EVENT + 3.0, (ResetOffsets(4_000),), "reset"),
            TimedStep(EVENT + 5.0, (StartConsumer(),)),
        ),
    ),
    VerdictScenario(
        "reset-forward",
        "healthy",
        "stopped in a backlog, set forward past a part of it, started again",
        {"in": ScenarioTopic(backlog=9_000)},
        (StartConsumer(),),
        ClientBehaviour(rate=1.5 * RATE),
        script=(
            TimedStep(EVENT, (CloseClients(),)),
            TimedStep(EVENT + 3.0, (ResetOffsets(-6_000),), "reset"),
            TimedStep(EVENT + 5.0, (StartConsumer(),)),
        ),
    ),
    VerdictScenario(
        "rolling-restart",
        "healthy",
        "three static members are restarted one after the other",
        THREE,
        tuple(StartConsumer(name, instance=name) for name in ("a", "b", "c")),
        script=_rolling(),
    ),
    VerdictScenario(
        "autoscaling",
        "healthy",
        "members join and leave with the load, and every change is a rebalance",
        FOUR,
        (StartConsumer("a"),),
        script=(
            TimedStep(50.0, (StartConsumer("b"),)),
            TimedStep(74.0, (StartConsumer("c"),)),
            TimedStep(98.0, (StartConsumer("d"),)),
            TimedStep(122.0, (CloseClients(("d",)),)),
            TimedStep(146.0, (CloseClients(("c",)),)),
        ),
    ),
    VerdictScenario(
        "newer-protocol",
        "healthy",
        "a group of the newer protocol whose members join and leave",
        FOUR,
        (StartConsumer("a", kind="consumer"), StartConsumer("b", kind="consumer")),
        script=(
            TimedStep(EVENT, (CloseClients(("b",)),)),
            TimedStep(EVENT + 20, (StartConsumer("c", kind="consumer"),)),
        ),
    ),
    VerdictScenario(
        "deploy",
        "healthy",
        "stopped cleanly while it processes a backlog, and soon started again",
        {"in": ScenarioTopic(backlog=9_000)},
        (StartConsumer(),),
        ClientBehaviour(rate=3 * RATE),
        script=(TimedStep(EVENT, (CloseClients(),)), TimedStep(EVENT + 20 / pace.FASTER, (StartConsumer(),))),
    ),
    VerdictScenario(
        "subscription-deploy",
        "healthy",
        "a rolling deploy to a version that subscribes to another topic as well",
        {"in": ScenarioTopic(2), "new": ScenarioTopic(2)},
        (StartConsumer("a"), StartConsumer("b")),
        script=(
            TimedStep(EVENT, (CloseClients(("a",)), StartConsumer("c", topics=("in", "new")))),
            TimedStep(
                EVENT + pace.ROLLING_DEPLOY / 2, (CloseClients(("b",)), StartConsumer("d", topics=("in", "new")))
            ),
        ),
    ),
    VerdictScenario(
        "deleted-offsets",
        "healthy",
        "a group without membership has read everything and ended; later its offsets are deleted by a tool",
        {"in": ScenarioTopic(flows=(Flow(until=30.0),))},
        (StartSimpleConsumer(),),
        script=(
            TimedStep(EVENT, (CloseClients(),)),
            TimedStep(EVENT + 600 / pace.FASTER, (DeleteGroupInUse(),)),
        ),
    ),
    VerdictScenario(
        "scaled-to-zero",
        "healthy",
        "a deploy moves the group to another topic, and when it has read that, it is scaled to zero",
        {"in": ScenarioTopic(), "new": ScenarioTopic(flows=(Flow(until=EVENT + 20),))},
        (StartConsumer(),),
        script=(
            TimedStep(EVENT, (SubscribeTo("new"),)),
            TimedStep(EVENT + 45, (CloseClients(),)),
        ),
        judged_until=EVENT + 45 + 0.75 * pace.OFFSETS_RETENTION,
    ),
    VerdictScenario(
        "mirrored",
        "healthy",
        "another program copies the offsets by the minute, some records behind, and its source comes to rest",
        {"in": ScenarioTopic(flows=(Flow(until=EVENT),))},
        (StartSimpleConsumer(),),
        ClientBehaviour(every=60 / pace.FASTER, behind=5, repeats=False),
    ),
    VerdictScenario(
        "grown",
        "healthy",
        "a partition is added, which the members find at their next metadata refresh",
        ONE,
        (StartConsumer(refresh=pace.MEMBERSHIP_REFRESH),),
        script=(TimedStep(EVENT, (AddPartitions(2),)),),
    ),
)

HEALTHY: Final = (*RHYTHMS, *RECORDS, *OPERATIONS)
