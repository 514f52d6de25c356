"""The verdict changes of each group, the number of changes per verdict, and the log lines about them.

A change from one fine verdict to another is not recorded: a busy group alternates between caught up and not. The first
verdict of a group is recorded as soon as it is not unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from exporters.readmodel import VerdictChange
from exporters.wording import SEVERITIES
from stream.health.columns import Flags
from stream.health.evaluator import EvaluationResult
from stream.health.verdict import Severity

_log = structlog.get_logger(__name__)
_LOGGED_CHANGES: Final = 20
"""Changes logged with their group per tick; more are logged as a number."""
_UNKNOWN: Final = "unknown"

Histories = dict[str, list[VerdictChange]]


class VerdictHistory:
    """One instance per process. The tick thread uses it; any thread may call `changes_of`."""

    def __init__(self, keep: int, stored: Mapping[str, Iterable[VerdictChange]] | None = None) -> None:
        """Keep the newest `keep` changes of each group; `stored` are those of an earlier process."""
        self._keep = keep
        # Tuples are replaced, not changed, because other threads read them.
        self._changes: dict[str, tuple[VerdictChange, ...]] = {}
        self._last: dict[str, str] = {}
        for group, changes in (stored or {}).items():
            self._changes[group] = tuple(changes)[-keep:]
            if self._changes[group]:
                self._last[group] = self._changes[group][-1].verdict
        self._counts: Counter[str] = Counter()
        self.is_silent = False
        """Log nothing."""

    def changes_of(self, group: str) -> tuple[VerdictChange, ...]:
        """Return the changes of a group, oldest first."""
        return self._changes.get(group, ())

    @property
    def changes(self) -> Histories:
        """The changes of all groups."""
        return {group: list(changes) for group, changes in self._changes.items()}

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of groups that changed to each verdict; has all verdicts."""
        return self._counts

    def record(self, evaluation: EvaluationResult, alive: Flags, now: float) -> None:
        """Record the verdicts of the groups at `now` (Unix seconds); `alive` is False for a dead group."""
        if not self._counts:  # all from the start: a counter that begins with its first event hides it from increase()
            self._counts.update(dict.fromkeys(map(str, evaluation.verdict_names), 0))
        names = evaluation.window.inputs.groups.names
        words, severities = [str(word) for word in evaluation.verdict_names], evaluation.severities.tolist()
        fine = {word for word, severity in zip(words, severities, strict=True) if severity == Severity.FINE}
        logged = 0
        for number, (group, code, is_alive) in enumerate(
            zip(names, evaluation.group_verdict.tolist(), alive.tolist(), strict=True)
        ):
            verdict, previous = words[code], self._last.get(group)
            if not is_alive or verdict == previous or (previous is None and verdict.lower() == _UNKNOWN):
                continue
            self._last[group] = verdict
            if previous in fine and verdict in fine:
                continue
            change = VerdictChange(now, previous, verdict, evaluation.group_sentence(number))
            self._changes[group] = (*self._changes.get(group, ()), change)[-self._keep :]
            if previous is not None:
                self._counts[verdict] += 1
                logged += self._log(group, change, Severity(severities[code]), logged)
        if logged > _LOGGED_CHANGES and not self.is_silent:
            _log.info("more verdicts changed", groups=logged - _LOGGED_CHANGES)
        self._drop_unknown_groups(names)

    def _log(self, group: str, change: VerdictChange, severity: Severity, logged: int) -> int:
        """Log a change, at most `_LOGGED_CHANGES` per tick; return 1 if it is to be logged, also above that, else 0.

        `logged` is the number of changes to be logged at this tick so far.
        """
        if self.is_silent or (severity < Severity.WARNING and change.before in {None, _UNKNOWN}):
            return 0
        if logged < _LOGGED_CHANGES:
            _log.info(
                "verdict changed",
                group=group,
                verdict=change.verdict,
                severity=SEVERITIES[severity],
                before=change.before,
                why=change.sentence,
            )
        return 1

    def _drop_unknown_groups(self, names: Iterable[str]) -> None:
        """Drop the changes of groups that are not in `names`."""
        for group in self._last.keys() - set(names):
            del self._last[group]
            self._changes.pop(group, None)
