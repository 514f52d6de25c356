"""Limits on what the lookups of a tick cost the cluster, and how long a condition must last before one starts."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class LookupLimits:
    """Limits per tick. Times are in seconds."""

    tick: float = 10.0
    """Time between two ticks."""
    slot: float = 30.0
    """Time span of one slot of the commit window."""
    keep_slots: int = 10
    """Slots kept per commit."""

    request_seconds: float = 2.0
    """Time within a tick in which requests of one kind are started."""

    tails: int = 2_000
    """Log tails read per tick."""

    retention_topics: int = 500
    """Topics whose configs are requested per tick; each is refreshed after `slow_refresh`."""
    slow_refresh: float = 600.0

    transaction_grace: float = 8.0
    """Time that a last stable offset stays unchanged below the high watermark before transactions are looked up."""
    transaction_topics: int = 4
    """Topics whose open transactions are requested per tick; each partition is refreshed after `refresh`."""
    transaction_partitions: int = 200
    """Partitions whose open transactions are requested per tick."""
    refresh: float = 60.0

    blocked_grace: float = 5.0
    """The same for a partition of `__consumer_offsets`, before its hidden records are read."""
    hidden_bytes: int = 64 << 20
    """Bytes of hidden records read per tick; one fetch per partition may exceed it."""
    settle: float = 60.0
    """Longest time that hidden records stay valid after their partition is no longer blocked."""

    time_lookups: int = 500
    """Offsets for times requested per tick where the age of an unread record is not known to within a tick."""
    time_lookup_seconds: float = 1.0
    """Time within a tick in which they are started."""
    time_lookup_refresh: float = 60.0
    """Time between two searches for one group partition."""

    backfill_lookups: int = 50_000
    """Offsets for times requested at the first tick."""
    backfill_seconds: float = 10.0
    """Time within the first tick in which they are started."""
