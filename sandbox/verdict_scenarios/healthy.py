"""Groups that are healthy but unusual: none of them may get a verdict of severity warning or critical."""

from __future__ import annotations

import itertools
from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    add_partitions,
    change_behaviour,
    close_clients,
    delete_group,
    delete_input_topic,
    delete_read_records,
    kill_client,
    reset_offsets,
    start_consumer,
    start_java_consumer,
    start_simple_consumer,
    start_transactional_consumer,
    subscribe_to,
)
from sandbox.verdict_scenarios.outages import BROKER_RESTART_AT
from sandbox.verdict_scenarios.scenario import EVENT, TimedStep, VerdictScenario
from sandbox.verdict_scenarios.sick.parts import BATCH, BATCH_TAKES, FOUR, THREE, batch_runs

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
        for step in (TimedStep(start, (start_consumer(),)), TimedStep(start + BATCH_TAKES, (close_clients(),)))
        if step.time > 0
    )


def _rolling() -> tuple[TimedStep, ...]:
    names = ("a", "b", "c")
    leaving = [
        TimedStep(EVENT + BETWEEN_RESTARTS * number, (close_clients(name),)) for number, name in enumerate(names)
    ]
    joining = [
        TimedStep(EVENT + BETWEEN_RESTARTS * number + RESTART_SECONDS, (start_consumer(name, instance=name),))
        for number, name in enumerate(names)
    ]
    return tuple(sorted([*leaving, *joining], key=lambda step: step.time))


def _deletes_and_pauses() -> tuple[TimedStep, ...]:
    every, pause = 30 / pace.FASTER, 40 / pace.FASTER
    deletes = [TimedStep(10.0 + every * number, (delete_read_records(),)) for number in range(40)]
    hangs = TimedStep(EVENT, (change_behaviour(hung=("a",)),))
    goes_on = TimedStep(EVENT + pause, (change_behaviour(hung=()),))
    return tuple(sorted([*deletes, hangs, goes_on], key=lambda step: step.time))


def _irregular() -> tuple[TimedStep, ...]:
    # Each commit ends a batch: everything is committed, and then nothing until the next batch is full.
    times = itertools.accumulate(itertools.islice(itertools.cycle(PAUSES), 100))
    steps = [time / pace.FASTER for time in times]
    return tuple(
        step
        for time in steps
        for step in (
            TimedStep(time, (change_behaviour(silent=False),)),
            TimedStep(time + 0.5, (change_behaviour(silent=True),)),
        )
    )


RHYTHMS: Final = (
    VerdictScenario(
        "one-of-two-dies",
        "one of two members is killed; when its session ends the other one takes over, within the time of a pause",
        topics=FOUR,
        start=(start_java_consumer("a"), start_java_consumer("b")),
        script=(TimedStep(EVENT, (kill_client("b"),)),),
        # The other member takes over at the end of a pause that is no fault; brokers are not as fast as the run.
        true_as_well=("stopped", "poison_record"),
    ),
    VerdictScenario(
        "steady", "reads records as they arrive", topics=THREE, start=(start_consumer("a"), start_consumer("b"))
    ),
    VerdictScenario(
        "bursty",
        "a producer writes all records at once every few minutes; they are processed in half of that time",
        topics={"in": ScenarioTopic(flows=(Flow(2 * RATE, every=30.0),))},
        behaviour=ClientBehaviour(rate=4 * RATE),
    ),
    VerdictScenario(
        "batch-stays",
        "a batch that reads all records once an hour; its member stays",
        behaviour=ClientBehaviour(rate=0.0, repeats=False),
        script=batch_runs(800.0),
        judged_from=50.0,
    ),
    VerdictScenario(
        "batch-leaves",
        "a batch that joins once an hour, reads all records and leaves",
        start=(),
        behaviour=ClientBehaviour(rate=400.0, repeats=False),
        script=_joining_batch(),
        judged_from=50.0,
    ),
    VerdictScenario("slow-committer", "commits once a minute", behaviour=ClientBehaviour(every=60 / pace.FASTER)),
    VerdictScenario(
        "irregular-committer",
        "commits when a batch is full, which takes between 20 and 75 seconds",
        behaviour=ClientBehaviour(silent=True, repeats=False),
        script=_irregular(),
    ),
    VerdictScenario(
        "quiet",
        "rare records, read at once by a client that commits only after it has read something",
        topics={"in": ScenarioTopic(flows=(Flow(1 / 24, every=24.0),))},
        behaviour=ClientBehaviour(repeats=False),
    ),
    VerdictScenario(
        "at-a-distance",
        "a constant lag of five minutes, at the speed of the producer",
        topics={"in": ScenarioTopic(backlog=int(RATE * 300 / pace.FASTER))},
        behaviour=ClientBehaviour(rate=RATE),
    ),
    VerdictScenario(
        "recovering",
        "a backlog of an hour that is processed at twice the speed of the producer",
        topics={"in": ScenarioTopic(backlog=5_000)},
        behaviour=ClientBehaviour(rate=2 * RATE),
    ),
    VerdictScenario(
        "spike",
        "for a minute ten times as much is written; the group needs minutes to catch up",
        topics={"in": ScenarioTopic(flows=(Flow(), Flow(9 * RATE, start=EVENT, until=EVENT + 60 / pace.FASTER)))},
        behaviour=ClientBehaviour(rate=3.5 * RATE),
    ),
    VerdictScenario(
        "read-and-gone",
        "a group has read all records and has left",
        topics={"in": ScenarioTopic(flows=(Flow(until=30.0),))},
        script=(TimedStep(170.0, (close_clients(),)),),
        # After that its offsets are about to expire, which is true.
        judged_until=170.0 + 0.75 * pace.OFFSETS_RETENTION,
    ),
)

RECORDS: Final = (
    VerdictScenario(
        "deletes-read",
        "deletes every half minute what it has read, as Kafka Streams does with its own topics, and pauses once",
        script=_deletes_and_pauses(),
    ),
    VerdictScenario(
        "compacted",
        "a compacted topic, whose offsets have gaps",
        topics={
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
        behaviour=ClientBehaviour(rate=2 * RATE),
    ),
    VerdictScenario(
        "marker",
        "a quiet topic that ends with a transaction marker, which no client commits past",
        topics={"in": ScenarioTopic(flows=(Flow(10 / 24, every=24.0),), transaction=1.0)},
        behaviour=ClientBehaviour(repeats=False),
    ),
    VerdictScenario(
        "transactional",
        "reads committed records of short transactions, and commits in transactions of its own",
        topics={"in": ScenarioTopic(transaction=1.0), "out": ScenarioTopic(flows=())},
        start=(start_transactional_consumer(),),
        # When the broker stops during a commit, librdkafka may wait for ever (see
        # `sandbox.demo.transactional`), and the group is stopped.
        judged_until=BROKER_RESTART_AT,
    ),
    VerdictScenario(
        "some-aborts",
        "commits in transactions, and aborts every third one",
        topics={"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        start=(start_transactional_consumer(),),
        behaviour=ClientBehaviour(abort_every=3),
        judged_until=BROKER_RESTART_AT,
    ),
    VerdictScenario(
        "checkpointed",
        "reads committed records of a producer that commits with each checkpoint, every two minutes",
        topics={"in": ScenarioTopic(transaction=120 / pace.FASTER)},
        start=(start_consumer(isolated=True),),
        judged_from=50.0,
    ),
    VerdictScenario(
        "topic-deleted",
        "the topic is deleted while the group reads it",
        script=(TimedStep(EVENT, (delete_input_topic(),), "deleted"),),
        client_error="UNKNOWN_TOPIC_OR_PART",
    ),
    VerdictScenario(
        "shaded",
        "commits regularly, while the open transaction of another group hides the commits in its offsets partition",
        topics=THREE,
        reserved=True,
    ),
)

OPERATIONS: Final = (
    VerdictScenario(
        "planned-reset",
        "stopped, reset, started again; then it catches up",
        topics={"in": ScenarioTopic(backlog=4_000)},
        script=(
            TimedStep(EVENT, (close_clients(), change_behaviour(rate=10 * RATE))),
            TimedStep(EVENT + 3.0, (reset_offsets(4_000),), "reset"),
            TimedStep(EVENT + 5.0, (start_consumer(),)),
        ),
    ),
    VerdictScenario(
        "reset-forward",
        "stopped in a backlog, set forward past a part of it, started again",
        topics={"in": ScenarioTopic(backlog=9_000)},
        behaviour=ClientBehaviour(rate=1.5 * RATE),
        script=(
            TimedStep(EVENT, (close_clients(),)),
            TimedStep(EVENT + 3.0, (reset_offsets(-6_000),), "reset"),
            TimedStep(EVENT + 5.0, (start_consumer(),)),
        ),
    ),
    VerdictScenario(
        "rolling-restart",
        "three static members are restarted one after the other",
        topics=THREE,
        start=tuple(start_consumer(name, instance=name) for name in ("a", "b", "c")),
        script=_rolling(),
    ),
    VerdictScenario(
        "autoscaling",
        "members join and leave with the load, and every change is a rebalance",
        topics=FOUR,
        script=(
            TimedStep(50.0, (start_consumer("b"),)),
            TimedStep(74.0, (start_consumer("c"),)),
            TimedStep(98.0, (start_consumer("d"),)),
            TimedStep(122.0, (close_clients("d"),)),
            TimedStep(146.0, (close_clients("c"),)),
        ),
    ),
    VerdictScenario(
        "newer-protocol",
        "a group of the newer protocol whose members join and leave",
        topics=FOUR,
        start=(start_consumer("a", kind="consumer"), start_consumer("b", kind="consumer")),
        script=(
            TimedStep(EVENT, (close_clients("b"),)),
            TimedStep(EVENT + 20, (start_consumer("c", kind="consumer"),)),
        ),
    ),
    VerdictScenario(
        "deploy",
        "stopped cleanly while it processes a backlog, and soon started again",
        topics={"in": ScenarioTopic(backlog=9_000)},
        behaviour=ClientBehaviour(rate=3 * RATE),
        script=(TimedStep(EVENT, (close_clients(),)), TimedStep(EVENT + 20 / pace.FASTER, (start_consumer(),))),
    ),
    VerdictScenario(
        "subscription-deploy",
        "a rolling deploy to a version that subscribes to another topic as well",
        topics={"in": ScenarioTopic(2), "new": ScenarioTopic(2)},
        start=(start_consumer("a"), start_consumer("b")),
        script=(
            TimedStep(EVENT, (close_clients("a"), start_consumer("c", topics=("in", "new")))),
            TimedStep(EVENT + pace.ROLLING_DEPLOY / 2, (close_clients("b"), start_consumer("d", topics=("in", "new")))),
        ),
    ),
    VerdictScenario(
        "deleted-offsets",
        "a group without membership has read everything and ended; later its offsets are deleted by a tool",
        topics={"in": ScenarioTopic(flows=(Flow(until=30.0),))},
        start=(start_simple_consumer(),),
        script=(TimedStep(EVENT, (close_clients(),)), TimedStep(EVENT + 600 / pace.FASTER, (delete_group(),))),
    ),
    VerdictScenario(
        "scaled-to-zero",
        "a deploy moves the group to another topic, and when it has read that, it is scaled to zero",
        topics={"in": ScenarioTopic(), "new": ScenarioTopic(flows=(Flow(until=EVENT + 20),))},
        script=(TimedStep(EVENT, (subscribe_to("new"),)), TimedStep(EVENT + 45, (close_clients(),))),
        judged_until=EVENT + 45 + 0.75 * pace.OFFSETS_RETENTION,
    ),
    VerdictScenario(
        "mirrored",
        "another program copies the offsets by the minute, some records behind, and its source comes to rest",
        topics={"in": ScenarioTopic(flows=(Flow(until=EVENT),))},
        start=(start_simple_consumer(),),
        behaviour=ClientBehaviour(every=60 / pace.FASTER, behind=5, repeats=False),
    ),
    VerdictScenario(
        "grown",
        "a partition is added, which the members find at their next metadata refresh",
        start=(start_consumer(refresh=pace.MEMBERSHIP_REFRESH),),
        script=(TimedStep(EVENT, (add_partitions(2),)),),
    ),
)

HEALTHY: Final = (*RHYTHMS, *RECORDS, *OPERATIONS)
