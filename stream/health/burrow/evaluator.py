"""Burrow's rules at work in place of this monitor's own, for those who move from it: its words, its roll-up.

Verdicts are Burrow's words (`rules.BurrowStatus`): of a partition OK, WARN, STOP, STALL or REWIND, of a group
OK, WARN or ERR, and NOTFOUND where there is no commit. There is no hysteresis, as in Burrow, and nothing else than
commits and ends is looked at. Lag, time lag and rates are this monitor's all the same.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Final

import numpy as np

from stream import wording as say
from stream.health.burrow import rules as burrow
from stream.health.burrow.rules import NONE, BurrowStatus
from stream.health.burrow.window import RingTracker
from stream.health.evaluation import Finding
from stream.health.evidence import evidence
from stream.health.features import lag as lags
from stream.health.features import window as windows
from stream.health.features.partition_history import PartitionHistory
from stream.health.limits import HealthLimits
from stream.health.rules.rule import unread_text
from stream.health.verdict import Severity

if TYPE_CHECKING:
    from stream.health.burrow.rules import Rings
    from stream.health.columns import Codes, Flags, Ints
    from stream.health.evidence import Value
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs

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
_EVIDENCE: Final = ("committed_offset", "commit_time", "high_watermark", "lag", "time_lag")
_NEXT: Final = "Rules of Burrow; with health.rules lagwarden the cause is looked for, too."


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowResult:
    """Burrow's verdicts on one moment (`stream.health.evaluation.Opinion`)."""

    window: Window
    rings: Rings
    verdict: Codes
    since: Ints
    group_verdict: Codes
    group_row: Ints
    group_rows: Ints
    group_since: Ints

    @property
    def verdict_names(self) -> tuple[str, ...]:
        """See Opinion."""
        return VERDICT_NAMES

    @property
    def severities(self) -> Codes:
        """See Opinion."""
        return SEVERITIES

    def worst_by_owner(self, of: Ints, owners: int) -> Codes:
        """See Opinion."""
        return burrow.roll_up(self.verdict, of, owners)

    def row_finding(self, row: int) -> Finding:
        """See Opinion."""
        status = BurrowStatus(int(self.verdict[row]))
        return Finding(
            verdict=status.name,
            severity=Severity(int(SEVERITIES[status])),
            since=int(self.since[row]),
            sentence=self._sentence(row, status),
            evidence={**evidence(self.window, row, _EVIDENCE), **self._ring(row)},
            next_step=_NEXT,
        )

    def group_finding(self, group: int) -> Finding:
        """See Opinion."""
        row, status = int(self.group_row[group]), BurrowStatus(int(self.group_verdict[group]))
        since = int(self.group_since[group])
        return Finding(
            verdict=status.name,
            severity=Severity(int(SEVERITIES[status])),
            since=since if since >= 0 else None,
            sentence=self.group_sentence(group),
            evidence={} if row < 0 else self.row_finding(row).evidence,
            next_step=_NEXT,
        )

    def group_sentence(self, group: int) -> str:
        """See Opinion."""
        row = int(self.group_row[group])
        if row < 0:
            return "Burrow knows a group by its commits, and this one has none."
        seen, status = self.window.inputs, BurrowStatus(int(self.verdict[row]))
        place = f"{seen.topics[int(seen.topic[row])]}-{int(seen.partition[row])}"
        return f"{place} {status.name}: {self._sentence(row, status)}"

    def _sentence(self, row: int, status: BurrowStatus) -> str:
        offsets, count = self.rings.offset[row], int(self.rings.count[row])
        unread = unread_text(self.window, row)
        match status:
            case BurrowStatus.STOP:
                first, last = (int(self.rings.timestamp[row, at]) for at in (0, count - 1))
                silent = say.duration(self.window.now - last)
                span = f"the window of {say.count(count, 'commit')} spans {say.duration(last - first)}"
                return f"No commit for {silent}, while {span}: {unread}."
            case BurrowStatus.STALL:
                return f"All {say.count(count, 'commit')} in the window are of offset {int(offsets[0]):,}: {unread}."
            case BurrowStatus.REWIND:
                return f"Offsets went back within the window, to {int(offsets[:count].min()):,}: {unread}."
            case BurrowStatus.WARN:
                return f"Lag did not shrink within the window of {say.count(count, 'commit')}: {unread}."
            case BurrowStatus.NOTFOUND:
                return "There is no commit for the partition."
            case _:
                return f"No rule of Burrow holds: {unread}." if self.window.lag[row] > 0 else "All records are read."

    def _ring(self, row: int) -> dict[str, Value]:
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


class BurrowEvaluator:
    """Judges one moment after the other by Burrow's rules."""

    def __init__(self, limits: HealthLimits | None = None, *, points: int = 48, packed: bytes | None = None) -> None:
        """Begin, with what an earlier process packed, if there is any."""
        self.limits = limits or HealthLimits()
        self.history = PartitionHistory(points)
        self._rings = RingTracker()
        self._began: dict[str, tuple[str, int]] = {} if packed is None else _unpacked(packed)
        self._last: BurrowResult | None = None
        self._keys = np.empty(0, np.int64)

    def start(self, seen: HealthInputs, history: tuple[Ints, Ints] | None) -> None:
        """See Judging."""
        self.history.observe(seen)
        if history is not None:
            self.history.seed(seen, *history)

    def record_missed_tick(self) -> None:
        """See Judging."""

    def evaluate(self, seen: HealthInputs) -> BurrowResult:
        """See Judging."""
        observation = self.history.record(seen, self.limits.first_commit)
        window = windows.build(seen, observation, self.history, self.limits)
        keys = self.history.row_keys(seen)
        rows = self.history.find_rows(seen, lags.place(seen.topic, seen.partition))
        rings = self._rings.update(window, keys, rows, self.history.high_watermark, self.limits.tick)
        verdict = burrow.evaluate(rings, seen.now)
        verdict[rings.count == 0] = BurrowStatus.NOTFOUND
        groups = len(seen.groups.names)
        group_verdict = burrow.roll_up(verdict, seen.group, groups)
        group_row, group_rows = _shown(verdict, window.lag, seen.group, groups)
        since = self._since(verdict, keys, seen.now)
        group_since = self._group_since(seen, group_verdict)
        self._last = BurrowResult(
            window.trim(), rings, verdict, since, group_verdict, group_row, group_rows, group_since
        )
        self._keys = keys
        return self._last

    def pack(self) -> bytes | None:
        """Give since when each group has its verdict, as bytes for the next process."""
        return None if self._last is None else json.dumps(self._began, ensure_ascii=True).encode()

    def _since(self, verdict: Codes, keys: Ints, now: int) -> Ints:
        """Give since when each row has its verdict: as long as this process has seen it."""
        since = np.full(len(keys), now, np.int64)
        if self._last is None or not len(self._keys):
            return since
        order = np.argsort(self._keys, kind="stable")
        at = order[np.minimum(np.searchsorted(self._keys[order], keys), len(order) - 1)]
        same: Flags = (self._keys[at] == keys) & (self._last.verdict[at] == verdict)
        return np.where(same, self._last.since[at], since)

    def _group_since(self, seen: HealthInputs, verdict: Codes) -> Ints:
        began: dict[str, tuple[str, int]] = {}
        for group, code in zip(seen.groups.names, verdict.tolist(), strict=True):
            before = self._began.get(group)
            began[group] = (
                before if before is not None and before[0] == VERDICT_NAMES[code] else (VERDICT_NAMES[code], seen.now)
            )
        self._began = began
        return np.array([since for _, since in began.values()], np.int64)


def _shown(verdict: Codes, lag: Ints, of: Ints, groups: int) -> tuple[Ints, Ints]:
    """Give the row of each group that shows its verdict best, -1 for none, and how many are as bad."""
    worst = np.full(groups, BurrowStatus.NOTFOUND, np.int8)
    np.maximum.at(worst, of, verdict)
    rows = np.flatnonzero((verdict == worst[of]) & (verdict != BurrowStatus.NOTFOUND))
    rows = rows[np.lexsort((-rows, lag[rows]))]  # the last assignment wins: greatest lag, then the first row
    row = np.full(groups, -1, np.int64)
    row[of[rows]] = rows
    return row, np.bincount(of[rows], minlength=groups)


def _unpacked(packed: bytes) -> dict[str, tuple[str, int]]:
    """Read what was packed; bytes that are not of this make begin anew."""
    try:
        return {str(group): (str(word), int(since)) for group, (word, since) in json.loads(packed).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
