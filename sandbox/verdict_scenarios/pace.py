"""How fast the play goes, and from when on a fault can be known: the two things that every number in it rests on.

All times of the monitor are divided by `FASTER`: a tick of the play is a tick of production, only shorter. Only what
cannot be hurried is not: the trigger of Spark, and what the brokers and clients themselves take.
"""

from __future__ import annotations

from typing import Final

from stream.health.limits import HealthLimits
from stream.tick.lookups.budget import LookupLimits

FASTER: Final = 5
"""One second of the play stands for so many of production."""
TICK: Final = HealthLimits().tick / 1_000 / FASTER
"""Seconds between two evaluations."""
SLOT: Final = HealthLimits().slot / 1_000 / FASTER
"""Seconds that a slot of the commit window holds."""
COMMIT: Final = 5 / FASTER
"""Seconds between the commits of a client as it comes from the shelf (`auto.commit.interval.ms`)."""
RESTART: Final = HealthLimits().restart / 1_000 / FASTER
FIRST_COMMIT: Final = HealthLimits().first_commit / 1_000 / FASTER
REBALANCE: Final = HealthLimits().rebalance / 1_000 / FASTER
SESSION: Final = 45 / FASTER
"""Seconds after which a member that says nothing is missed (`session.timeout.ms`)."""
HEARTBEAT: Final = 3 / FASTER
MEMBERSHIP_REFRESH: Final = 240 / FASTER
"""Seconds after which a consumer looks for new partitions; they look every five minutes, so four on an average day."""
_SETTINGS: Final = {
    "restart_grace": "restart",
    "static_restart_grace": "static_restart",
    "rebalance_limit": "rebalance",
    "storm_window": "storm",
    "first_commit_grace": "first_commit",
    "loss_notice": "loss",
    "expiry_notice": "expiry",
}
"""Option of the section `health` -> limit; tick and slot follow from the job's options."""


def limits() -> dict[str, float]:
    """Give the limits of the play in seconds, by the names of their options."""
    return {option: getattr(HealthLimits(), name) / 1_000 / FASTER for option, name in _SETTINGS.items()}


# --- from when on it can be known, in seconds after the fault, by one who sees every commit and the ends at every tick


def missed(every: float = COMMIT) -> float:
    """Wait until three commits that used to come have not: one may be late, two may be a hiccup."""
    return 3 * every


def hidden() -> float:
    """Wait until the transaction that hides the commits is older than any sound one; that limit cannot be hurried.

    Where the stable offset stands is seen at the ticks alone, so its age counts from the first of them.
    """
    return max(missed(), TICK + LookupLimits().blocked_grace)


def missed_batches(period: float) -> float:
    """Wait for two whole periods without the batch: one may be late by as much as its period."""
    return 2 * period + TICK


def told() -> float:
    """Wait until the event itself can be seen: in the next commit or the next answer of the cluster."""
    return COMMIT


def drifted() -> float:
    """Wait until the distance has grown over six slots of the window, two for each third: fewer may be noise."""
    return 6 * SLOT


def outgrown(*, written: float, read: float) -> float:
    """Wait until the oldest unread record is older than two ticks; its age grows by the share that is not read."""
    return 2 * TICK / (1 - read / written)


def forgone(retention: float, *, written: float, read: float) -> float:
    """Wait until of the time that the topic keeps a record a quarter is left to the oldest unread one."""
    return 0.75 * retention / (1 - read / written)


def stays_away() -> float:
    """Wait longer than a deploy takes: until then a deploy looks the same."""
    return RESTART


def times_out() -> float:
    """Wait until the session ends, and nobody has come back in the time that a restart takes."""
    return SESSION + RESTART
