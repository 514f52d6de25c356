"""A partition makes no progress while its siblings do: a record that cannot be processed, or a paused partition."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import max_by_owner
from stream.health.inputs import NO_COMMIT, NO_OWNER
from stream.health.rules.rule import OWNER, Rule, no_rows, position_text, unread_text
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.features.window import Window


def _matches(window: Window) -> Flags:
    if not window.stuck.any():
        return no_rows(window)
    inputs = window.inputs
    owner = np.full(len(window), -1, np.int64) if inputs.owner is None else inputs.owner
    of_member = _siblings(window, owner - NO_OWNER)
    of_topic = _siblings(window, inputs.topic)
    # If one member makes progress on other partitions, records are the cause on the stuck ones, however many. Where
    # owners are not known, or own one partition each, more than one stuck partition may as well be a member that died.
    has_siblings = (owner >= 0) & (of_member.stuck + of_member.moving > 1)
    few = np.where(has_siblings, (of_member.stuck == 1) | (of_member.stuck < of_member.moving), of_topic.stuck == 1)
    progress = np.where(has_siblings, of_member.progress, of_topic.progress)
    # Without a committed offset there is no record to name.
    stuck = window.stuck & (window.committed_offset != NO_COMMIT)
    matches: Flags = stuck & few & (progress > window.known_until - window.patience)
    return matches


@dataclasses.dataclass(frozen=True, slots=True)
class _Siblings:
    """The rows of the same family, which should make progress together; one element per row."""

    stuck: Ints
    moving: Ints
    progress: Ints
    """When one of the moving rows last made progress (ms)."""


def _siblings(window: Window, number: Ints) -> _Siblings:
    """Return the siblings of each row: those of the same group with the same number."""
    _, family = np.unique((window.inputs.group << 31) | number, return_inverse=True)
    families = int(family.max(initial=-1)) + 1
    moving = ~window.stuck & window.known
    return _Siblings(
        stuck=np.bincount(family[window.stuck], minlength=families)[family],
        moving=np.bincount(family[moving], minlength=families)[family],
        progress=max_by_owner(window.progress_time[moving], family[moving], families, -1)[family],
    )


def _sentence(window: Window, row: int) -> str:
    stuck = f"Stuck at {position_text(window, row)} while other partitions of the group make progress"
    return f"{stuck}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.POISON_RECORD,
    matches=_matches,
    sentence=_sentence,
    next_step="Check the record at the committed offset and the consumer's log; or the partition may be paused.",
    evidence=("committed_offset", "progress_time", "commit_time", "lag", "time_lag", "longest_pause", *OWNER),
    names_members=True,
)
