"""How the verdicts of groups changed: the newest changes of each, how many turned to what, and what is worth a line.

A turn from one fine verdict to another is no change: a busy group is caught up and not by turns. What a group begins
with is noted once something is known of it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import structlog

from exporters.readmodel import VerdictChange
from stream.health.verdict import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.health.columns import Flags
    from stream.health.evaluation import Evaluation

_log = structlog.get_logger(__name__)
_LINES: Final = 20
"""Changes told one by one at a tick; of more, only how many."""
_BEGINNING: Final = "unknown"

Histories = dict[str, list[VerdictChange]]


class VerdictHistory:
    """One instance per process; used by the thread of the ticks, but for `of`."""

    def __init__(self, keep: int, kept: Mapping[str, Iterable[VerdictChange]] | None = None) -> None:
        """Keep so many changes of each group; `kept` is what an earlier process had."""
        self._keep = keep
        # Tuples that are replaced: readers on other threads see one or the other.
        self._changes: dict[str, tuple[VerdictChange, ...]] = {}
        self._last: dict[str, str] = {}
        for group, changes in (kept or {}).items():
            self._changes[group] = tuple(changes)[-keep:]
            if self._changes[group]:
                self._last[group] = self._changes[group][-1].verdict
        self._counts: Counter[str] = Counter()
        self.quiet = False
        """Whether nothing is logged."""

    def of(self, group: str) -> tuple[VerdictChange, ...]:
        """Give a group's changes, oldest first."""
        return self._changes.get(group, ())

    @property
    def changes(self) -> Histories:
        """The changes of all groups."""
        return {group: list(changes) for group, changes in self._changes.items()}

    @property
    def counts(self) -> Mapping[str, int]:
        """How many groups turned to what, by verdict; all verdicts that there are."""
        return self._counts

    def note(self, opinion: Evaluation, alive: Flags, now: float) -> None:
        """Take in what is shown of the groups at a moment (Unix seconds); of the dead nothing is."""
        if not self._counts:  # all from the start: a counter that begins with its first event hides it from increase()
            self._counts.update(dict.fromkeys(map(str, opinion.verdict_names), 0))
        names = opinion.window.inputs.groups.names
        words, severities = [str(word) for word in opinion.verdict_names], opinion.severities.tolist()
        fine = {word for word, severity in zip(words, severities, strict=True) if severity == Severity.FINE}
        told = 0
        for at, (group, code, living) in enumerate(
            zip(names, opinion.group_verdict.tolist(), alive.tolist(), strict=True)
        ):
            verdict, before = words[code], self._last.get(group)
            if not living or verdict == before or (before is None and verdict.lower() == _BEGINNING):
                continue
            self._last[group] = verdict
            if before in fine and verdict in fine:
                continue
            change = VerdictChange(now, before, verdict, opinion.group_sentence(at))
            self._changes[group] = (*self._changes.get(group, ()), change)[-self._keep :]
            if before is not None:
                self._counts[verdict] += 1
                told += self._tell(group, change, Severity(severities[code]), told)
        if told > _LINES and not self.quiet:
            _log.info("more verdicts changed", groups=told - _LINES)
        self._forget(names)

    def _tell(self, group: str, change: VerdictChange, severity: Severity, told: int) -> int:
        if self.quiet or (severity < Severity.WARNING and change.before in {None, _BEGINNING}):
            return 0
        if told < _LINES:
            _log.info(
                "a group's verdict changed",
                group=group,
                verdict=change.verdict,
                severity=severity.name.lower(),
                before=change.before,
                why=change.sentence,
            )
        return 1

    def _forget(self, names: Iterable[str]) -> None:
        """Let go of groups that are not known any more."""
        for group in self._last.keys() - set(names):
            del self._last[group]
            self._changes.pop(group, None)
