"""Records are unread, but for no longer than is usual for this group, or its lag does not grow."""

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    return np.ones(len(window), np.bool_)


def _sentence(window: Window, row: int) -> str:
    if window.lag[row] > 0 and window.inputs.spans.commits[row] == 1 and window.idle_time[row] > 2 * window.limits.tick:
        silence = say.duration(window.row_silence(row))
        return (
            f"Has committed once, {silence} ago, and its commit interval is not known yet: {unread_text(window, row)}."
        )
    if window.lag[row] > 0 and window.time_lag.age[row] > window.patience[row]:
        return f"Keeps its pace with a constant lag: {unread_text(window, row)}."
    return f"Keeps up: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.OK,
    matches=_matches,
    sentence=_sentence,
    verb="",
    next_step="Nothing.",
    evidence=("lag", "time_lag", "commit_time", "produce_rate", "consume_rate"),
    confirm=1,
)
