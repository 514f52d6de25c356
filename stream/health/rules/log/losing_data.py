"""Retention removes records that an active group has not read, or is about to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import wording as say
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _matches(window: Window) -> Flags:
    lost = (window.ends.lost > 0) & (window.committed_offset != NO_COMMIT)
    is_active = window.has_members | (window.silence <= window.patience)
    matches: Flags = (lost | window.losing) & is_active & window.known
    return matches


def _sentence(window: Window, row: int) -> str:
    lost = int(window.ends.lost[row])
    if lost > 0:
        start = f"the log now starts at {int(window.ends.log_start[row]):,}"
        return f"Retention has removed {say.count(lost, 'offset')} before the group read them: {start}."
    soon = say.duration(int(window.loss_in[row]))
    margin = say.count(int(window.ends.margin[row]), "offset")
    return f"Retention will overtake the group in about {soon}: {margin} of margin, {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.LOSING_DATA,
    matches=_matches,
    sentence=_sentence,
    next_step="Raise the topic's retention (retention.ms, retention.bytes) now, then make the group faster.",
    evidence=("lost", "margin", "loss_in", "log_start_offset", "committed_offset", "lag", "time_lag", "consume_rate"),
    confirm=1,
)
