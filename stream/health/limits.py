"""The times that the rules go by. No counts of records among them: how much is much depends on the topic."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class HealthLimits:
    """All in milliseconds. A group's own cadence, where it is known, stands above every one of these."""

    tick: int = 10_000
    """How far apart two evaluations are; nothing is said of anything shorter than two of them."""
    slot: int = 30_000
    """How much time one slot of the commit window holds."""
    restart: int = 30_000
    """What a process may take to come back before its absence means something."""
    static_restart: int = 60_000
    """The same for static members, whose leaving nobody sees: the log tells it only after their session timeout."""
    unlearned: int = 600_000
    """How long a group may be silent of whose cadence nothing is known yet (one commit in the log, as a rule)."""
    first_commit: int = 360_000
    """How long the first commit of a partition may take; clients look for new partitions every five minutes."""
    transaction: int = 60_000
    """How long a transaction is open at most as far as nothing is known of those before it (the clients' default of
    transaction.timeout.ms)."""
    rebalance: int = 60_000
    """How long a rebalance may take while records wait."""
    storm: int = 600_000
    """The stretch in which rebalances are counted."""
    loss: int = 3_600_000
    """How far ahead a loss of records to retention is foretold."""
    expiry: int = 86_400_000
    """How long before the broker forgets an offset this is said."""
