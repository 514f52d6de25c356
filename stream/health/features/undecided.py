"""Rows that cannot be evaluated at a tick, because too little is known of them, and rows that an outage excuses."""

import numpy as np

from stream.health.columns import Codes, Flags, Ints
from stream.health.features import lag_trend
from stream.health.features.end_history import EndHistory
from stream.health.features.time_lag import TimeLag


def observed_since(history: EndHistory, history_row: Ints, now: int) -> Ints:
    """Return the time of the oldest known end of each row (ms); `now` while no end of any partition is known."""
    if not len(history):
        return np.full(len(history_row), now)
    return history.oldest_time(np.maximum(history_row, 0))


def young_rows(  # noqa: PLR0917 - columns of one table
    unread: Flags, time_lag: TimeLag, trend: Codes, patience: Ints, needed_since: Ints, observed: Ints
) -> Flags:
    """Return the unread rows that have not been observed for long enough to know how long their record has waited.

    They were not observed at `needed_since` (ms), and either the age of the record is only a lower bound, or it exceeds
    the patience while there are too few commits to show a trend.
    """
    slow = (time_lag.age > patience) & (trend == lag_trend.TOO_SHORT)
    young: Flags = unread & (observed > needed_since) & (~time_lag.exact | slow)
    return young


def young_uncommitted_rows(uncommitted: Flags, empty: Flags, stuck: Flags, formed_since: Ints, observed: Ints) -> Flags:
    """Return the rows without a commit whose partition was first observed after their group formed.

    What was written in between is not known. Rows of empty partitions and rows that are stuck are decided.
    """
    young: Flags = uncommitted & ~empty & ~stuck & (observed > formed_since)
    return young


def outage_rows(outage_end: Ints, window_start: Ints, age: Ints, tick: int) -> Flags:
    """Return the late rows that lost their coordinator or leader within their commit window.

    The window then shows no usual pace. Late: the oldest unread record is older than two ticks.
    """
    outage: Flags = (outage_end > window_start) & (age > 2 * tick)
    return outage


def unheard_rows(unread: Flags, known_until: Ints, patience: Ints, outage: Flags, now: int) -> Flags:
    """Return the unread rows whose commits are not known for longer than their patience, and those with an outage.

    The unknown commits may have read everything.
    """
    unheard: Flags = unread & ((now - known_until > patience) | outage)
    return unheard


def undecided_rows(young: Flags, tail_pending: Flags, paused: Flags, unheard: Flags) -> Flags:
    """Return the rows that cannot be evaluated at this tick for any of these reasons.

    `tail_pending`: the tail of the partition may hold no data, and it has not been read yet.
    """
    undecided: Flags = young | tail_pending | paused | unheard
    return undecided


def latest_outage_end(partition_back_since: Ints, coordinator_back_since: Ints | None) -> Ints:
    """Return when each row last regained its leader or its coordinator (ms); -1: it never lost them."""
    if coordinator_back_since is None:
        return partition_back_since
    return np.maximum(partition_back_since, coordinator_back_since)


def excused_rows(outage_end: Ints, settled_since: Ints, known_until: Ints, grace: Ints, rebalance: int) -> Flags:
    """Return the rows that regained their coordinator or leader within the last `grace` ms.

    Clients need some time to notice. They often come back through a rebalance that waits for the sessions of lost
    members; the grace then begins when the group has settled (`settled_since`), if that was at most `rebalance` +
    `grace` ms after the outage.
    """
    by_rebalance = (settled_since >= outage_end) & (settled_since - outage_end <= rebalance + grace)
    back_since = np.where(by_rebalance, settled_since, outage_end)
    excused: Flags = (outage_end >= 0) & (known_until - back_since <= grace)
    return excused
