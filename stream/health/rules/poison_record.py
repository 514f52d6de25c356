"""One partition stands still while its siblings move: a record that cannot be processed, or a partition on hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import max_by_owner
from stream.health.rules.rule import Rule, no_rows, position_text, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.features.window import Window


def _finds(window: Window) -> Flags:
    if not window.stuck.any():
        return no_rows(window)
    family, families, by_member = _families(window)
    stuck = np.bincount(family[window.stuck], minlength=families)
    moving = ~window.stuck & window.known
    movers = np.bincount(family[moving], minlength=families)
    progress = max_by_owner(window.progress_time[moving], family[moving], families, -1)
    # Stuck partitions of one member that reads others well are its records' fault, however many; where it is not known
    # whose they are, more than one may as well be a member that died.
    alone = (stuck[family] == 1) | (by_member & (stuck[family] < movers[family]))
    found: Flags = window.stuck & alone & (progress[family] > window.known_until - window.patience)
    return found


def _families(window: Window) -> tuple[Ints, int, Flags]:
    """Give the rows numbers by what should move together: partitions of one member, else of one topic of the group."""
    seen = window.inputs
    owner = np.full(len(window), -1, np.int64) if seen.owner is None else seen.owner
    by_member = owner >= 0
    sibling = np.where(by_member, owner, (np.int64(1) << 30) + seen.topic)
    _, family = np.unique((seen.group << 31) | sibling, return_inverse=True)
    return family, int(family.max(initial=-1)) + 1, by_member


def _sentence(window: Window, row: int) -> str:
    return f"Stuck at {position_text(window, row)} while the partitions beside it move on: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.POISON_RECORD,
    matches=_finds,
    sentence=_sentence,
    next_step="Look at the record at the committed offset, and at the consumer's log; or is the partition paused?",
    evidence=("committed_offset", "progress_time", "commit_time", "lag", "time_lag", "patience"),
    confirm=1,
)
