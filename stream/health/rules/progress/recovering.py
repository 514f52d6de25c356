"""The group is behind and catching up."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import lag_trend as trends
from stream.health.features.window import Window
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    gains = (window.rates.catch_up > 0) & (window.trend == trends.TOO_SHORT)
    matches: Flags = window.behind & ((window.trend == trends.FALLS) | gains)
    return matches


def _sentence(window: Window, row: int) -> str:
    left = int(window.rates.catch_up[row])
    when = f", done in about {say.duration(left)} at this rate" if left > 0 and not window.rates.ended[row] else ""
    return f"Behind, but catching up{when}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.RECOVERING,
    matches=_matches,
    sentence=_sentence,
    verb="is",
    next_step="Nothing, unless it takes too long for you.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "catch_up"),
)
