"""A partition makes no progress while its siblings do: a record that cannot be processed, or a paused partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import max_by_owner
from stream.health.rules.rule import Rule, no_rows, position_text, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.features.window import Window


def _matches(window: Window) -> Flags:
    if not window.stuck.any():
        return no_rows(window)
    family, families, by_member = _families(window)
    stuck = np.bincount(family[window.stuck], minlength=families)
    moving = ~window.stuck & window.known
    movers = np.bincount(family[moving], minlength=families)
    progress = max_by_owner(window.progress_time[moving], family[moving], families, -1)
    # If one member makes progress on other partitions, records are the cause on the stuck ones, however many. Where
    # owners are not known, more than one stuck partition may as well be a member that died.
    alone = (stuck[family] == 1) | (by_member & (stuck[family] < movers[family]))
    matches: Flags = window.stuck & alone & (progress[family] > window.known_until - window.patience)
    return matches


def _families(window: Window) -> tuple[Ints, int, Flags]:
    """Return a family number per row, how many there are, and the rows whose family is that of a member.

    A family should make progress together: the partitions of one member, or of one topic of the group where owners are
    not known.
    """
    inputs = window.inputs
    owner = np.full(len(window), -1, np.int64) if inputs.owner is None else inputs.owner
    by_member = owner >= 0
    sibling = np.where(by_member, owner, (np.int64(1) << 30) + inputs.topic)
    _, family = np.unique((inputs.group << 31) | sibling, return_inverse=True)
    return family, int(family.max(initial=-1)) + 1, by_member


def _sentence(window: Window, row: int) -> str:
    stuck = f"Stuck at {position_text(window, row)} while other partitions of the group make progress"
    return f"{stuck}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.POISON_RECORD,
    matches=_matches,
    sentence=_sentence,
    next_step="Check the record at the committed offset and the consumer's log; or the partition may be paused.",
    evidence=("committed_offset", "progress_time", "commit_time", "lag", "time_lag", "patience"),
    confirm=1,
)
