"""The verdicts: their words, how bad each is, and how those of partitions add up to that of their group."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints


class Verdict(enum.StrEnum):
    """What there is to say of a partition of a group, or of a group. Its code is its place in `VERDICTS`."""

    OK = "ok"
    CAUGHT_UP = "caught_up"
    UNKNOWN = "unknown"
    RECOVERING = "recovering"
    RESET = "reset"
    ABANDONED = "abandoned"
    SKEWED = "skewed"
    FALLING_BEHIND = "falling_behind"
    REWOUND = "rewound"
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
    LOSING_DATA = "losing_data"


class Severity(enum.IntEnum):
    """How bad a verdict is. From WARNING on a group counts as sick."""

    FINE = 0
    UNKNOWN = 1
    NOTICE = 2
    """Odd, and worth a look one day; nobody needs to get up."""
    WARNING = 3
    """Will need somebody, today."""
    CRITICAL = 4
    """Records wait, or are lost, and it does not end by itself."""


VERDICTS: Final = tuple(Verdict)
"""By code, the less bad before the worse: of two verdicts of a group the one with the greater code stands for it."""
CODE: Final = {verdict: code for code, verdict in enumerate(VERDICTS)}
SEVERITY: Final = {
    Verdict.OK: Severity.FINE,
    Verdict.CAUGHT_UP: Severity.FINE,
    Verdict.UNKNOWN: Severity.UNKNOWN,
    Verdict.RECOVERING: Severity.NOTICE,
    Verdict.RESET: Severity.NOTICE,
    Verdict.ABANDONED: Severity.NOTICE,
    Verdict.SKEWED: Severity.WARNING,
    Verdict.FALLING_BEHIND: Severity.WARNING,
    Verdict.REWOUND: Severity.WARNING,
    Verdict.EXPIRING: Severity.WARNING,
    Verdict.NEVER_COMMITTED: Severity.WARNING,
    Verdict.UNASSIGNED: Severity.CRITICAL,
    Verdict.NO_MEMBERS: Severity.CRITICAL,
    Verdict.REBALANCE_STORM: Severity.CRITICAL,
    Verdict.REBALANCING_TOO_LONG: Severity.CRITICAL,
    Verdict.HELD_BACK: Severity.CRITICAL,
    Verdict.POISON_RECORD: Severity.CRITICAL,
    Verdict.STALLED: Severity.CRITICAL,
    Verdict.STOPPED: Severity.CRITICAL,
    Verdict.LOSING_DATA: Severity.CRITICAL,
}
SEVERITIES: Final = np.array([SEVERITY[verdict] for verdict in VERDICTS], np.int8)
"""By code."""
_QUIET: Final = np.array([CODE[Verdict.CAUGHT_UP], CODE[Verdict.OK]])


def needs_action(codes: Codes) -> Flags:
    """Tell which of these codes are of verdicts that somebody must act on."""
    flags: Flags = SEVERITIES[codes] >= Severity.WARNING
    return flags


def roll_up(codes: Codes, lag: Ints, of: Ints, groups: int) -> tuple[Codes, Ints, Ints]:
    """Give each group its verdict's code, the row that shows it best, and how many of its rows have it.

    The worst verdict of its partitions stands for a group, so one that is caught up on all of them is caught up, and
    one with partitions of which nothing is known is unknown unless something worse is. Among equal rows the one with
    the greatest lag shows it. A group without rows has committed nothing: unknown, row -1.
    """
    rank = codes.astype(np.int64)
    # "Caught up" is better than "ok": it stands for a group only if all of its rows have it.
    rank[codes == _QUIET[0]], rank[codes == _QUIET[1]] = 0, 1
    worst = np.full(groups, -1, np.int64)
    np.maximum.at(worst, of, rank)
    shown = np.flatnonzero(rank == worst[of])
    shown = shown[np.lexsort((-shown, lag[shown]))]  # the last assignment wins: greatest lag, then the first row
    row = np.full(groups, -1, np.int64)
    row[of[shown]] = shown
    code = np.full(groups, CODE[Verdict.UNKNOWN], np.int8)
    code[row >= 0] = codes[row[row >= 0]]
    return code, row, np.bincount(of[shown], minlength=groups)
