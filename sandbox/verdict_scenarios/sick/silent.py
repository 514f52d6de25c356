"""Groups whose commits end: hung and killed processes, members that leave, a batch that no longer runs."""

from typing import Final

from sandbox.clients.traffic import ClientBehaviour
from sandbox.verdict_scenarios import actions as do
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.scenario import ExpectedVerdict, VerdictScenario, step
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
