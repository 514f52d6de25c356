"""The verdicts, their severities, and how the verdicts of partitions combine to the verdict of their group."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import max_by_owner, sum_by_owner

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints


class Verdict(enum.StrEnum):
    """The verdict on a partition of a group, or on a group. Its code is its position in `VERDICTS`."""

    OK = "ok"
    CAUGHT_UP = "caught_up"
    MIRRORED = "mirrored"
    UNKNOWN = "unknown"
    COMMITS_LAST_READ = "commits_last_read"
    BELOW_LOG_START = "below_log_start"
    RECOVERING = "recovering"
    RESET = "reset"
    ABANDONED = "abandoned"
    HABIT_UNKNOWN = "habit_unknown"
    TWO_APPLICATIONS = "two_applications"
    SKEWED = "skewed"
    FALLING_BEHIND = "falling_behind"
    REWOUND = "rewound"
    SKIPPED = "skipped"
    TWO_COMMITTERS = "two_committers"
    FORGOTTEN = "forgotten"
    EXPIRING = "expiring"
    NEVER_COMMITTED = "never_committed"
    UNASSIGNED = "unassigned"
    NO_MEMBERS = "no_members"
    REBALANCE_STORM = "rebalance_storm"
    REBALANCING_TOO_LONG = "rebalancing_too_long"
    HELD_BACK = "held_back"
    POISON_RECORD = "poison_record"
    STALLED = "stalled"
    STOPPED = "stopped"
    ABORTING = "aborting"
    NO_LEADER = "no_leader"
    TRUNCATED = "truncated"
    LOSING_DATA = "losing_data"
    # Only share groups (KIP-932) have these, and no other faults.
    SHARE_REDELIVERING = "share_redelivering"
    SHARE_STOPPED = "share_stopped"
    SHARE_NO_MEMBERS = "share_no_members"
    SHARE_REJECTING = "share_rejecting"


class Severity(enum.IntEnum):
    """The severity of a verdict. From WARNING on action is needed, and the group counts as unhealthy."""

    FINE = 0
    UNKNOWN = 1
    NOTICE = 2
    """Unusual; no action is needed now."""
    WARNING = 3
    """Needs action today."""
    CRITICAL = 4
    """Records wait or are lost, and this does not end by itself."""


VERDICTS: Final = tuple(Verdict)
"""By code, in order of severity: of two verdicts of a group the one with the greater code represents it."""
CODE: Final = {verdict: code for code, verdict in enumerate(VERDICTS)}
_FIRST: Final = {
    Severity.FINE: Verdict.OK,
    Severity.UNKNOWN: Verdict.UNKNOWN,
    Severity.NOTICE: Verdict.COMMITS_LAST_READ,
    Severity.WARNING: Verdict.TWO_APPLICATIONS,
    Severity.CRITICAL: Verdict.UNASSIGNED,
}
"""The first verdict of each severity."""
SEVERITY: Final = {
    verdict: max(severity for severity, first in _FIRST.items() if CODE[first] <= code)
    for verdict, code in CODE.items()
}
SEVERITIES: Final = np.array([SEVERITY[verdict] for verdict in VERDICTS], np.int8)
"""By code."""
_CAUGHT_UP, _OK = CODE[Verdict.CAUGHT_UP], CODE[Verdict.OK]


def roll_up(codes: Codes, lag: Ints, group: Ints, groups: int, counts: Flags | None = None) -> tuple[Codes, Ints, Ints]:
    """Return the verdict code of each group, the row that represents it, and how many of its rows have the verdict.

    Only rows that `counts` are considered (None: all).

    The worst verdict of its partitions is the verdict of a group. So a group is caught up only if it is on all of its
    partitions, and one with unknown partitions is unknown unless another verdict is worse. A group without rows has
    committed no offset: it is unknown, and its row is -1.
    """
    rank = _ranks(codes)
    if counts is not None:
        rank[~counts] = -1
    row, rows = representative_rows(rank, lag, group, groups)
    code = np.full(groups, CODE[Verdict.UNKNOWN], np.int8)
    code[row >= 0] = codes[row[row >= 0]]
    return code, row, rows


def worst_codes(codes: Codes, group: Ints, groups: int) -> Codes:
    """Return the verdict code of each group alone, see `roll_up`."""
    worst = max_by_owner(_ranks(codes), group, groups, -1).astype(np.int8)
    return np.where(worst < 0, CODE[Verdict.UNKNOWN], _ranks(worst)).astype(np.int8)


def _ranks(codes: Codes) -> Codes:
    """Return how bad each verdict is, by code; of such a rank, the code.

    "caught_up" is better than "ok": it represents a group only if all of its rows have it.
    """
    rank = codes.copy()
    rank[codes == _CAUGHT_UP], rank[codes == _OK] = _OK, _CAUGHT_UP
    return rank


def representative_rows(rank: Codes, lag: Ints, group: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return the row of the greatest rank of each group, and how many of its rows have that rank.

    Among rows of equal rank the one with the greatest lag represents the group, then the first. Rows with a negative
    rank do not count; a group without others has row -1 and a count of 0.
    """
    worst = max_by_owner(rank, group, groups, -1)
    is_worst = (rank >= 0) & (rank == worst[group])
    count = sum_by_owner(is_worst, group, groups)
    greatest = max_by_owner(np.where(is_worst, lag, -1), group, groups, -1)
    candidates = np.flatnonzero(is_worst & (lag == greatest[group]))[::-1]
    row = np.full(groups, -1, np.int64)
    row[group[candidates]] = candidates  # the last assignment wins: the first row
    return row, count
