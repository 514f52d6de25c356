"""The committed offset is above the end of the partition: the log was cut back, or the topic created again."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import offset_out_of_range as beyond
from stream.health.features.lag import BEYOND_END
from stream.health.features.window import Window
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict

_TRUNCATED: Final = beyond.NAMES.index(beyond.TRUNCATED)
_OTHER_LOG: Final = [beyond.NAMES.index(name) for name in (BEYOND_END, beyond.RECREATED)]
_CAUSES: Final = {
    beyond.TRUNCATED: "The log was cut back below the committed offset",
    beyond.RECREATED: "The topic was deleted and created again, and the offset belongs to the earlier one",
    BEYOND_END: "The committed offset is above the end of the partition",
}


def _matches(window: Window) -> Flags:
    above = ~window.known & (window.committed_offset > window.ends.high_watermark) & (window.ends.high_watermark >= 0)
    cut = window.out_of_range == _TRUNCATED
    # Consumers reset their offset when they next read; a topic that is created again may have no readers yet.
    other = np.isin(window.out_of_range, _OTHER_LOG) & window.has_members
    matches: Flags = above & (cut | (other & (window.silence > window.limits.restart_grace)))
    return matches


def _sentence(window: Window, row: int) -> str:
    committed, end = int(window.committed_offset[row]), int(window.ends.high_watermark[row])
    cause = _CAUSES.get(beyond.NAMES[window.out_of_range[row]], _CAUSES[BEYOND_END])
    above = say.count(committed - end, "offset")
    return f"{cause}: {committed:,} is {above} above the end ({end:,}), and the consumer will reset."


RULE = Rule(
    verdict=Verdict.TRUNCATED,
    matches=_matches,
    sentence=_sentence,
    next_step="Set the offset before the consumer does: auto.offset.reset=latest skips what has been written since."
    " Find out why the leader lost records: an unclean leader election, or a lost disk.",
    evidence=("committed_offset", "high_watermark", "reason", "commit_time", "members"),
)
