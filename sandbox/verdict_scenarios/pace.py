"""The speed of a run, and the times from which faults can be known: all other numbers of the scenarios rest on them.

All intervals of the monitor are divided by `FASTER`: a tick of the run is a shorter tick of production. Spark's trigger
and the work of brokers and clients cannot be made faster.
"""

from __future__ import annotations

from typing import Final

from stream.health.limits import HealthLimits
from stream.tick.lookups.budget import LookupLimits

FASTER: Final = 5
"""Seconds of production per second of the run."""
TICK: Final = HealthLimits().tick / 1_000 / FASTER
"""Seconds between two evaluations."""
SLOT: Final = HealthLimits().slot / 1_000 / FASTER
"""Seconds of a slot of the commit window."""
COMMIT: Final = 5 / FASTER
"""Seconds between the commits of a client with default settings (`auto.commit.interval.ms`)."""
PAUSE: Final = HealthLimits().pause / 1_000 / FASTER
RESTART: Final = HealthLimits().restart_grace / 1_000 / FASTER
FIRST_COMMIT: Final = HealthLimits().first_commit_grace / 1_000 / FASTER
ROLLING_DEPLOY: Final = HealthLimits().rolling_deploy / 1_000 / FASTER
REBALANCE: Final = HealthLimits().rebalance_limit / 1_000 / FASTER
SESSION: Final = 45 / FASTER
"""Seconds without a heartbeat after which a member is removed (`session.timeout.ms`)."""
HEARTBEAT: Final = 3 / FASTER
MEMBERSHIP_REFRESH: Final = 240 / FASTER
"""Seconds until a consumer looks for new partitions; by default it does so every five minutes."""
_LIMITS: Final = (
    "pause",
    "restart_grace",
    "static_restart_grace",
    "rebalance_limit",
    "storm_window",
    "rolling_deploy",
    "first_commit_grace",
    "share_pause",
    "loss_notice",
    "expiry_notice",
    "day_one",
)
"""Options of the section `health` and limits of the same name; tick and slot follow from the options of the job."""


def limits() -> dict[str, float]:
    """Return the limits of the run in seconds, by the names of their options."""
    return {name: getattr(HealthLimits(), name) / 1_000 / FASTER for name in _LIMITS}


# --- Seconds from a fault until it can be known from every commit and the end offsets at every tick


def missed(every: float = COMMIT) -> float:
    """Return the time of a pause that begins right before a commit: until then it may be a deploy or a slow batch."""
    return PAUSE + every


def hidden() -> float:
    """Return the time until the transaction that hides the commits is older than any normal one.

    That limit is not divided. The last stable offset is read only at ticks, so its age counts from the first one.
    """
    return max(missed(), TICK + LookupLimits().blocked_grace)


def missed_batches(period: float) -> float:
    """Return the time of two whole periods without the batch: it may be late by its period."""
    return 2 * period + TICK


def next_sign() -> float:
    """Return the time until the next commit, or the next answer of the cluster, shows the event."""
    return COMMIT


def rested() -> float:
    """Return the time after which a partition without new records and commits is at rest: three ticks."""
    return 3 * TICK


def drifted() -> float:
    """Return the time in which the lag grows over six slots of the window, two per third: fewer may be noise."""
    return 6 * SLOT


def unread_too_long(*, written: float, read: float) -> float:
    """Return the time until the oldest unread record is older than two ticks; its age grows by the unread share."""
    return 2 * TICK / (1 - read / written)


def nearly_expired(retention: float, *, written: float, read: float) -> float:
    """Return the time until the oldest unread record has a quarter of the topic's retention time left."""
    return 0.75 * retention / (1 - read / written)


def longer_than_restart() -> float:
    """Return the time that a deployment takes: until then nothing distinguishes the fault from one."""
    return RESTART


def taken_turns() -> float:
    """Return the time of three steps back, each seen at a tick of its own."""
    return 3 * TICK


def certainly_alive() -> float:
    """Return the time after which a member that does not commit has certainly sent a heartbeat."""
    return SESSION + TICK


def session_and_restart() -> float:
    """Return the time until the session has ended and no member has joined within the time of a restart."""
    return SESSION + RESTART
