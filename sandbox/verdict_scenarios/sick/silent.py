"""Groups whose commits end: hung and killed processes, members that leave, a batch that no longer runs."""

from __future__ import annotations

from typing import Final

from sandbox.clients.traffic import ClientBehaviour
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import (
    ChangeBehaviour,
    CloseClients,
    KillClient,
    StartConsumer,
    StartJavaConsumer,
    StartSimpleConsumer,
)
from sandbox.verdict_scenarios.scenario import ExpectedVerdict, TimedStep, VerdictScenario
from sandbox.verdict_scenarios.sick.parts import BATCH, FOUR, ONE, THREE, at_event, batch_runs

LEFT_AT: Final = 20.0

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
            ExpectedVerdict(("expiring",), 0.75 * pace.OFFSETS_RETENTION),
        ),
    ),
)
