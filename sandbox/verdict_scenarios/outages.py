"""What happens to the broker and to the monitor themselves in the play, and the groups that are looked at for it.

All other groups live through it as well: a healthy one must stay so, a sick one must go on being said to be.
"""

from __future__ import annotations

from typing import Final

from sandbox.clients.traffic import Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios.actions import ChangeBehaviour, CloseClients, StartConsumer
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, TimedStep, VerdictScenario
from sandbox.verdict_scenarios.sick import ONE, THREE

BROKER_RESTART_AT: Final = 185.0
MONITOR_RESTART_AT: Final = 222.0
RUN_AFTER_MONITOR_RESTART: Final = 25.0
"""The play goes on for so long when the monitor is back."""
TRUNCATED: Final = "truncated"
"""The scenario whose log is cut while the broker is down."""
LEADER_ELECTION: Final = "leader-election"
"""The scenario whose topic has a replica on a second broker, which leads it until that broker is killed."""
LEADER_KILLED_AT: Final = 150.0
KEPT_SHARE: Final = 0.5
"""This part of the log stays."""

OUTAGES: Final = (
    VerdictScenario(
        "broker-restart",
        "healthy",
        "the broker is restarted under a group",
        THREE,
        (StartConsumer("a"), StartConsumer("b")),
    ),
    VerdictScenario(
        "monitor-restart", "healthy", "the monitor is restarted beside a healthy group", THREE, (StartConsumer(),)
    ),
    VerdictScenario(
        "still-stalled",
        "sick",
        "the monitor is restarted beside a zombie, and knows it at once",
        ONE,
        (StartConsumer(),),
        script=(TimedStep(EVENT, (ChangeBehaviour({"stuck": (0,)}),), "fault"),),
        expected=(ExpectedVerdict(("stalled",), pace.missed()), ExpectedVerdict(("stalled",), 0.0, "monitor is back")),
    ),
    VerdictScenario(
        TRUNCATED,
        "sick",
        "the log loses its end while the broker is down; the committed offset is above it now",
        {"in": ScenarioTopic(flows=(Flow(until=150.0),))},
        (StartConsumer(),),
        script=(TimedStep(170.0, (CloseClients(),)),),
        # Known as soon as the ends are read again.
        expected=(ExpectedVerdict(("unknown",), pace.next_sign(), "broker is back", "the log was cut back"),),
    ),
    VerdictScenario(
        LEADER_ELECTION,
        "healthy",
        "the leader of the topic is killed; another replica takes over",
        ONE,
        (StartConsumer(),),
    ),
)
