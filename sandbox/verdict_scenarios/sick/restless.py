"""Groups whose membership, subscription or group id is the fault."""

from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios import scenario as do
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import THREE, at_event

STORM_EVERY: Final = 1.5
REBALANCES: Final = 7
"""One more than a rolling restart of two members may cause."""

RESTLESS: Final = (
    VerdictScenario(
        "storm",
        "a member joins and leaves continually, and the group makes no progress",
        topics=THREE,
        script=(
            step(EVENT, do.change_behaviour(silent=True), mark="silence"),
            *(
                step(
                    EVENT + STORM_EVERY * number,
                    do.start_consumer("b") if number % 2 == 0 else do.close_clients("b"),
                    mark="fault" if number == REBALANCES - 1 else None,
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
        "one member hangs, and a rebalance waits for it",
        topics=THREE,
        start=(do.start_consumer("a"), do.start_consumer("b")),
        script=(at_event(do.change_behaviour(hung=("a",)), do.start_consumer("c")),),
        # Normal rebalances may be long: slow members may need a minute to finish their records.
        expected=(ExpectedVerdict(("rebalancing_too_long",), pace.REBALANCE),),
        true_as_well=("stopped", "poison_record"),
    ),
    VerdictScenario(
        "abandoned",
        "the group subscribes to another topic; its offsets of the previous one stay",
        topics={"in": ScenarioTopic(), "new": ScenarioTopic()},
        script=(at_event(do.subscribe_to("new")),),
        # A group that changes its subscription may restore it within the time of a restart.
        expected=(ExpectedVerdict(("abandoned",), pace.longer_than_restart()),),
    ),
)


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
