"""Faults that are shown and not paged: those that are older than the monitor, and those of forgotten groups.

A new monitor finds groups that failed long ago. Without this, each of them would raise an alert in the first minute.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from stream.health.columns import Flags
from stream.health.evaluator import EvaluationResult
from stream.health.verdict import SEVERITIES, VERDICTS, Severity, Verdict

_GOES_ON: Final = np.isin(np.array(VERDICTS), (Verdict.FALLING_BEHIND, Verdict.SKEWED))
"""By code: the faults of groups that make progress."""
_HABITS: Final = 3
"""A group that pauses regularly is forgotten after this multiple of its longest pause."""


@dataclasses.dataclass(frozen=True, slots=True)
class DayOne:
    """What is known of old faults after a tick."""

    first_look: int
    """When the first tick with this checkpoint was evaluated (ms); 0: not known."""
    evaluated_at: int = 0
    """The time of the last tick (ms)."""
    unpaged: frozenset[str] = frozenset()
    """The groups whose faults raised no alert at the last tick."""

    def advance(self, evaluation: EvaluationResult) -> DayOne:
        """Return the state after a tick."""
        names = evaluation.window.inputs.groups.names
        unpaged = frozenset(names[group] for group in np.flatnonzero(unpaged_groups(evaluation, self)).tolist())
        return DayOne(self.first_look, evaluation.window.now, unpaged)


def unpaged_groups(evaluation: EvaluationResult, before: DayOne) -> Flags:
    """Return the groups with a fault whose faults are all older than the monitor, or those of a forgotten group.

    What raised no alert at the tick `before` raises none while it lasts, also where it is not known at a tick how long
    the next record has waited. None is unpaged if the option `health.day_one` is 0.
    """
    groups = len(evaluation.group_verdict)
    if evaluation.window.limits.day_one == 0:
        return np.zeros(groups, np.bool_)
    found = _unpaged_by_rows(evaluation, before)
    # A share group has no rows; the first poll of the cluster may be later than the first tick.
    latest = before.first_look + evaluation.window.limits.share_pause
    for group, since in {} if evaluation.share is None else evaluation.share.unmoved_since().items():
        found[group] = since <= latest
    return found


def _unpaged_by_rows(evaluation: EvaluationResult, before: DayOne) -> Flags:
    """Return the groups whose rows with a fault are all older than the monitor, or those of a forgotten group."""
    group = evaluation.window.inputs.group
    groups = len(evaluation.group_verdict)
    is_fault = SEVERITIES[evaluation.verdict] >= Severity.WARNING
    if not is_fault.any():
        return np.zeros(groups, np.bool_)
    window, age = evaluation.window, evaluation.window.time_lag.age
    # The next record was already unread at the first look, and the row has not moved since.
    has_stood = (window.progress_time <= before.first_look) | _GOES_ON[evaluation.verdict]
    began_before = window.unread & (age >= 0) & (window.now - age <= before.first_look) & has_stood
    # A group without members had not committed for `day_one` when the fault began.
    usual = np.maximum(window.longest_pause * _HABITS, window.limits.day_one)
    is_late = evaluation.since - window.commit_time > usual
    old = began_before | (~window.has_members & (window.commit_time >= 0) & is_late)
    if before.unpaged:
        was_unpaged = np.array([name in before.unpaged for name in evaluation.window.inputs.groups.names], np.bool_)
        old |= was_unpaged[group] & (evaluation.since <= before.evaluated_at)
    faults = np.bincount(group[is_fault], minlength=groups)
    found: Flags = (faults > 0) & (np.bincount(group[is_fault & old], minlength=groups) == faults)
    return found
