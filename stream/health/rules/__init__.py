"""All rules in the order in which they are applied; the first that matches a row decides its verdict.

Causes come before their effects, and what cannot be undone before what can.

0.  Groups that nothing reads here have none of the faults below (mirrored).
1.  Without a known lag no other verdict is possible; first the faults of the log behind that (no_leader, truncated,
    unknown).
2.  Offsets that no member needs (abandoned).
3.  An offset that the broker is about to expire: all faults below end with it (expiring).
4.  Records that are lost for ever, before those that only wait (losing_data).
5.  Without members there are none of the faults of members (no_members).
6.  A group that does not settle stops all of its partitions at once (rebalancing_too_long, rebalance_storm).
7.  Stuck partitions with a known cause: a transaction, no owner, transactions that are all aborted, no commit ever, a
    record (held_back, unassigned, aborting, never_committed, poison_record). The last one requires siblings that make
    progress, so it comes after the causes that stop all of them.
8.  Stuck partitions without one: those of a batch that may only pause, which may also have no members (habit_unknown),
    repeated commits, then no commits (stalled, stopped). `stopped` matches the rest.
9.  From here on the group makes progress. First why its offset was lost (forgotten) or alternates between two positions
    (two_committers), what it will never read (skipped) and why it is behind (rewound, reset, skewed), then whether the
    lag grows (falling_behind), whether it is one group at all (two_applications), and whether the lag shrinks
    (recovering).
10. No fault (below_log_start, commits_last_read, caught_up, ok). `ok` matches every row.
"""

from typing import Final

from stream.health.features.window import Window
from stream.health.rules import lifetime, log, membership, positions, progress, stuck, unknown_lag
from stream.health.rules.rule import Rule

RULES: Final[tuple[Rule[Window], ...]] = (
    membership.MIRRORED,
    unknown_lag.NO_LEADER,
    log.TRUNCATED,
    unknown_lag.UNKNOWN,
    lifetime.ABANDONED,
    lifetime.EXPIRING,
    log.LOSING_DATA,
    membership.NO_MEMBERS,
    membership.REBALANCING_TOO_LONG,
    membership.REBALANCE_STORM,
    log.HELD_BACK,
    membership.UNASSIGNED,
    log.ABORTING,
    lifetime.NEVER_COMMITTED,
    stuck.POISON_RECORD,
    stuck.HABIT_UNKNOWN,
    stuck.STALLED,
    stuck.STOPPED,
    lifetime.FORGOTTEN,
    positions.TWO_COMMITTERS,
    positions.SKIPPED,
    positions.REWOUND,
    positions.RESET,
    progress.SKEWED,
    progress.FALLING_BEHIND,
    membership.TWO_APPLICATIONS,
    progress.RECOVERING,
    log.BELOW_LOG_START,
    positions.COMMITS_LAST_READ,
    progress.CAUGHT_UP,
    progress.OK,
)
