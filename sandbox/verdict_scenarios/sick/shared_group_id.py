"""Groups whose group id is used by two applications or two clients."""

from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, ScenarioTopic
from sandbox.verdict_scenarios import actions as do
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.scenario import ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import at_event

SHARED: Final = (
    VerdictScenario(
        "two-applications",
        "two applications have the same group id and subscribe to different topics",
        topics={"in": ScenarioTopic(2), "other": ScenarioTopic(2)},
        # Not at the beginning: all groups of the run join at once, and the monitor may read that ticks later.
        script=(step(20.0, do.start_consumer("b", topics=("other",)), mark="fault"),),
        expected=(ExpectedVerdict(("two_applications",), pace.ROLLING_DEPLOY, sentence_contains="different topics"),),
    ),
    VerdictScenario(
        "two-committers",
        "a second consumer that assigns all partitions to itself commits for the same group, from the start of the log",
        topics={"in": ScenarioTopic(backlog=6_000)},
        start=(do.start_simple_consumer("a"),),
        behaviour=ClientBehaviour(rate=400.0),
        script=(at_event(do.change_behaviour(rate=1.5 * RATE), do.start_simple_consumer("b")),),
        expected=(ExpectedVerdict(("two_committers",), pace.taken_turns()),),
        true_as_well=("rewound",),
    ),
)
