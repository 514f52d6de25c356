"""Rules about groups that make progress: how their lag develops, and whether it is alike in all partitions."""

import numpy as np

from stream import wording as say
from stream.health.columns import Flags, consecutive_pairs, sum_by_owner
from stream.health.features import lag_trend as trends
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, GroupStage
from stream.health.rules.rule import OWNER, Rule, client_text, no_rows, owner_of, rows_of_topic, unread_text
from stream.health.verdict import Verdict


def _caught_up_sentence(window: Window, row: int) -> str:
    if window.committed_offset[row] == NO_COMMIT and window.ends.high_watermark[row] == window.ends.log_start[row]:
        return "The partition is empty: there is nothing to read."
    markers = int(window.ends.high_watermark[row]) - max(int(window.committed_offset[row]), 0)
    if window.committed_offset[row] >= 0 and markers > 0 and not window.ends.lost[row]:
        return f"All records are read; the last {say.count(markers, 'offset')} hold none."
    return "All records are read."


CAUGHT_UP = Rule(
    verdict=Verdict.CAUGHT_UP,
    text="Nothing is unread.",
    matches=lambda window: window.known & ~window.unread,
    sentence=_caught_up_sentence,
    next_step="Nothing.",
    evidence=("committed_offset", "high_watermark", "commit_time"),
    confirm=1,
)


def _ok_sentence(window: Window, row: int) -> str:
    if window.lag[row] > 0 and window.inputs.spans.commits[row] == 1 and window.idle_time[row] > 2 * window.limits.tick:
        silence = say.duration(window.row_silence(row))
        return (
            f"Has committed once, {silence} ago, and its commit interval is not known yet: {unread_text(window, row)}."
        )
    if window.lag[row] > 0 and window.time_lag.age[row] > window.patience[row]:
        return f"Keeps its pace with a constant lag: {unread_text(window, row)}."
    return f"Keeps up: {unread_text(window, row)}."


OK = Rule(
    verdict=Verdict.OK,
    text="Records are unread, but for no longer than is usual for this group, or its lag does not grow.",
    matches=lambda window: np.ones(len(window), np.bool_),
    sentence=_ok_sentence,
    verb="",
    next_step="Nothing.",
    evidence=("lag", "time_lag", "commit_time", "produce_rate", "consume_rate"),
    confirm=1,
)


def _falling_behind_sentence(window: Window, row: int) -> str:
    consume, produce = float(window.rates.consume[row]), float(window.rates.produce[row])
    consume *= not window.rates.ended[row]
    speed = ""
    if not np.isnan(consume) and not np.isnan(produce):
        speed = f" (reads {say.per_second(consume)}, written at {say.per_second(produce)})"
    return f"More lag is left after every commit{speed}: {unread_text(window, row)}."


FALLING_BEHIND = Rule(
    verdict=Verdict.FALLING_BEHIND,
    text="The group reads more slowly than records are written, commit after commit.",
    # During a rebalance no member reads, which says nothing about their speed.
    matches=lambda window: window.behind & (window.trend == trends.RISES) & (window.stage != GroupStage.REBALANCING),
    sentence=_falling_behind_sentence,
    next_step="Give the group more members (up to one per partition), or find what has made its processing slower.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "patience"),
    # At the peak of bursts that a group works off one by one, the lag rises for a moment.
    confirm=3,
    is_reported_beside=True,
)


def _recovering_sentence(window: Window, row: int) -> str:
    left = int(window.rates.catch_up[row])
    when = f", done in about {say.duration(left)} at this rate" if left > 0 and not window.rates.ended[row] else ""
    return f"Behind, but catching up{when}: {unread_text(window, row)}."


RECOVERING = Rule(
    verdict=Verdict.RECOVERING,
    text="The group is behind and catching up.",
    matches=lambda window: (
        window.behind
        & ((window.trend == trends.FALLS) | ((window.trend == trends.TOO_SHORT) & (window.rates.catch_up > 0)))
    ),
    sentence=_recovering_sentence,
    verb="is",
    next_step="Nothing, unless it takes too long for you.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "catch_up"),
)


_LEAST_PARTITIONS = 3
_SHARE = 0.8


def _skewed(window: Window) -> Flags:
    """One partition carries the lag of a topic whose other partitions keep up."""
    behind = window.behind & (window.trend != trends.FALLS)
    if not behind.any():
        return no_rows(window)
    topic, first = consecutive_pairs(window.inputs.group, window.inputs.topic)
    topics = len(first)
    is_only_one = np.bincount(topic[window.behind], minlength=topics) == 1
    matches: Flags = behind & is_only_one[topic]
    if matches.any():
        has_others = np.bincount(topic[window.known], minlength=topics) >= _LEAST_PARTITIONS
        total = sum_by_owner(window.lag, topic, topics)
        matches &= has_others[topic] & (window.lag > _SHARE * total[topic])
    return matches


def _skewed_sentence(window: Window, row: int) -> str:
    lags = window.lag[rows_of_topic(window, row)]
    share, size = int(window.lag[row]) / max(int(lags.sum()), 1), say.count(len(lags), "partition")
    rate = window.rates.produce[row]
    written = "" if np.isnan(rate) else f"; it is written at {say.per_second(float(rate))}"
    client = owner_of(window, row)
    owner = "" if client is None else f" Its owner: {client_text(window, client)}."
    return f"This one of {size} carries {share:.0%} of the topic's lag: {unread_text(window, row)}{written}.{owner}"


SKEWED = Rule(
    verdict=Verdict.SKEWED,
    matches=_skewed,
    sentence=_skewed_sentence,
    next_step="Check whether one key gets most of the records, or whether its member is slower than the others.",
    evidence=("lag", "time_lag", "produce_rate", "consume_rate", "patience", *OWNER),
    is_reported_beside=True,
)
