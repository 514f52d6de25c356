"""Groups that stand still: hung, killed, left, a batch that no longer runs, or a partition that does not advance."""

from typing import Final

from sandbox.clients.traffic import ClientBehaviour, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios import scenario as do
from sandbox.verdict_scenarios.scenario import INCOMPLETE_ASSIGNOR, ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import BATCH, FOUR, THREE, at_event, batch_runs

LEFT_AT: Final = 20.0

SILENT: Final = (
    VerdictScenario(
        "hung",
        "a process hangs while its heartbeats go on",
        topics=THREE,
        script=(at_event(do.change_behaviour(hung=("a",))),),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed()),
            ExpectedVerdict(("stopped",), pace.certainly_alive(), sentence_contains="still sends heartbeats"),
        ),
        # It blocks the rebalance after a restart of the broker, and is removed in the end.
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
    VerdictScenario(
        "one-of-two-hangs",
        "one of two members hangs while its heartbeats go on; the finding names it",
        topics=FOUR,
        start=(do.start_consumer("a"), do.start_consumer("b")),
        script=(at_event(do.change_behaviour(hung=("b",))),),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), sentence_contains="Owner of all of them: client "),
            ExpectedVerdict(("stopped",), pace.certainly_alive(), sentence_contains="still sends heartbeats"),
        ),
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
    VerdictScenario(
        "dead-process",
        "the only process is killed without a leave request; its session ends later",
        start=(do.start_java_consumer(),),
        script=(at_event(do.kill_client()),),
        # The session ends before a pause would be too long: until then it may be one.
        expected=(ExpectedVerdict(("no_members",), pace.session_and_restart()),),
        true_as_well=("stopped", "expiring"),
    ),
    VerdictScenario(
        "left-members",
        "both members leave the group, and no member joins again",
        topics=THREE,
        start=(do.start_consumer("a"), do.start_consumer("b")),
        script=(at_event(do.close_clients("a", "b")),),
        expected=(ExpectedVerdict(("no_members",), pace.missed()),),
        true_as_well=("expiring",),
    ),
    VerdictScenario(
        "simple-dead",
        "the process of a group without membership ends",
        start=(do.start_simple_consumer(),),
        script=(at_event(do.close_clients()),),
        expected=(ExpectedVerdict(("stopped",), pace.missed()),),
        true_as_well=("expiring",),
    ),
    VerdictScenario(
        "batch-missing",
        "a regular batch no longer runs; its member stays",
        behaviour=ClientBehaviour(rate=0.0, repeats=False),
        script=batch_runs(100.0),
        expected=(ExpectedVerdict(("stopped",), pace.missed_batches(BATCH), "last run"),),
        judged_from=50.0,
    ),
    VerdictScenario(
        "expiring",
        "all members have left, and in the end the offsets are about to expire",
        script=(step(LEFT_AT, do.close_clients(), mark="fault"),),
        # A quarter of the retention time of the offsets is left; the time is the broker's setting.
        expected=(
            ExpectedVerdict(("no_members",), pace.missed()),
            ExpectedVerdict(("expiring",), 0.75 * pace.OFFSETS_RETENTION),
        ),
    ),
)


STANDING: Final = (
    VerdictScenario(
        "zombie",
        "commits arrive, but the offsets do not advance",
        topics=THREE,
        script=(at_event(do.change_behaviour(stuck=(0, 1, 2))),),
        expected=(ExpectedVerdict(("stalled",), pace.missed()),),
    ),
    VerdictScenario(
        "poison",
        "a record of one partition cannot be processed; the partition is no longer committed",
        topics=FOUR,
        script=(at_event(do.change_behaviour(stuck=(3,), repeats=False)),),
        expected=(ExpectedVerdict(("poison_record",), pace.missed()),),
    ),
    VerdictScenario(
        "paused",
        "one partition is paused, and its unchanged offset is committed repeatedly",
        topics=THREE,
        script=(at_event(do.change_behaviour(stuck=(2,))),),
        expected=(ExpectedVerdict(("poison_record",), pace.missed()),),
    ),
    VerdictScenario(
        "open-transaction",
        "a producer leaves its transaction open, and a group that reads committed records waits at it",
        topics={"in": ScenarioTopic(transaction=1.0)},
        start=(do.start_consumer(isolated=True),),
        script=(at_event(do.keep_transaction_open()),),
        expected=(ExpectedVerdict(("held_back",), pace.missed()),),
    ),
    VerdictScenario(
        "hanging-commit",
        "the transaction with the group's own offsets stays open",
        topics={"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        start=(do.start_transactional_consumer(),),
        script=(at_event(do.hang_in_commit()),),
        expected=(ExpectedVerdict(("stopped", "held_back"), pace.hidden()),),
        reserved=True,
    ),
    VerdictScenario(
        "aborting",
        "a client reads and produces, and aborts every transaction with its offsets",
        topics={"in": ScenarioTopic(), "out": ScenarioTopic(flows=())},
        start=(do.start_transactional_consumer(),),
        script=(at_event(do.change_behaviour(abort_every=1)),),
        expected=(ExpectedVerdict(("aborting",), pace.missed(), sentence_contains="was aborted"),),
        # When the broker stops during a commit, librdkafka may wait for ever (see `sandbox.demo.transactional`).
        true_as_well=("stopped",),
    ),
    VerdictScenario(
        "orphan",
        "after a deployment an assignor leaves one partition unassigned",
        topics=THREE,
        start=(do.start_java_consumer("a"),),
        script=(at_event(do.close_clients(), do.start_java_consumer("b", INCOMPLETE_ASSIGNOR)),),
        # A partition may be unassigned for as long as a restart takes.
        expected=(ExpectedVerdict(("unassigned",), pace.longer_than_restart()),),
    ),
    VerdictScenario(
        "never-committed",
        "a partition is added, gets records and is assigned to a member that never commits it",
        behaviour=ClientBehaviour(skipped=(1,)),
        script=(at_event(do.add_partitions(2)),),
        # Clients look for new partitions every five minutes: until then no new partition has commits.
        expected=(ExpectedVerdict(("never_committed",), pace.FIRST_COMMIT),),
    ),
)
