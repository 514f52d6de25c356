"""The group reads more slowly than records are written, commit after commit."""

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import lag_trend as trends
from stream.health.features.window import Window
from stream.health.inputs import GroupStage
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    # During a rebalance no member reads, which says nothing about their speed.
    matches: Flags = window.behind & (window.trend == trends.RISES) & (window.stage != GroupStage.REBALANCING)
    return matches


def _sentence(window: Window, row: int) -> str:
    consume, produce = float(window.rates.consume[row]), float(window.rates.produce[row])
    consume *= not window.rates.ended[row]
    speed = ""
    if not np.isnan(consume) and not np.isnan(produce):
        speed = f" (reads {say.per_second(consume)}, written at {say.per_second(produce)})"
    return f"More lag is left after every commit{speed}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.FALLING_BEHIND,
    matches=_matches,
    sentence=_sentence,
    next_step="Give the group more members (up to one per partition), or find what has made its processing slower.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "patience"),
    # At the peak of bursts that a group works off one by one, the lag rises for a moment.
    confirm=3,
    is_reported_beside=True,
)
