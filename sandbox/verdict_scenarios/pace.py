"""The speed of a run, and the times from which faults can be known: all other numbers of the scenarios rest on them.

Times of scenarios are seconds of the run. A second of the run is `FASTER` seconds of production, so all intervals of
the monitor are divided by `FASTER`. A micro-batch of Spark and the work of brokers and clients cannot be made faster.
On a slow machine, a second of the run can take several seconds of the wall clock (`PLAY_STRETCH`). `RunPace` converts.
"""

import dataclasses
import os
import time
from typing import Final

from stream.health.limits import HealthLimits
from stream.tick.lookups.budget import LookupLimits

FASTER: Final = 5
"""Seconds of production per second of the run. All times below are seconds of the run."""
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
TRIGGER: Final = 5 / FASTER
"""Seconds between two micro-batches."""
OFFSETS_RETENTION: Final = 240.0
"""Seconds after which the broker removes the offsets of an empty group."""
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


# --- Seconds of the run, of the wall clock and of production

LARGEST_STRETCH: Final = 4.0
"""Transactions that scenarios leave open end after 15 minutes, which is the limit of brokers (`LONGEST_TIMEOUT_MS`)."""
VARIABLE: Final = "PLAY_STRETCH"
"""The environment variable with the stretch of runs that this process starts."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunPace:
    """Converts seconds of a run into those of the wall clock and of production, and back.

    `stretch` is the number of wall-clock seconds that a second of the run takes. Unix times are wall-clock seconds.
    """

    stretch: float = 1.0

    @property
    def faster(self) -> float:
        """Seconds of production per second of the wall clock."""
        return FASTER / self.stretch

    def wall(self, run_seconds: float) -> float:
        """Return seconds of the run in seconds of the wall clock."""
        return run_seconds * self.stretch

    def run(self, wall_seconds: float) -> float:
        """Return seconds of the wall clock in seconds of the run."""
        return wall_seconds / self.stretch

    def wall_ms(self, run_seconds: float) -> int:
        """Return seconds of the run in milliseconds of the wall clock, as settings of Kafka have them."""
        return round(self.wall(run_seconds) * 1_000)


class RunClock:
    """Seconds of the run since `begin` was called: a clock that may be slower than that of the wall."""

    def __init__(self, pace: RunPace) -> None:
        self._pace: Final = pace
        self._zero = float("inf")

    def begin(self) -> None:
        """Start the clock at 0."""
        self._zero = time.monotonic()

    def now(self) -> float:
        """Return the seconds of the run since `begin`; 0 before it."""
        return max(self._pace.run(time.monotonic() - self._zero), 0.0)

    def wait(self, until: float) -> None:
        """Wait until a time of the run."""
        time.sleep(self._pace.wall(max(until - self.now(), 0.0)))


def production(run_seconds: float) -> float:
    """Return seconds of the run in seconds of production; those of the wall clock need `RunPace.run` first."""
    return run_seconds * FASTER


def pace_of(stretch: str) -> RunPace:
    """Parse the stretch of a run. Raises ValueError for one with which a whole number of an option would be none.

    The option for the slot of the commit window is whole seconds, that for the retention of offsets whole minutes.
    """
    try:
        pace = RunPace(float(stretch))
    except ValueError as error:
        raise ValueError(f"{VARIABLE}={stretch} is not a number") from error
    whole = pace.wall(SLOT), pace.wall(OFFSETS_RETENTION) / 60
    if not 1 <= pace.stretch <= LARGEST_STRETCH or any(each != int(each) for each in whole):
        raise ValueError(
            f"{VARIABLE}={stretch} must be a multiple of 0.5 from 1 to {LARGEST_STRETCH:g}: a slot of the commit window"
            " takes whole seconds, and the retention of offsets whole minutes"
        )
    return pace


CHOSEN: Final = pace_of(os.environ.get(VARIABLE, "1"))
"""The pace of runs that this process starts. That of a recorded run is `RunRecord.pace`."""


def limits() -> dict[str, float]:
    """Return the limits in seconds of the run, by the names of their options."""
    return {name: getattr(HealthLimits(), name) / 1_000 / FASTER for name in _LIMITS}


# --- Seconds of the run from a fault until it can be known from every commit and the end offsets at every tick


def missed(every: float = COMMIT) -> float:
    """Return the time of a pause that begins right before a commit: until then it may be a deploy or a slow batch."""
    return PAUSE + every


def hidden() -> float:
    """Return the time until the transaction that hides the commits is older than any normal one.

    That limit is seconds of the wall clock at any pace. The last stable offset is read only at ticks, so its age counts
    from the first one.
    """
    return max(missed(), TICK + CHOSEN.run(LookupLimits().blocked_grace))


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
