"""The sick groups, each with the verdicts that must be shown and the time from which they can be known."""

from __future__ import annotations

import itertools
from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    INCOMPLETE_ASSIGNOR,
    AddPartitions,
    ChangeBehaviour,
    CloseClients,
    DeleteGroupInUse,
    DeleteRecords,
    HangInCommit,
    KeepTransactionOpen,
    KillClient,
    SeekBack,
    SeekToEnd,
    StartConsumer,
    StartJavaConsumer,
    StartSimpleConsumer,
    StartTransactionalConsumer,
    SubscribeTo,
)
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, TimedStep, VerdictScenario

BATCH: Final = 20.0
"""Seconds between two runs of a batch; an hour of production would be longer than the whole run."""
BATCH_TAKES: Final = 3.0
RETENTION: Final = 60.0
"""Seconds of retention.ms in scenarios about retention."""
SLOWLY: Final = 4.0
"""Offsets per second of a group that loses records to retention."""
OFFSETS_RETENTION: Final = 240.0
"""Seconds after which the broker removes the offsets of an empty group."""
LEFT_AT: Final = 20.0
STORM_EVERY: Final = 1.5
REWIND_EVERY: Final = 8.0
REWIND_BY: Final = 140
"""Less than twice what is written in between, so the client reads most of the time, and reaches the end each time."""
REBALANCES: Final = 7
"""One more than a rolling restart of two members may cause."""


_phases = itertools.cycle((0.0, 1.2, 0.4, 1.6, 0.8))
"""Seconds, spread over a tick: with equal phases all faults would be found equally late."""


def at_event(*actions: object, mark: str = "fault") -> TimedStep:
    """Return a step with these actions at EVENT, shifted by the next phase."""
    return TimedStep(EVENT + next(_phases), actions, mark)  # type: ignore[arg-type] # actions


def batch_runs(until: float) -> tuple[TimedStep, ...]:
    """Return the steps of a batch that processes all records at regular times, until a time of the run."""
    starts = [5.0 + BATCH * number for number in range(100)]
    steps = [
        step
        for start in starts
        if start < until
        for step in (
            TimedStep(start, (ChangeBehaviour({"rate": 400.0}),)),
            TimedStep(start + BATCH_TAKES, (ChangeBehaviour({"rate": 0.0}),), "last run"),
        )
    ]
    return tuple(steps)


ONE: Final = {"in": ScenarioTopic()}
THREE: Final = {"in": ScenarioTopic(3)}
FOUR: Final = {"in": ScenarioTopic(4)}

SILENT: Final = (
    VerdictScenario(
        "hung",
        "sick",
        "a process hangs while its heartbeats go on",
        THREE,
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"hung": ("a",)})),),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed()),
            ExpectedVerdict(("stopped",), pace.certainly_alive(), sentence_contains="still sends heartbeats"),
        ),
        # It blocks the rebalance after a restart of the broker, and is removed in the end.
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
    VerdictScenario(
        "one-of-two-hangs",
        "sick",
        "one of two members hangs while its heartbeats go on; the finding names it",
        FOUR,
        (StartConsumer("a"), StartConsumer("b")),
        script=(at_event(ChangeBehaviour({"hung": ("b",)})),),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), sentence_contains="Owner of all of them: client "),
            ExpectedVerdict(("stopped",), pace.certainly_alive(), sentence_contains="still sends heartbeats"),
        ),
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
    VerdictScenario(
        "dead-process",
        "sick",
        "the only process is killed without a leave request; its session ends later",
        ONE,
        (StartJavaConsumer(),),
        script=(at_event(KillClient()),),
        # The session ends before a pause would be too long: until then it may be one.
        expected=(ExpectedVerdict(("no_members",), pace.session_and_restart()),),
        true_as_well=("stopped", "expiring"),
    ),
    VerdictScenario(
        "left-members",
        "sick",
        "both members leave the group, and no member joins again",
        THREE,
        (StartConsumer("a"), StartConsumer("b")),
        script=(at_event(CloseClients(("a", "b"))),),
        expected=(ExpectedVerdict(("no_members",), pace.missed()),),
        true_as_well=("expiring",),
    ),
    VerdictScenario(
        "simple-dead",
        "sick",
        "the process of a group without membership ends",
        ONE,
        (StartSimpleConsumer(),),
        script=(at_event(CloseClients()),),
        expected=(ExpectedVerdict(("stopped",), pace.missed()),),
        true_as_well=("expiring",),
    ),
    VerdictScenario(
        "batch-missing",
        "sick",
        "a regular batch no longer runs; its member stays",
        ONE,
        (StartConsumer(),),
        ClientBehaviour(rate=0.0, repeats=False),
        script=batch_runs(100.0),
        expected=(ExpectedVerdict(("stopped",), pace.missed_batches(BATCH), "last run"),),
        judged_from=50.0,
    ),
    VerdictScenario(
        "expiring",
        "sick",
        "all members have left, and in the end the offsets are about to expire",
        ONE,
        (StartConsumer(),),
        script=(TimedStep(LEFT_AT, (CloseClients(),), "fault"),),
        # A quarter of the retention time of the offsets is left; the time is the broker's setting.
        expected=(
            ExpectedVerdict(("no_members",), pace.missed()),
            ExpectedVerdict(("expiring",), 0.75 * OFFSETS_RETENTION),
        ),
    ),
)

STANDING: Final = (
    VerdictScenario(
        "zombie",
        "sick",
        "commits arrive, but the offsets do not advance",
        THREE,
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"stuck": (0, 1, 2)})),),
        expected=(ExpectedVerdict(("stalled",), pace.missed()),),
    ),
    VerdictScenario(
        "poison",
        "sick",
        "a record of one partition cannot be processed; the partition is no longer committed",
        FOUR,
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"stuck": (3,), "repeats": False})),),
        expected=(ExpectedVerdict(("poison_record",), pace.missed()),),
    ),
    VerdictScenario(
        "paused",
        "sick",
        "one partition is paused, and its unchanged offset is committed repeatedly",
        THREE,
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"stuck": (2,)})),),
        expected=(ExpectedVerdict(("poison_record",), pace.missed()),),
    ),
    VerdictScenario(
        "open-transaction",
        "sick",
        "a producer leaves its transaction open, and a group that reads committed records waits at it",
        {"in": ScenarioTopic(transaction=1.0)},
        (StartConsumer(isolated=True),),
        script=(at_event(KeepTransactionOpen()),),
        expected=(ExpectedVerdict(("held_back",), pace.missed()),),
    ),
    VerdictScenario(
        "hanging-commit",
        "sick",
        "the transaction with the group's own offsets stays open",
        {"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        (StartTransactionalConsumer(),),
        script=(at_event(HangInCommit()),),
        expected=(ExpectedVerdict(("stopped", "held_back"), pace.hidden()),),
        reserved=True,
    ),
    VerdictScenario(
        "aborting",
        "sick",
        "a client reads and produces, and aborts every transaction with its offsets",
        {"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        (StartTransactionalConsumer(),),
        script=(at_event(ChangeBehaviour({"abort_every": 1})),),
        expected=(ExpectedVerdict(("aborting",), pace.missed(), sentence_contains="was aborted"),),
        # When the broker stops during a commit, librdkafka may wait for ever (see `sandbox.demo.transactional`).
        true_as_well=("stopped",),
    ),
    VerdictScenario(
        "orphan",
        "sick",
        "after a deployment an assignor leaves one partition unassigned",
        THREE,
        (StartJavaConsumer("a"),),
        script=(at_event(CloseClients(), StartJavaConsumer("b", INCOMPLETE_ASSIGNOR)),),
        # A partition may be unassigned for as long as a restart takes.
        expected=(ExpectedVerdict(("unassigned",), pace.longer_than_restart()),),
    ),
    VerdictScenario(
        "never-committed",
        "sick",
        "a partition is added, gets records and is assigned to a member that never commits it",
        ONE,
        (StartConsumer(),),
        ClientBehaviour(skipped=(1,)),
        script=(at_event(AddPartitions(2)),),
        # Clients look for new partitions every five minutes: until then no new partition has commits.
        expected=(ExpectedVerdict(("never_committed",), pace.FIRST_COMMIT),),
    ),
)

MOVING: Final = (
    VerdictScenario(
        "falling-behind",
        "sick",
        "a group reads four fifths of what is written",
        ONE,
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"rate": 0.8 * RATE})),),
        expected=(ExpectedVerdict(("falling_behind",), pace.drifted()),),
    ),
    VerdictScenario(
        "skewed",
        "sick",
        "one of four partitions suddenly gets far more records than its member can process",
        {"in": ScenarioTopic(4, (Flow(), Flow(160.0, start=EVENT, partitions=(3,))))},
        (StartConsumer(),),
        ClientBehaviour(rate=1.3 * RATE),
        script=(at_event(),),
        expected=(ExpectedVerdict(("skewed",), pace.unread_too_long(written=RATE + 160.0, read=1.3 * RATE)),),
        true_as_well=("falling_behind",),
    ),
    VerdictScenario(
        "rewound",
        "sick",
        "a running consumer goes back by half an hour and then reads hardly faster than records are written",
        {"in": ScenarioTopic(backlog=9_000)},
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"rate": 1.1 * RATE}), SeekBack(7_200)),),
        expected=(ExpectedVerdict(("rewound",), pace.next_sign()),),
    ),
    VerdictScenario(
        "rewinding",
        "sick",
        "one client seeks back again and again, and reads the records again at twice the rate of the producer",
        {"in": ScenarioTopic(backlog=2_000)},
        (StartConsumer(),),
        script=(
            TimedStep(EVENT - 1, (ChangeBehaviour({"rate": 2 * RATE}),)),
            *(
                TimedStep(
                    EVENT + REWIND_EVERY * number, (SeekBack(REWIND_BY),), {0: "first step", 2: "fault"}.get(number)
                )
                for number in range(24)
            ),
        ),
        # After each of the first two steps it is rewound until it has read the records again. The third step
        # distinguishes it from a group that goes back once, and no step looks like a second client.
        expected=(ExpectedVerdict(("rewound",), pace.next_sign()),),
    ),
    VerdictScenario(
        "overtaken",
        "sick",
        "a group becomes so slow that retention deletes unread records",
        {"in": ScenarioTopic(config={"retention.ms": str(int(RETENTION * 1_000)), "segment.ms": "6000"})},
        (StartConsumer(),),
        script=(at_event(ChangeBehaviour({"rate": SLOWLY})),),
        expected=(
            ExpectedVerdict(("falling_behind", "losing_data"), pace.drifted()),
            ExpectedVerdict(("losing_data",), pace.nearly_expired(RETENTION, written=RATE, read=SLOWLY)),
        ),
    ),
    VerdictScenario(
        "lost",
        "sick",
        "a group hangs, and later unread records are deleted",
        ONE,
        (StartConsumer(),),
        script=(
            at_event(ChangeBehaviour({"hung": ("a",)}), mark="hang"),
            TimedStep(EVENT + 30, (DeleteRecords(200),), "fault"),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign()),
        ),
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
)

RESTLESS: Final = (
    VerdictScenario(
        "storm",
        "sick",
        "a member joins and leaves continually, and the group makes no progress",
        THREE,
        (StartConsumer("a"),),
        script=(
            TimedStep(EVENT, (ChangeBehaviour({"silent": True}),), "silence"),
            *(
                TimedStep(
                    EVENT + STORM_EVERY * number,
                    (StartConsumer("b"),) if number % 2 == 0 else (CloseClients(("b",)),),
                    "fault" if number == REBALANCES - 1 else None,
                )
                for number in range(60)
            ),
        ),
        # One rebalance more than a rolling restart causes.
        expected=(ExpectedVerdict(("rebalance_storm",), pace.next_sign()),),
        true_as_well=("stopped",),
    ),
    VerdictScenario(
        "endless-rebalance",
        "sick",
        "one member hangs, and a rebalance waits for it",
        THREE,
        (StartConsumer("a"), StartConsumer("b")),
        script=(at_event(ChangeBehaviour({"hung": ("a",)}), StartConsumer("c")),),
        # Normal rebalances may be long: slow members may need a minute to finish their records.
        expected=(ExpectedVerdict(("rebalancing_too_long",), pace.REBALANCE),),
        true_as_well=("stopped", "poison_record"),
    ),
    VerdictScenario(
        "abandoned",
        "sick",
        "the group subscribes to another topic; its offsets of the previous one stay",
        {"in": ScenarioTopic(), "new": ScenarioTopic()},
        (StartConsumer(),),
        script=(at_event(SubscribeTo("new")),),
        # A group that changes its subscription may restore it within the time of a restart.
        expected=(ExpectedVerdict(("abandoned",), pace.longer_than_restart()),),
    ),
)

SHARED: Final = (
    VerdictScenario(
        "two-applications",
        "sick",
        "two applications have the same group id and subscribe to different topics",
        {"in": ScenarioTopic(2), "other": ScenarioTopic(2)},
        (StartConsumer("a"),),
        script=(TimedStep(5.0, (StartConsumer("b", topics=("other",)),), "fault"),),
        expected=(ExpectedVerdict(("two_applications",), pace.ROLLING_DEPLOY, sentence_contains="different topics"),),
    ),
    VerdictScenario(
        "two-committers",
        "sick",
        "a second consumer that assigns all partitions to itself commits for the same group, from the start of the log",
        {"in": ScenarioTopic(backlog=6_000)},
        (StartSimpleConsumer("a"),),
        ClientBehaviour(rate=400.0),
        script=(at_event(ChangeBehaviour({"rate": 1.5 * RATE}), StartSimpleConsumer("b")),),
        expected=(ExpectedVerdict(("two_committers",), pace.taken_turns()),),
        true_as_well=("rewound",),
    ),
)

OFFSETS: Final = (
    VerdictScenario(
        "forgotten",
        "sick",
        "the offsets of a group without membership are removed while its consumer is running, which commits them again",
        THREE,
        (StartSimpleConsumer(),),
        script=(at_event(DeleteGroupInUse()),),
        expected=(ExpectedVerdict(("forgotten",), pace.next_sign()),),
    ),
    VerdictScenario(
        "left-out",
        "sick",
        "a partition is added to a topic that a consumer has assigned to itself; no client reads the new one",
        THREE,
        (StartSimpleConsumer(),),
        script=(at_event(AddPartitions(4)),),
        expected=(ExpectedVerdict(("never_committed",), pace.FIRST_COMMIT, sentence_contains="3 other partitions"),),
    ),
    VerdictScenario(
        "commits-last-read",
        "sick",
        "commits the offset of the last record it has read, and the producers pause twice: a notice, never an alarm",
        {"in": ScenarioTopic(2, (Flow(until=EVENT), Flow(start=100.0, until=130.0), Flow(start=160.0)))},
        (StartConsumer(),),
        ClientBehaviour(behind=1),
        script=(TimedStep(EVENT, (), "fault"),),
        expected=(ExpectedVerdict(("commits_last_read",), pace.rested()),),
    ),
    VerdictScenario(
        "cannot-start",
        "sick",
        "retention removes the next record of a group, and each new process dies of that",
        ONE,
        (StartConsumer(),),
        script=(
            at_event(ChangeBehaviour({"hung": ("a",)}), mark="hang"),
            TimedStep(EVENT + 25, (DeleteRecords(200),), "loss"),
            TimedStep(EVENT + 30, (CloseClients(), ChangeBehaviour({"hung": (), "silent": True}))),
            *(
                TimedStep(
                    EVENT + 32 + 4.0 * number,
                    (StartConsumer("b"),) if number % 2 == 0 else (CloseClients(("b",)),),
                    "fault" if number == 5 else None,
                )
                for number in range(24)
            ),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign(), "loss"),
            ExpectedVerdict(("losing_data",), pace.next_sign(), "fault", "does not get past that"),
        ),
        true_as_well=("no_members", "rebalance_storm"),
    ),
    VerdictScenario(
        "below-log-start",
        "sick",
        "the last records of a partition are of no use to the group, which does not commit them, and they are deleted",
        {"in": ScenarioTopic(2, (Flow(until=EVENT, partitions=(0,)), Flow(partitions=(1,))))},
        (StartConsumer(),),
        script=(
            TimedStep(EVENT - 5, (ChangeBehaviour({"skipped": (0,)}),), "silence"),
            TimedStep(EVENT + 2, (DeleteRecords(0),), "fault"),
        ),
        expected=(ExpectedVerdict(("below_log_start",), pace.next_sign()),),
        true_as_well=("poison_record",),
    ),
    VerdictScenario(
        "skipped",
        "sick",
        "a group works off a backlog; after a fault in its code it begins at the end of the partition",
        {"in": ScenarioTopic(backlog=9_000)},
        (StartConsumer(),),
        ClientBehaviour(rate=1.5 * RATE),
        script=(at_event(SeekToEnd()),),
        expected=(ExpectedVerdict(("skipped",), pace.next_sign()),),
    ),
    VerdictScenario(
        "skipped-after-retention",
        "sick",
        "a group hangs until its records are deleted; its process is replaced by one that begins at the end",
        ONE,
        (StartConsumer(),),
        script=(
            at_event(ChangeBehaviour({"hung": ("a",)}), mark="hang"),
            TimedStep(EVENT + 30, (DeleteRecords(400),), "loss"),
            TimedStep(
                EVENT + 70, (CloseClients(), ChangeBehaviour({"hung": ()}), StartConsumer("b", reset="latest")), "fault"
            ),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign(), "loss"),
            ExpectedVerdict(("skipped",), 2 * pace.next_sign()),
        ),
        true_as_well=("no_members",),
    ),
)

SICK: Final = (*SILENT, *STANDING, *MOVING, *RESTLESS, *SHARED, *OFFSETS)
