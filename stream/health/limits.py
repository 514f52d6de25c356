"""The time limits of the rules. None of them counts records: how many are many depends on the topic."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class HealthLimits:
    """All in milliseconds. Where the commit interval of a group is known, it takes precedence over these."""

    tick: int = 10_000
    """Time between two evaluations; nothing shorter than two of them is a fault."""
    slot: int = 30_000
    """Time that one slot of the commit window covers."""
    restart: int = 30_000
    """How long a process may take to restart before its absence is a fault."""
    static_restart: int = 60_000
    """The same for static members: the log shows that one has left only after its session timeout."""
    unlearned: int = 600_000
    """How long a group may be silent while its commit interval is not known, usually with one commit in the log."""
    first_commit: int = 360_000
    """How long the first commit of a partition may take; clients look for new partitions every five minutes."""
    transaction: int = 60_000
    """How long a transaction may be open while nothing is known of earlier ones (default of transaction.timeout.ms)."""
    rebalance: int = 60_000
    """How long a rebalance may take while records wait."""
    storm: int = 600_000
    """The period in which rebalances are counted."""
    loss: int = 3_600_000
    """How long before retention removes unread records this is reported."""
    expiry: int = 86_400_000
    """How long before the broker expires an offset this is reported."""
