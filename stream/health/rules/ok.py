"""Records are unread, no longer than this group's habits explain, or it keeps its distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream import wording as say
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _finds(window: Window) -> Flags:
    return np.ones(len(window), np.bool_)


def _sentence(window: Window, row: int) -> str:
    if window.lag[row] > 0 and window.inputs.spans.commits[row] == 1 and window.idle_time[row] > 2 * window.limits.tick:
        silent = say.duration(window.row_silence(row))
        return f"Has committed once, {silent} ago, and how often it does is not known yet: {unread_text(window, row)}."
    if window.lag[row] > 0 and window.time_lag.age[row] > window.patience[row]:
        return f"Keeps its pace and its distance: {unread_text(window, row)}."
    return f"Keeps up: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.OK,
    matches=_finds,
    sentence=_sentence,
    next_step="Nothing.",
    evidence=("lag", "time_lag", "commit_time", "produce_rate", "consume_rate"),
    confirm=1,
)
