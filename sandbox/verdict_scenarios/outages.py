"""What happens to the broker and to the monitor themselves in the play, and the groups that are looked at for it.

All other groups live through it as well: a healthy one must stay so, a sick one must go on being said to be.
"""

from __future__ import annotations

from typing import Final

from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import Join, Leave, Live
from sandbox.verdict_scenarios.scenario import EVENT, At, Expected, Flow, Scenario, Topic
from sandbox.verdict_scenarios.sick import ONE, THREE

BROKER_STOPS: Final = 185.0
MONITOR_STOPS: Final = 222.0
AFTERWARDS: Final = 25.0
"""The play goes on for so long when the monitor is back."""
CUT: Final = "truncated"
"""The scenario whose log is cut while the broker is down."""
LED_BY_TWO: Final = "leader-election"
"""The scenario whose topic has a replica on a second broker, which leads it until that broker is killed."""
LEADER_DIES: Final = 150.0
CUT_SHARE: Final = 0.5
"""This part of the log stays."""

VIOLENT: Final = (
    Scenario("broker-restart", "healthy", "the broker is restarted under a group", THREE, (Join("a"), Join("b"))),
    Scenario("monitor-restart", "healthy", "the monitor is restarted beside a healthy group", THREE, (Join(),)),
    Scenario(
        "still-stalled",
        "sick",
        "the monitor is restarted beside a zombie, and knows it at once",
        ONE,
        (Join(),),
        script=(At(EVENT, (Live({"stuck": (0,)}),), "fault"),),
        expected=(Expected(("stalled",), pace.missed()), Expected(("stalled",), 0.0, "monitor is back")),
    ),
    Scenario(
        CUT,
        "sick",
        "the log loses its end while the broker is down; the committed offset is above it now",
        {"in": Topic(flows=(Flow(until=150.0),))},
        (Join(),),
        script=(At(170.0, (Leave(),)),),
        # Known as soon as the ends are read again.
        expected=(Expected(("unknown",), pace.told(), "broker is back", "the log was cut back"),),
    ),
    Scenario(
        LED_BY_TWO,
        "healthy",
        "the leader of the topic is killed; another replica takes over",
        ONE,
        (Join(),),
    ),
)
