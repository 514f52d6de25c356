"""The outages of broker, leader and monitor in a run, and the groups that are examined because of them.

All other groups are running too: a healthy one must stay so, a sick one must keep its verdict.
"""

from typing import Final

from sandbox.clients.traffic import Flow, ScenarioTopic
from sandbox.verdict_scenarios import pace
from sandbox.verdict_scenarios import scenario as do
from sandbox.verdict_scenarios.scenario import EVENT, ExpectedVerdict, VerdictScenario, step
from sandbox.verdict_scenarios.sick.parts import THREE

BROKER_RESTART_AT: Final = 185.0
MONITOR_RESTART_AT: Final = 222.0
RUN_AFTER_MONITOR_RESTART: Final = 25.0
"""Seconds of the run after the restart of the monitor."""
TRUNCATED: Final = "truncated"
"""The scenario whose log is truncated while the broker is down."""
LEADER_ELECTION: Final = "leader-election"
"""The scenario whose topic has a second replica, on the broker that leads it until it is killed."""
NO_LEADER: Final = "no-leader"
"""The scenario whose topic has its only replica on that broker."""
LEADER_KILLED_AT: Final = 150.0
KEPT_SHARE: Final = 0.5
"""The share of the log that remains."""

OUTAGES: Final = (
    VerdictScenario(
        "broker-restart",
        "the broker is restarted while a group reads",
        topics=THREE,
        start=(do.start_consumer("a"), do.start_consumer("b")),
    ),
    VerdictScenario("monitor-restart", "the monitor is restarted while a healthy group reads", topics=THREE),
    VerdictScenario(
        "still-stalled",
        "the monitor is restarted while a group is stalled, and shows that at once",
        script=(step(EVENT, do.change_behaviour(stuck=(0,)), mark="fault"),),
        expected=(ExpectedVerdict(("stalled",), pace.missed()), ExpectedVerdict(("stalled",), 0.0, "monitor is back")),
    ),
    VerdictScenario(
        TRUNCATED,
        "the log loses its end while the broker is down; the committed offset is above the end offset now",
        topics={"in": ScenarioTopic(flows=(Flow(until=150.0),))},
        script=(step(170.0, do.close_clients()),),
        # Known when the end offsets are read again.
        expected=(ExpectedVerdict(("truncated",), pace.next_sign(), "broker is back", "The log was cut back"),),
    ),
    VerdictScenario(
        NO_LEADER,
        "the only replica of the topic is on a broker that is killed: the partition has no leader",
        # An election, and the restart of a broker, leave a partition without a leader for as long as a restart takes.
        expected=(ExpectedVerdict(("no_leader",), pace.longer_than_restart(), "leader dies"),),
        # The restart of the other broker ends the session of its member.
        true_as_well=("no_members",),
    ),
    VerdictScenario(LEADER_ELECTION, "the leader of the topic is killed; another replica takes over"),
)
