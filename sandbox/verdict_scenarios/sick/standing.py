"""Groups of which a partition no longer advances, or was never committed, while clients run."""

from typing import Final

from sandbox.clients.traffic import ClientBehaviour, ScenarioTopic
from sandbox.verdict_scenarios import actions as do
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import INCOMPLETE_ASSIGNOR
from sandbox.verdict_scenarios.scenario import ExpectedVerdict, VerdictScenario
from sandbox.verdict_scenarios.sick.parts import FOUR, THREE, at_event

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
