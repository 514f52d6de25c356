"""Records wait, and no commit arrives for longer than the group has ever taken."""

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
    matches: Flags = window.stuck & (window.committed_offset != NO_COMMIT)
    return matches


def _sentence(window: Window, row: int) -> str:
    silence = say.duration(window.row_silence(row))
    usual = say.duration(int(window.patience[row]))
    return f"No commit for {silence}, where {usual} would be the most to expect: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.STOPPED,
    matches=_matches,
    sentence=_sentence,
    next_step="Check whether the consumer still runs and what it waits for; restart one that hangs.",
    evidence=("commit_time", "patience", "committed_offset", "lag", "time_lag", "members"),
    confirm=1,
)
