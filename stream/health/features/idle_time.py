"""The time for which something has been unread in each row without any progress."""

import numpy as np

from stream.health.columns import Flags, Ints
from stream.health.features.end_history import EndHistory
from stream.health.features.time_lag import TimeLag


def written_since(time_lag: TimeLag, history: EndHistory, history_row: Ints, committed: Ints, lost: Ints) -> Ints:
    """Return when (ms) the oldest unread record of each row was written, also if retention has removed it since.

    Where retention is short, the oldest record of the log is always young. Rows without a known time keep that of
    `time_lag`; of a record that is older than the history, the time is that of its oldest point.
    """
    rows = np.flatnonzero((lost > 0) & (time_lag.since >= 0) & (history_row >= 0))
    if not len(rows):
        return time_lag.since
    since = time_lag.since.copy()
    written, _ = history.time_of(history_row[rows], committed[rows])
    since[rows] = np.where(written >= 0, np.minimum(since[rows], written), since[rows])
    return since


def idle_times(since: Ints, unread: Flags, progress_time: Ints, readable_since: Ints, known_until: Ints) -> Ints:
    """Return the time (ms) without progress of each row; 0 where nothing is unread or its age is not known.

    It begins when the oldest unread record was written (`since`), when the offset was last advanced or when the record
    became readable for consumers of committed records, whichever is latest. It ends at `known_until`: commits after
    that time are not known yet.
    """
    waiting_since = np.maximum(np.maximum(since, progress_time), readable_since)
    return np.where(unread & (since >= 0), np.maximum(known_until - waiting_since, 0), 0)


def idle_times_without_commit(  # noqa: PLR0917 - columns of one table
    idle_time: Ints,
    history: EndHistory,
    history_row: Ints,
    uncommitted: Flags,
    uncommitted_since: Ints,
    known_until: Ints,
) -> Ints:
    """Return the idle times, those of rows without a commit counted from the first record instead of the rebalance.

    `uncommitted_since` is the time (ms) since when the partition belongs to its group, -1 where it is not known. Rows
    with a commit and rows with an idle time of 0 keep their idle time.
    """
    rows = np.flatnonzero(uncommitted & (idle_time > 0))
    if not len(rows):
        return idle_time
    since, row = uncommitted_since[rows], history_row[rows]
    first_offset = history.end_at(row, np.maximum(since, history.oldest_time(row)))
    first_record, _ = history.time_of(row, np.maximum(first_offset, 0))
    counted = idle_time.copy()
    counted[rows] = np.maximum(idle_time[rows], known_until[rows] - np.maximum(first_record, since))
    return counted


def restarting_rows(idle_time: Ints, uncommitted: Flags, restart: int) -> Flags:
    """Return the rows without a commit that a member may read already.

    Since the last rebalance of their group their records have waited for no longer than a process may take to restart
    (`restart`, ms); `idle_time` is that of `idle_times`.
    """
    restarting: Flags = uncommitted & (idle_time <= restart)
    return restarting
