"""Groups that are healthy but unusual: none of them may get a verdict of severity warning or critical."""

import itertools
from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios import scenario as do
from sandbox.verdict_scenarios.outages import BROKER_RESTART_AT
from sandbox.verdict_scenarios.scenario import EVENT, TimedStep, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import BATCH, BATCH_TAKES, FOUR, THREE, batch_runs

RESTART_SECONDS: Final = 35 / pace.FASTER
"""Seconds of a restart of a static member."""
BETWEEN_RESTARTS: Final = 12.0
PAUSES: Final = (20.0, 47.0, 31.0, 75.0, 26.0, 58.0)
"""Seconds of production between the commits of a consumer that commits full batches."""


def _joining_batch() -> tuple[TimedStep, ...]:
    starts = [5.0 + BATCH * number for number in range(40)]
    return tuple(
        each
        for start in starts
        for each in (step(start, do.start_consumer()), step(start + BATCH_TAKES, do.close_clients()))
    )


def _rolling() -> tuple[TimedStep, ...]:
    names = ("a", "b", "c")
    leaving = [step(EVENT + BETWEEN_RESTARTS * number, do.close_clients(name)) for number, name in enumerate(names)]
    joining = [
        step(EVENT + BETWEEN_RESTARTS * number + RESTART_SECONDS, do.start_consumer(name, instance=name))
        for number, name in enumerate(names)
    ]
    return tuple(sorted([*leaving, *joining], key=lambda each: each.time))


def _deletes_and_pauses() -> tuple[TimedStep, ...]:
    every, pause = 30 / pace.FASTER, 40 / pace.FASTER
    deletes = [step(10.0 + every * number, do.delete_read_records()) for number in range(40)]
    hangs = step(EVENT, do.change_behaviour(hung=("a",)))
    goes_on = step(EVENT + pause, do.change_behaviour(hung=()))
    return tuple(sorted([*deletes, hangs, goes_on], key=lambda each: each.time))


def _irregular() -> tuple[TimedStep, ...]:
    # Each commit ends a batch: everything is committed, and then nothing until the next batch is full.
    times = itertools.accumulate(itertools.islice(itertools.cycle(PAUSES), 100))
    steps = [time / pace.FASTER for time in times]
    return tuple(
        each
        for time in steps
        for each in (step(time, do.change_behaviour(silent=False)), step(time + 0.5, do.change_behaviour(silent=True)))
    )


RHYTHMS: Final = (
    VerdictScenario(
        "one-of-two-dies",
        "one of two members is killed; when its session ends the other one takes over, within the time of a pause",
        topics=FOUR,
        start=(do.start_java_consumer("a"), do.start_java_consumer("b")),
        script=(step(EVENT, do.kill_client("b")),),
        # The other member takes over at the end of a pause that is no fault; brokers are not as fast as the run.
        true_as_well=("stopped", "poison_record"),
    ),
    VerdictScenario(
        "steady", "reads records as they arrive", topics=THREE, start=(do.start_consumer("a"), do.start_consumer("b"))
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
        script=(step(170.0, do.close_clients()),),
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
        start=(do.start_transactional_consumer(),),
        # When the broker stops during a commit, librdkafka may wait for ever (see
        # `sandbox.demo.transactional`), and the group is stopped.
        judged_until=BROKER_RESTART_AT,
    ),
    VerdictScenario(
        "some-aborts",
        "commits in transactions, and aborts every third one",
        topics={"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        start=(do.start_transactional_consumer(),),
        behaviour=ClientBehaviour(abort_every=3),
        judged_until=BROKER_RESTART_AT,
    ),
    VerdictScenario(
        "checkpointed",
        "reads committed records of a producer that commits with each checkpoint, every two minutes",
        topics={"in": ScenarioTopic(transaction=120 / pace.FASTER)},
        start=(do.start_consumer(isolated=True),),
        judged_from=50.0,
    ),
    VerdictScenario(
        "topic-deleted",
        "the topic is deleted while the group reads it",
        script=(step(EVENT, do.delete_input_topic(), mark="deleted"),),
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
            step(EVENT, do.close_clients(), do.change_behaviour(rate=10 * RATE)),
            step(EVENT + 3.0, do.reset_offsets(4_000), mark="reset"),
            step(EVENT + 5.0, do.start_consumer()),
        ),
    ),
    VerdictScenario(
        "reset-forward",
        "stopped in a backlog, set forward past a part of it, started again",
        topics={"in": ScenarioTopic(backlog=9_000)},
        behaviour=ClientBehaviour(rate=1.5 * RATE),
        script=(
            step(EVENT, do.close_clients()),
            step(EVENT + 3.0, do.reset_offsets(-6_000), mark="reset"),
            step(EVENT + 5.0, do.start_consumer()),
        ),
    ),
    VerdictScenario(
        "rolling-restart",
        "three static members are restarted one after the other",
        topics=THREE,
        start=tuple(do.start_consumer(name, instance=name) for name in ("a", "b", "c")),
        script=_rolling(),
    ),
    VerdictScenario(
        "autoscaling",
        "members join and leave with the load, and every change is a rebalance",
        topics=FOUR,
        script=(
            step(50.0, do.start_consumer("b")),
            step(74.0, do.start_consumer("c")),
            step(98.0, do.start_consumer("d")),
            step(122.0, do.close_clients("d")),
            step(146.0, do.close_clients("c")),
        ),
    ),
    VerdictScenario(
        "newer-protocol",
        "a group of the newer protocol whose members join and leave",
        topics=FOUR,
        start=(do.start_consumer("a", kind="consumer"), do.start_consumer("b", kind="consumer")),
        script=(step(EVENT, do.close_clients("b")), step(EVENT + 20, do.start_consumer("c", kind="consumer"))),
    ),
    VerdictScenario(
        "deploy",
        "stopped cleanly while it processes a backlog, and soon started again",
        topics={"in": ScenarioTopic(backlog=9_000)},
        behaviour=ClientBehaviour(rate=3 * RATE),
        script=(step(EVENT, do.close_clients()), step(EVENT + 20 / pace.FASTER, do.start_consumer())),
    ),
    VerdictScenario(
        "subscription-deploy",
        "a rolling deploy to a version that subscribes to another topic as well",
        topics={"in": ScenarioTopic(2), "new": ScenarioTopic(2)},
        start=(do.start_consumer("a"), do.start_consumer("b")),
        script=(
            step(EVENT, do.close_clients("a"), do.start_consumer("c", topics=("in", "new"))),
            step(EVENT + pace.ROLLING_DEPLOY / 2, do.close_clients("b"), do.start_consumer("d", topics=("in", "new"))),
        ),
    ),
    VerdictScenario(
        "deleted-offsets",
        "a group without membership has read everything and ended; later its offsets are deleted by a tool",
        topics={"in": ScenarioTopic(flows=(Flow(until=30.0),))},
        start=(do.start_simple_consumer(),),
        script=(step(EVENT, do.close_clients()), step(EVENT + 600 / pace.FASTER, do.delete_group())),
    ),
    VerdictScenario(
        "scaled-to-zero",
        "a deploy moves the group to another topic, and when it has read that, it is scaled to zero",
        topics={"in": ScenarioTopic(), "new": ScenarioTopic(flows=(Flow(until=EVENT + 20),))},
        script=(step(EVENT, do.subscribe_to("new")), step(EVENT + 45, do.close_clients())),
        judged_until=EVENT + 45 + 0.75 * pace.OFFSETS_RETENTION,
    ),
    VerdictScenario(
        "mirrored",
        "another program copies the offsets by the minute, some records behind, and its source comes to rest",
        topics={"in": ScenarioTopic(flows=(Flow(until=EVENT),))},
        start=(do.start_simple_consumer(),),
        behaviour=ClientBehaviour(every=60 / pace.FASTER, behind=5, repeats=False),
    ),
    VerdictScenario(
        "grown",
        "a partition is added, which the members find at their next metadata refresh",
        start=(do.start_consumer(refresh=pace.MEMBERSHIP_REFRESH),),
        script=(step(EVENT, do.add_partitions(2)),),
    ),
)

HEALTHY: Final = (*RHYTHMS, *RECORDS, *OPERATIONS)
