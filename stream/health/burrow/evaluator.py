"""The evaluation of a tick by Burrow's rules instead of this monitor's own, for users who migrate from it.

Verdicts are Burrow's status names (`rules.BurrowStatus`): of a partition OK, WARN, STOP, STALL or REWIND, of a group
OK, WARN or ERR, and NOTFOUND without a commit. As in Burrow there is no hysteresis, and only commits and ends count.
Lag, time lag and rates are this monitor's.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from stream import wording as say
from stream.health.burrow import rules as burrow
from stream.health.burrow.rules import NONE, BurrowStatus
from stream.health.burrow.status_tracker import BurrowStatusTracker
from stream.health.columns import find_keys
from stream.health.evaluation import Evaluation, EvaluationRules, Finding
from stream.health.evidence import evidence
from stream.health.rules.rule import unread_text
from stream.health.verdict import Severity, representative_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.health.burrow.rules import Rings
    from stream.health.columns import Codes, Ints
    from stream.health.evidence import Value
    from stream.health.inputs import HealthInputs
    from stream.health.limits import HealthLimits

VERDICT_NAMES: Final = tuple(status.name for status in BurrowStatus)
SEVERITIES: Final = np.array(
    [
        Severity.UNKNOWN,
        Severity.FINE,
        Severity.WARNING,
        Severity.CRITICAL,
        Severity.CRITICAL,
        Severity.CRITICAL,
        Severity.CRITICAL,
    ],
    np.int8,
)
"""By code: NOTFOUND OK WARN ERR STOP STALL REWIND."""
_MEANINGS: Final = (
    "There is no commit.",
    "No rule of Burrow holds.",
    "The lag has not shrunk within the window.",
    "A partition of the group is STOP, STALL or REWIND.",
    "No commit for longer than the window spans, and the lag was not 0.",
    "All commits in the window are of the same offset, and there is lag.",
    "An offset in the window is smaller than the one before it.",
)
"""By code."""
_EVIDENCE: Final = ("committed_offset", "commit_time", "high_watermark", "lag", "time_lag")
_NEXT_STEP: Final = "Burrow's rules name no cause; with health.rules: lagwarden the cause is reported too."


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowResult(Evaluation):
    """Burrow's verdicts of one tick."""

    verdict_names: ClassVar[Sequence[str]] = VERDICT_NAMES
    severities: ClassVar[Codes] = SEVERITIES
    legend: ClassVar[Sequence[tuple[str, str]]] = [(meaning, _NEXT_STEP) for meaning in _MEANINGS]

    rings: Rings

    def worst_by_owner(self, owner: Ints, owners: int) -> Codes:
        """Return the status of each owner, see `rules.roll_up`."""
        return burrow.roll_up(self.verdict, owner, owners)

    def row_finding(self, row: int) -> Finding:
        """Return the finding of one partition of a group."""
        status = BurrowStatus(int(self.verdict[row]))
        shown = {**evidence(self.window, row, _EVIDENCE), **self._ring_evidence(row)}
        return _finding(status, int(self.since[row]), self._row_sentence(row, status), shown)

    def group_finding(self, group: int) -> Finding:
        """Return the finding of a group, with the evidence of the row that represents it."""
        row, since = int(self.group_row[group]), int(self.group_since[group])
        shown = {} if row < 0 else self.row_finding(row).evidence
        status = BurrowStatus(int(self.group_verdict[group]))
        return _finding(status, since if since >= 0 else None, self.group_sentence(group), shown)

    def group_sentence(self, group: int) -> str:
        """Return the sentence of that finding: partition, its status, what the rule found."""
        row = int(self.group_row[group])
        if row < 0:
            return "Burrow knows a group by its commits, and this one has none."
        status = BurrowStatus(int(self.verdict[row]))
        return f"{self.partition_name(row)} {status.name}: {self._row_sentence(row, status)}"

    def _row_sentence(self, row: int, status: BurrowStatus) -> str:
        offsets, count = self.rings.offset[row], int(self.rings.count[row])
        unread, commits = unread_text(self.window, row), say.count(count, "commit")
        match status:
            case BurrowStatus.STOP:
                first, last = (int(self.rings.timestamp[row, at]) for at in (0, count - 1))
                silence = say.duration(self.window.now - last)
                span = say.duration(last - first)
                return f"No commit for {silence}, while the window of {commits} spans {span}: {unread}."
            case BurrowStatus.STALL:
                return f"All {commits} in the window are of offset {int(offsets[0]):,}: {unread}."
            case BurrowStatus.REWIND:
                return f"Offsets went back within the window, to {int(offsets[:count].min()):,}: {unread}."
            case BurrowStatus.WARN:
                return f"Lag did not shrink within the window of {commits}: {unread}."
            case BurrowStatus.NOTFOUND:
                return "There is no commit for the partition."
            case _:
                return f"No rule of Burrow holds: {unread}." if self.window.lag[row] > 0 else "All records are read."

    def _ring_evidence(self, row: int) -> dict[str, Value]:
        count = int(self.rings.count[row])
        if not count:
            return {"window_commits": 0}
        known = [int(lag) for lag in self.rings.lag[row, :count] if lag != NONE]
        return {
            "window_commits": count,
            "window_start_time": int(self.rings.timestamp[row, 0]),
            "window_start_lag": known[0] if known else None,
            "window_end_lag": known[-1] if known else None,
        }


class BurrowEvaluator(EvaluationRules):
    """Evaluates tick after tick by Burrow's rules."""

    def __init__(self, limits: HealthLimits | None = None, *, points: int = 48, packed: bytes | None = None) -> None:
        """Continue with the dates of the group verdicts that an earlier process packed, if there are any."""
        super().__init__(limits, points=points)
        self._tracker = BurrowStatusTracker()
        self._group_verdicts: dict[str, tuple[str, int]] = {} if packed is None else _unpack(packed)
        self._last: BurrowResult | None = None
        self._keys = np.empty(0, np.int64)

    def evaluate(self, inputs: HealthInputs) -> BurrowResult:
        """Evaluate one tick. Ticks come in order, and each of them once."""
        window = self._build_window(inputs)
        self.burrow_statuses = statuses = self._tracker.update(window, self.history, self.limits.tick)
        keys, verdict = self.history.memory.keys, statuses.status
        groups = len(inputs.groups.names)
        group_verdict = burrow.roll_up(verdict, inputs.group, groups)
        # NOTFOUND (0) gets a negative rank: such a row does not represent its group.
        group_row, group_rows = representative_rows(verdict.astype(np.int64) - 1, window.lag, inputs.group, groups)
        self._last = BurrowResult(
            window=window.trim(),
            verdict=verdict,
            since=self._since(verdict, keys, inputs.now),
            group_verdict=group_verdict,
            group_row=group_row,
            group_rows=group_rows,
            group_since=self._group_since(inputs, group_verdict),
            rings=statuses.rings,
        )
        self._keys = keys
        return self._last

    def track_burrow_statuses(self) -> None:
        """Do nothing: the statuses are the verdicts."""

    def pack(self) -> bytes | None:
        """Return since when each group has its verdict, as JSON for the next process; None before the first tick."""
        return None if self._last is None else json.dumps(self._group_verdicts, ensure_ascii=True).encode()

    def _since(self, verdict: Codes, keys: Ints, now: int) -> Ints:
        """Return since when each row has its verdict, as far as this process has observed it."""
        since = np.full(len(keys), now, np.int64)
        if self._last is None or not len(self._keys):
            return since
        at = find_keys(self._keys, keys)
        same = (at >= 0) & (self._last.verdict[at] == verdict)
        return np.where(same, self._last.since[at], since)

    def _group_since(self, inputs: HealthInputs, verdict: Codes) -> Ints:
        """Return since when each group has its verdict, and remember that."""
        current: dict[str, tuple[str, int]] = {}
        for group, code in zip(inputs.groups.names, verdict.tolist(), strict=True):
            previous = self._group_verdicts.get(group)
            name = VERDICT_NAMES[code]
            current[group] = previous if previous is not None and previous[0] == name else (name, inputs.now)
        self._group_verdicts = current
        return np.array([since for _, since in current.values()], np.int64)


def _finding(status: BurrowStatus, since: int | None, sentence: str, shown: dict[str, Value]) -> Finding:
    return Finding(status.name, Severity(int(SEVERITIES[status])), since, sentence, shown, _NEXT_STEP)


def _unpack(packed: bytes) -> dict[str, tuple[str, int]]:
    """Return the packed verdicts; none if the bytes are damaged or of another format."""
    try:
        return {str(group): (str(name), int(since)) for group, (name, since) in json.loads(packed).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
