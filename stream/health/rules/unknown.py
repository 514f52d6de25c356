"""Nothing can be said: the lag is not known, and the reason is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.health import beyond, lag
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.windows import Window

_WORDS = {
    lag.BEYOND_END: "the committed offset is above the end of the partition",
    beyond.RECREATED: "the topic was deleted and made anew, and the offset belongs to the earlier one",
    beyond.TRUNCATED: "the log was cut back below the committed offset",
    beyond.STALE_END: "the end that the cluster gave is lower than what this group has read of the same log",
    lag.UNKNOWN_PARTITION: "the topic has no such partition",
    lag.NOT_ASKED: "the cluster has not answered for this topic yet",
    "unknown_topic": "the topic does not exist",
    "not_authorized": "the cluster does not let us describe the topic",
    "no_leader": "the partition has no leader",
}


def reason(window: Window, row: int) -> str | None:
    """Give the word for why a lag is not known; None if nothing more is known."""
    if window.broken[row]:
        return beyond.WORDS[window.broken[row]]
    reasons = window.seen.reasons
    return None if reasons is None or reasons[row] is None else str(reasons[row])


def _finds(window: Window) -> Flags:
    return ~window.known


def _sentence(window: Window, row: int) -> str:
    word = reason(window, row)
    if word is None:
        return "The lag is not known."
    return f"The lag is not known: {_WORDS.get(word, word.replace('_', ' '))}."


RULE = Rule(
    verdict=Verdict.UNKNOWN,
    finds=_finds,
    sentence=_sentence,
    next_step="See whether the topic still exists, has a leader, and may be described by lagwarden's user.",
    evidence=("committed_offset", "high_watermark", "commit_time", "reason"),
)
