"""What a rule is: one pure function over the windows, and the words for a row that it finds."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream import wording as say

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.health.columns import Flags
    from stream.health.features.window import Window
    from stream.health.verdict import Verdict


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One rule. The first of `stream.health.rules.RULES` that finds a row gives it its verdict."""

    verdict: Verdict
    matches: Callable[[Window], Flags]
    sentence: Callable[[Window, int], str]
    """What is the matter with this row, in one sentence with its numbers."""
    next_step: str
    """What a person does about it."""
    evidence: tuple[str, ...]
    """The numbers it was drawn from, by their names in `stream.health.evidence.COLUMNS`."""
    confirm: int = 2
    """Over how many ticks in a row it must find a row before it is shown; 1 where the rule itself has waited."""
    next_step_of: Callable[[Window, int], str] | None = None
    """What a person does about this row, where that depends on it; None: `next_step`."""


def no_rows(window: Window) -> Flags:
    """Find nothing: what a rule says that lacks the column it lives on."""
    return np.zeros(len(window), np.bool_)


def unread_text(window: Window, row: int) -> str:
    """Say how much is unread and how long it has waited."""
    age = int(window.time_lag.age[row])
    at_least = "" if window.time_lag.exact[row] else "at least "
    lag = say.count(int(window.lag[row]), "offset")
    return f"{lag} unread" if age < 0 else f"{lag} unread, the oldest for {at_least}{say.duration(age)}"


def position_text(window: Window, row: int) -> str:
    """Say where the group stands, and since when."""
    since = window.now - int(window.progress_time[row])
    return f"offset {int(window.committed_offset[row]):,} for {say.duration(since)}"
