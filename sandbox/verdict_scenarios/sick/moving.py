"""Groups that commit, and are too slow, go back, or lose records to retention."""

from typing import Final

from sandbox.clients.traffic import RATE, ClientBehaviour, Flow, ScenarioTopic
from sandbox.verdict_scenarios import actions as do
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import at_event

RETENTION: Final = 60.0
"""Seconds of retention.ms in scenarios about retention."""
SLOWLY: Final = 4.0
"""Offsets per second of a group that loses records to retention."""
REWIND_EVERY: Final = 8.0
REWIND_BY: Final = 140
"""Less than twice what is written in between, so the client reads most of the time, and reaches the end each time."""

MOVING: Final = (
    VerdictScenario(
        "falling-behind",
        "a group reads four fifths of what is written",
        script=(at_event(do.change_behaviour(rate=0.8 * RATE)),),
        expected=(ExpectedVerdict(("falling_behind",), pace.drifted()),),
    ),
    VerdictScenario(
        "skewed",
        "one of four partitions suddenly gets far more records than its member can process",
        topics={"in": ScenarioTopic(4, (Flow(), Flow(160.0, start=EVENT, partitions=(3,))))},
        behaviour=ClientBehaviour(rate=1.3 * RATE),
        script=(at_event(),),
        expected=(ExpectedVerdict(("skewed",), pace.unread_too_long(written=RATE + 160.0, read=1.3 * RATE)),),
        true_as_well=("falling_behind",),
    ),
    VerdictScenario(
        "rewound",
        "a running consumer goes back by half an hour and then reads hardly faster than records are written",
        topics={"in": ScenarioTopic(backlog=9_000)},
        script=(at_event(do.change_behaviour(rate=1.1 * RATE), do.seek_back(7_200)),),
        expected=(ExpectedVerdict(("rewound",), pace.next_sign()),),
    ),
    VerdictScenario(
        "rewinding",
        "one client seeks back again and again, and reads the records again at twice the rate of the producer",
        topics={"in": ScenarioTopic(backlog=2_000)},
        script=(
            step(EVENT - 1, do.change_behaviour(rate=2 * RATE)),
            *(
                step(
                    EVENT + REWIND_EVERY * number,
                    do.seek_back(REWIND_BY),
                    mark={0: "first step", 2: "fault"}.get(number),
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
        "a group becomes so slow that retention deletes unread records",
        topics={"in": ScenarioTopic(config={"retention.ms": str(int(RETENTION * 1_000)), "segment.ms": "6000"})},
        script=(at_event(do.change_behaviour(rate=SLOWLY)),),
        expected=(
            ExpectedVerdict(("falling_behind", "losing_data"), pace.drifted()),
            ExpectedVerdict(("losing_data",), pace.nearly_expired(RETENTION, written=RATE, read=SLOWLY)),
        ),
    ),
    VerdictScenario(
        "lost",
        "a group hangs, and later unread records are deleted",
        script=(
            at_event(do.change_behaviour(hung=("a",)), mark="hang"),
            step(EVENT + 30, do.delete_records(200), mark="fault"),
        ),
        expected=(
            ExpectedVerdict(("stopped",), pace.missed(), "hang"),
            ExpectedVerdict(("losing_data",), pace.next_sign()),
        ),
        true_as_well=("rebalancing_too_long", "no_members", "expiring"),
    ),
)
