"""A partition of the group receives records, and the group has never committed an offset for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import wording as say
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import OWNER, Rule
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _matches(window: Window) -> Flags:
    matches: Flags = window.stuck & (window.committed_offset == NO_COMMIT)
    return matches


def _sentence(window: Window, row: int) -> str:
    since = say.duration(int(window.idle_time[row]))
    return f"Records have come for {since}, and the group has never committed an offset for this partition."


RULE = Rule(
    verdict=Verdict.NEVER_COMMITTED,
    matches=_matches,
    sentence=_sentence,
    next_step="Check whether the member that owns it reads it at all, and whether it fails before its first commit.",
    evidence=("high_watermark", "log_start_offset", "group_since", "time_lag", "members", *OWNER),
    confirm=1,
    names_members=True,
)
