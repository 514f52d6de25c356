"""The verdict that is shown: a verdict of the rules must last before it is shown, and before it is withdrawn.

A pure state machine per row. A fault (severity WARNING or above) is shown after its rule has matched the row at
`Rule.confirm` ticks in a row, withdrawn after `Rule.withdraw` ticks without any fault (two for most), and replaced by
another fault after two. A row with changing faults shows the current one as soon as it has had some fault for one tick
more than that fault requires. So alternating input never makes the shown verdict alternate. "ok" and "caught up"
replace each other at once. A shown fault of a group that does not go on is not replaced by "habit unknown"; progress
after it began contradicts it, even where nothing else can be decided. While a partition changes its leader, "unknown"
replaces no other verdict.

The state packs into a few bytes per row. After a restart the shown verdicts, good ones as well as faults, stay until
the rules have observed enough to decide.
"""

import dataclasses
from typing import Any, Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Codes, Flags, Ints, assigned, replaced
from stream.health.row_columns import RowColumns, column
from stream.health.rules import RULES
from stream.health.rules.rule import Rule
from stream.health.share.rules import SHARE_RULES
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Severity, Verdict

CHANGE: Final = 2
"""Ticks until one fault replaces another, or a notice is shown or withdrawn."""
UNDECIDED: Final = -1
"""Instead of a code: the row cannot be evaluated at this tick, and the shown verdict stays."""
_UNKNOWN: Final = CODE[Verdict.UNKNOWN]

EVERY_RULE: Final[tuple[Rule[Any], ...]] = (*RULES, *SHARE_RULES)
"""The rules of all verdicts: of rows, and the faults of share groups."""
_CONFIRM, _WITHDRAW = (np.ones(len(VERDICTS), np.int16) for _ in range(2))
for _rule in EVERY_RULE:
    _CONFIRM[CODE[_rule.verdict]] = _rule.confirm
    _WITHDRAW[CODE[_rule.verdict]] = _rule.withdraw
_HABIT_UNKNOWN: Final = CODE[Verdict.HABIT_UNKNOWN]
_IS_PAUSE: Final = np.zeros(len(VERDICTS), np.bool_)
"""By code: the faults that `habit_unknown` takes the place of."""
_IS_PAUSE[[CODE[each] for each in (Verdict.STOPPED, Verdict.STALLED, Verdict.NO_MEMBERS, Verdict.NEVER_COMMITTED)]] = (
    True
)


@dataclasses.dataclass(frozen=True, slots=True)
class ShownVerdicts(RowColumns):
    """The shown verdicts and the state that decides the next ones; one element per row."""

    verdict: Codes = column("shown", _UNKNOWN, np.int8, words=VERDICTS)
    since: Ints = column("since")
    """When the rules first matched, of the ticks in a row that led to this verdict, or the first tick (ms)."""
    candidate: Codes = column("candidate", _UNKNOWN, np.int8, words=VERDICTS)
    """The last verdict of the rules."""
    candidate_since: Ints = column("candidate_since")
    candidate_ticks: Ints = column("candidate_ticks", 0, most=1_000)
    """Number of ticks in a row with that verdict."""
    sick_ticks: Ints = column("sick_ticks", 0, most=1_000)
    """Number of ticks in a row with a fault."""
    well_ticks: Ints = column("well_ticks", 0, most=1_000)
    """Number of ticks in a row without a fault."""


def advance(
    previous: ShownVerdicts,
    rule_verdict: Codes,
    now: int,
    progress_time: Ints | None = None,
    briefly_unknown: Flags | None = None,
    *,
    change: int = CHANGE,
) -> ShownVerdicts:
    """Return the state after a tick with these verdicts of the rules (codes, or `UNDECIDED`).

    `progress_time`: of the last progress of each row (ms; None: no progress). `briefly_unknown`: the rows that are not
    shown as unknown if they were not before (None: no row). `change` is the number of ticks until one fault replaces
    another, or a notice or "unknown" is shown.
    """
    # A fault that is shown stays: what looks like a batch later, or to a monitor that has restarted, has failed.
    is_pause = _IS_PAUSE[previous.verdict]
    still_fault = (rule_verdict == _HABIT_UNKNOWN) & is_pause
    rule_verdict = np.where(still_fault, previous.verdict, rule_verdict)
    if progress_time is not None:
        went_on = (rule_verdict == UNDECIDED) & is_pause & (progress_time > previous.since)
        rule_verdict[went_on] = _UNKNOWN
    undecided = rule_verdict == UNDECIDED
    candidate = np.where(undecided, previous.candidate, rule_verdict)
    changed = candidate != previous.candidate
    ticks = replaced(previous.candidate_ticks + 1, changed, 1)
    ticks = replaced(ticks, undecided, previous.candidate_ticks)
    begins = (changed | (previous.candidate_ticks <= 0)) & ~undecided
    since = replaced(previous.candidate_since, begins | (previous.candidate_since == NOT_KNOWN), now)
    is_fault = SEVERITIES[candidate] >= Severity.WARNING
    sick = replaced(replaced(previous.sick_ticks + 1, ~is_fault, 0), undecided, previous.sick_ticks)
    well = replaced(replaced(previous.well_ticks + 1, is_fault, 0), undecided, previous.well_ticks)
    # Elsewhere the shown verdict stays, whatever has lasted.
    differs = np.flatnonzero(~undecided & (candidate != previous.verdict))
    differs = differs[
        _has_lasted(previous.verdict[differs], candidate[differs], ticks[differs], sick[differs], well[differs], change)
    ]
    if briefly_unknown is not None:
        differs = differs[~(briefly_unknown[differs] & (candidate[differs] == _UNKNOWN))]
    verdict = previous.verdict.copy()
    verdict[differs] = candidate[differs]
    return ShownVerdicts(
        verdict=verdict,
        since=assigned(replaced(previous.since, previous.since == NOT_KNOWN, now), differs, since[differs]),
        candidate=candidate,
        candidate_since=since,
        candidate_ticks=ticks,
        sick_ticks=sick,
        well_ticks=well,
    )


def _has_lasted(  # noqa: PLR0917 - columns of one table
    shown: Codes, candidate: Codes, ticks: Ints, sick: Ints, well: Ints, change: int
) -> Flags:
    """Return the rows whose candidate has lasted long enough to replace the shown verdict."""
    shown_severity, severity = SEVERITIES[shown], SEVERITIES[candidate]
    was_fault, is_fault = shown_severity >= Severity.WARNING, severity >= Severity.WARNING
    confirm = _CONFIRM[candidate]
    raises = is_fault & ~was_fault & ((ticks >= confirm) | (sick > confirm))
    replaces = is_fault & was_fault & (ticks >= change)
    withdraws = ~is_fault & was_fault & (well >= _WITHDRAW[shown])
    must_last = (shown_severity == Severity.NOTICE) | (severity == Severity.NOTICE) | (severity == Severity.UNKNOWN)
    harmless = ~is_fault & ~was_fault & (~must_last | (shown == _UNKNOWN) | (ticks >= change))
    lasted: Flags = raises | replaces | withdraws | harmless
    return lasted
