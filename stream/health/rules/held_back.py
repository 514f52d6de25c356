"""A group that reads committed records only, and has read up to an open transaction that does not end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import wording as say
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _finds(window: Window) -> Flags:
    return window.stuck & window.before_transaction


def _sentence(window: Window, row: int) -> str:
    place = (int(window.inputs.topic[row]), int(window.inputs.partition[row]))
    told = window.inputs.transactions.get(place)
    since = int(window.stable_since[row]) if told is None or told.since is None else told.since
    who = "an open transaction"
    if told is not None:
        name = f" ({told.transactional_id})" if told.transactional_id else ""
        fate = ", which nobody is going to end," if told.hanging else ""
        who = f"the open transaction of producer {told.producer_id}{name}{fate}"
    offset = int(window.ends.last_stable[row])
    return f"Held back at offset {offset:,} by {who} since {say.moment(since)}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.HELD_BACK,
    matches=_finds,
    sentence=_sentence,
    next_step="End the producer's transaction; one that hangs is aborted with kafka-transactions.sh abort.",
    evidence=("last_stable_offset", "high_watermark", "committed_offset", "stable_since", "transaction", "time_lag"),
    confirm=1,
)
