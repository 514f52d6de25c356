"""The time limits of the rules. None of them counts records: how many are many depends on the topic."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class HealthLimits:
    """All in milliseconds. Where the commit interval of a group is known, it takes precedence over these."""

    tick: int = 10_000
    """Time between two evaluations; nothing shorter than two of them is a fault."""
    hide_members: bool = False
    """True if sentences and evidence name no client and no host (`http.hide_members`)."""
    slot: int = 30_000
    """Time that one slot of the commit window covers."""
    pause: int = 45_000
    """Time that a group may make no progress, however often it usually commits: a deploy, a garbage collection, a
    slow batch. Its usual wait comes on top."""
    restart_grace: int = 30_000
    """Time that a process may take to restart before its absence is a fault."""
    static_restart_grace: int = 60_000
    """The same for static members: the log shows that one has left only after its session timeout."""
    unlearned: int = 600_000
    """Time that a group may be silent while its commit interval is not known, usually with one commit in the log."""
    first_commit_grace: int = 360_000
    """Time that the first commit of a partition may take; clients look for new partitions every five minutes."""
    transaction: int = 60_000
    """Time that a transaction may be open while no earlier ones are known (default of transaction.timeout.ms)."""
    rebalance_limit: int = 60_000
    """Time that a rebalance may take while records wait."""
    storm_window: int = 600_000
    """The period in which rebalances are counted."""
    rolling_deploy: int = 600_000
    """Time for which the members of a group may subscribe to different topics: old ones and new ones."""
    loss_notice: int = 3_600_000
    """Time before retention removes unread records at which this is reported."""
    expiry_notice: int = 86_400_000
    """Time before the broker expires an offset at which this is reported."""
    day_one: int = 86_400_000
    """Silence after which a group without members is forgotten: its faults raise no alert. 0: all faults do."""
    share_pause: int = 300_000
    """Time for which the records of a share group may wait without any change: five locks of a minute, the longest that
    brokers allow by default."""
    event_shown: int = 600_000
    """Time for which an event that leaves no lasting trace is reported: records that were skipped."""
