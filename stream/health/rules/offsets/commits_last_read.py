"""The group commits the offset of the last record it has read, not of the next one, and keeps up."""

from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    matches: Flags = window.known & window.memory.last_read & (window.lag > 0)
    return matches


def _sentence(window: Window, row: int) -> str:
    offset = int(window.committed_offset[row])
    state = "reads along" if window.unread[row] else "has read everything"
    return f"Commits the offset of the last record it has read ({offset:,}), not of the next one: it {state}."


RULE = Rule(
    verdict=Verdict.COMMITS_LAST_READ,
    matches=_matches,
    sentence=_sentence,
    verb="",
    next_step="Commit the offset of the next record (last + 1): now each restart reads the last record again.",
    evidence=("committed_offset", "high_watermark", "lag", "commit_time", "progress_time"),
)
