"""Commits arrive, but the offset does not move."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import OWNER, Rule, position_text, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    committing = window.silence <= window.patience
    repeated = committing & (window.commit_time > window.progress_time)
    matches: Flags = window.stuck & repeated & (window.committed_offset != NO_COMMIT)
    return matches


def _sentence(window: Window, row: int) -> str:
    last = say.duration(window.now - int(window.commit_time[row]))
    return f"Commits arrive (the last {last} ago) but stay at {position_text(window, row)}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.STALLED,
    matches=_matches,
    sentence=_sentence,
    next_step="The consumer is alive but processes no records: a blocked thread, a paused partition, an endless retry.",
    evidence=("committed_offset", "commit_time", "progress_time", "lag", "time_lag", "longest_pause", *OWNER),
    confirm=1,
    names_members=True,
)
