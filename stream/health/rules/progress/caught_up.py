"""Nothing is unread."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    return window.known & ~window.unread


def _sentence(window: Window, row: int) -> str:
    if window.committed_offset[row] == NO_COMMIT and window.ends.high_watermark[row] == window.ends.log_start[row]:
        return "The partition is empty: there is nothing to read."
    markers = int(window.ends.high_watermark[row]) - max(int(window.committed_offset[row]), 0)
    if window.committed_offset[row] >= 0 and markers > 0 and not window.ends.lost[row]:
        return f"All records are read; the last {say.count(markers, 'offset')} hold none."
    return "All records are read."


RULE = Rule(
    verdict=Verdict.CAUGHT_UP,
    matches=_matches,
    sentence=_sentence,
    next_step="Nothing.",
    evidence=("committed_offset", "high_watermark", "commit_time"),
    confirm=1,
)
