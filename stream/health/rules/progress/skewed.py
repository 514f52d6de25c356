"""One partition carries the lag of a topic whose other partitions keep up."""

import numpy as np

from stream import wording as say
from stream.health.columns import Flags, consecutive_pairs, sum_by_owner
from stream.health.features import lag_trend as trends
from stream.health.features.window import Window
from stream.health.rules.members import client_text, owner_of
from stream.health.rules.rule import OWNER, Rule, no_rows, unread_text
from stream.health.verdict import Verdict

_LEAST_PARTITIONS = 3
_SHARE = 0.8


def _matches(window: Window) -> Flags:
    behind = window.behind & (window.trend != trends.FALLS)
    if not behind.any():
        return no_rows(window)
    topic, first = consecutive_pairs(window.inputs.group, window.inputs.topic)
    topics = len(first)
    partitions = np.bincount(topic[window.known], minlength=topics)
    others = np.bincount(topic[window.behind], minlength=topics) - 1
    total = sum_by_owner(window.lag, topic, topics)
    is_only_one = behind & (partitions[topic] >= _LEAST_PARTITIONS) & (others[topic] == 0)
    matches: Flags = is_only_one & (window.lag > _SHARE * total[topic])
    return matches


def _sentence(window: Window, row: int) -> str:
    inputs = window.inputs
    first, last = np.searchsorted(inputs.group, (inputs.group[row], inputs.group[row] + 1))
    same_topic = inputs.topic[first:last] == inputs.topic[row]
    share = int(window.lag[row]) / max(int(window.lag[first:last][same_topic].sum()), 1)
    size = say.count(int(same_topic.sum()), "partition")
    rate = window.rates.produce[row]
    written = "" if np.isnan(rate) else f"; it is written at {say.per_second(float(rate))}"
    client = owner_of(window, row)
    owner = "" if client is None else f" Its owner: {client_text(window, client)}."
    return f"This one of {size} carries {share:.0%} of the topic's lag: {unread_text(window, row)}{written}.{owner}"


RULE = Rule(
    verdict=Verdict.SKEWED,
    matches=_matches,
    sentence=_sentence,
    next_step="Check whether one key gets most of the records, or whether its member is slower than the others.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "patience", *OWNER),
    is_reported_beside=True,
)
