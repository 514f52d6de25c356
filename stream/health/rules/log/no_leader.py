"""A partition that the group reads has no leader: it can be neither read nor written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream import wording as say
from stream.health.rules.rule import Rule, no_rows
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window

_REASON: Final = "no_leader"


def _matches(window: Window) -> Flags:
    reasons, matches = window.inputs.reasons, no_rows(window)
    rows = np.flatnonzero(~window.known)
    if reasons is None or not len(rows):
        return matches
    known_at = window.remembered.known_at
    # A leader election takes seconds, the restart of a broker as long as that of any process.
    lasts = window.now - known_at > window.limits.restart_grace
    reads = window.has_members | (window.commit_time > known_at - window.limits.unlearned)
    matches[rows] = (reasons[rows] == _REASON) & (lasts & reads)[rows]
    return matches


def _sentence(window: Window, row: int) -> str:
    since = int(window.remembered.known_at[row])
    committed = int(window.committed_offset[row])
    at = f"the group stands at offset {committed:,}" if committed >= 0 else "the group has not committed it yet"
    return f"The partition has had no leader for {say.duration(window.now - since)}; {at}."


RULE = Rule(
    verdict=Verdict.NO_LEADER,
    matches=_matches,
    sentence=_sentence,
    next_step="Bring back a broker with an in-sync replica (kafka-topics.sh --describe --unavailable-partitions). An"
    " unclean leader election makes the partition available and loses its last records.",
    evidence=("committed_offset", "commit_time", "reason", "members"),
    confirm=1,
)
