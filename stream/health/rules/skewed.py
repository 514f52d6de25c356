"""One partition carries the lag of a topic whose other partitions keep up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream import wording as say
from stream.health.columns import sum_by_owner
from stream.health.features import lag_trend as trends
from stream.health.rules.rule import Rule, no_rows, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.features.window import Window

_LEAST_PARTITIONS = 3
_SHARE = 0.8


def _finds(window: Window) -> Flags:
    behind = window.behind & (window.trend != trends.FALLS)
    if not behind.any():
        return no_rows(window)
    topic, topics = _topics(window)
    partitions = np.bincount(topic[window.known], minlength=topics)
    others = np.bincount(topic[window.behind], minlength=topics) - 1
    total = sum_by_owner(window.lag, topic, topics)
    alone = behind & (partitions[topic] >= _LEAST_PARTITIONS) & (others[topic] == 0)
    found: Flags = alone & (window.lag > _SHARE * total[topic])
    return found


def _topics(window: Window) -> tuple[Ints, int]:
    """Give the rows numbers by group and topic; they are sorted by these."""
    seen = window.inputs
    new = (np.diff(seen.group, prepend=-1) != 0) | (np.diff(seen.topic, prepend=-1) != 0)
    number = np.cumsum(new) - 1
    return number, int(number[-1]) + 1 if len(number) else 0


def _sentence(window: Window, row: int) -> str:
    seen = window.inputs
    first, last = np.searchsorted(seen.group, (seen.group[row], seen.group[row] + 1))
    mine = seen.topic[first:last] == seen.topic[row]
    share = int(window.lag[row]) / max(int(window.lag[first:last][mine].sum()), 1)
    size = say.count(int(mine.sum()), "partition")
    rate = window.rates.produce[row]
    fed = "" if np.isnan(rate) else f"; it is written at {say.per_second(float(rate))}"
    return f"This one of {size} carries {share:.0%} of the topic's lag: {unread_text(window, row)}{fed}."


RULE = Rule(
    verdict=Verdict.SKEWED,
    matches=_finds,
    sentence=_sentence,
    next_step="See whether one key gets most of the records, or whether its member is slower than the others.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "patience"),
)
