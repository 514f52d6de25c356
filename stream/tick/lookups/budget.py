"""What the enquiries may cost the cluster, and how long something must last before anybody is asked. Values only."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class LookupLimits:
    """Bounds per tick, and times in seconds."""

    tick: float = 10.0
    """How far apart two ticks are."""
    slot: float = 30.0
    """How much time one slot of the commit window holds, and how many slots a commit keeps."""
    keep_slots: int = 10

    seconds: float = 2.0
    """For how long more questions of one kind are begun at one tick."""

    tails: int = 2_000
    """Tails read at one tick."""

    retention_topics: int = 500
    """Topics whose settings are asked for at one tick; each again after `seldom`."""
    seldom: float = 600.0

    grace: float = 8.0
    """How long a last stable offset stands still below the high watermark before anybody is asked who holds it."""
    culprit_topics: int = 4
    """Topics whose open transactions are asked for at one tick, and partitions of them; each again after `again`."""
    culprit_partitions: int = 200
    again: float = 60.0

    gap_grace: float = 5.0
    """The same for a partition of `__consumer_offsets`, before its groups are answered by their coordinators."""
    groups: int = 500
    """Groups whose offsets are asked for at one tick."""
    settle: float = 60.0
    """How long at most such an answer stands after the gap has closed, until the log has caught up with it."""

    lookups: int = 500
    """Moments in the past asked for at one tick, where the age of an unread record is not known to the tick, for how
    long more are begun, and after how long a group that has moved on is asked about again."""
    lookup_seconds: float = 1.0
    lookup_again: float = 60.0

    seed_lookups: int = 50_000
    """Offsets-for-times asked for at the first tick, and for how long more are begun."""
    seed_seconds: float = 10.0
