"""The broker is about to forget an offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import wording as say
from stream.health.rules.rule import Rule, no_rows
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _finds(window: Window) -> Flags:
    expiry = window.inputs.expiry
    if expiry is None:
        return no_rows(window)
    # Never longer before than a quarter of the time that the offset lives at all: short retentions are for tests.
    life = (expiry - window.commit_time) // 4
    left = expiry - window.now
    found: Flags = (expiry >= 0) & (left < window.limits.expiry) & (left < life)
    return found


def _sentence(window: Window, row: int) -> str:
    expiry = window.inputs.expiry
    at = 0 if expiry is None else int(expiry[row])
    when = f"in {say.duration(at - window.now)}" if at > window.now else "at its next look"
    return f"The broker forgets this offset {when} ({say.moment(at)}); the group would start over by auto.offset.reset."


RULE = Rule(
    verdict=Verdict.EXPIRING,
    matches=_finds,
    sentence=_sentence,
    next_step="Start the group, or commit the offset again; if nobody needs the group any more, delete it.",
    evidence=("offset_expiry_time", "commit_time", "committed_offset", "members", "lag"),
    confirm=1,
)
