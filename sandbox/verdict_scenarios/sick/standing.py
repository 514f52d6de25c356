"""Groups of which a partition no longer advances, or was never committed, while clients run."""

from __future__ import annotations

from typing import Final

from sandbox.clients.traffic import ClientBehaviour, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    INCOMPLETE_ASSIGNOR,
    AddPartitions,
    ChangeBehaviour,
    CloseClients,
    HangInCommit,
    KeepTransactionOpen,
    StartConsumer,
    StartJavaConsumer,
    StartTransactionalConsumer,
)
from sandbox.verdict_scenarios.scenario import ExpectedVerdict, VerdictScenario
from sandbox.verdict_scenarios.sick.parts import FOUR, ONE, THREE, at_event

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
