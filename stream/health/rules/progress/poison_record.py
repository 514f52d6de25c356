"""A partition makes no progress while its siblings do: a record that cannot be processed, or a paused partition.

The record is named only if another cause is excluded: the member that owns the partition works on others, or the group
has rebalanced since, and a member that joined again does not get past the same offset. Several partitions of a member
that stand since the same moment have stopped with the member or its client.
"""

import dataclasses

import numpy as np

from stream.health.columns import Flags, Ints, max_by_owner
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, NO_OWNER
from stream.health.rules.rule import OWNER, Rule, no_rows, position_text, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    if not window.stuck.any():
        return no_rows(window)
    inputs = window.inputs
    owner = np.full(len(window), -1, np.int64) if inputs.owner is None else inputs.owner
    of_member = _siblings(window, owner - NO_OWNER)
    of_topic = _siblings(window, inputs.topic)
    has_siblings = (owner >= 0) & (of_member.stuck + of_member.moving > 1)
    stand_apart = (of_member.stuck < of_member.moving) & (of_member.apart > window.patience)
    of_member_only = has_siblings & ((of_member.stuck == 1) | stand_apart)
    # The owner is not known, but there is only one.
    is_alone = (owner == -1) & (window.members == 1)
    returned = (window.members > 0) & (inputs.groups.since[inputs.group] > window.progress_time)
    of_topic_only = ~has_siblings & (of_topic.stuck == 1) & (is_alone | returned)
    progress = np.where(has_siblings, of_member.progress, of_topic.progress)
    # Siblings that have stopped with their member may not be stuck yet: they must have gone on for half of the pause.
    waits_since = window.known_until - window.idle_time
    moves_on = progress > np.maximum(window.known_until - window.patience, waits_since + window.longest_pause // 2)
    # Without a committed offset there is no record to name.
    stuck = window.stuck & (window.committed_offset != NO_COMMIT)
    matches: Flags = stuck & (of_member_only | of_topic_only) & moves_on
    return matches


@dataclasses.dataclass(frozen=True, slots=True)
class _Siblings:
    """The rows of the same family, which should make progress together; one element per row."""

    stuck: Ints
    moving: Ints
    progress: Ints
    """When one of the moving rows last made progress (ms)."""
    apart: Ints
    """The least time (ms) between the moments since which two stuck rows wait; great if there are fewer than two."""


def _siblings(window: Window, number: Ints) -> _Siblings:
    """Return the siblings of each row: those of the same group with the same number."""
    _, family = np.unique((window.inputs.group << 31) | number, return_inverse=True)
    families = int(family.max(initial=-1)) + 1
    moving = ~window.stuck & window.known
    # The histories of a new process are too short to know since when records wait.
    waits_since = np.where(window.time_lag.exact, window.known_until - window.idle_time, window.progress_time)
    return _Siblings(
        stuck=np.bincount(family[window.stuck], minlength=families)[family],
        moving=np.bincount(family[moving], minlength=families)[family],
        progress=max_by_owner(window.progress_time[moving], family[moving], families, -1)[family],
        apart=_apart(waits_since[window.stuck], family[window.stuck], families)[family],
    )


def _apart(since: Ints, family: Ints, families: int) -> Ints:
    order = np.lexsort((since, family))
    since, family = since[order], family[order]
    apart = np.full(families, np.iinfo(np.int64).max)
    same = family[1:] == family[:-1]
    np.minimum.at(apart, family[1:][same], np.diff(since)[same])
    return apart


def _sentence(window: Window, row: int) -> str:
    stuck = f"Stuck at {position_text(window, row)} while other partitions of the group make progress"
    return f"{stuck}: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.POISON_RECORD,
    matches=_matches,
    sentence=_sentence,
    verb="is",
    next_step="Check the record at the committed offset and the consumer's log; or the partition may be paused.",
    evidence=("committed_offset", "progress_time", "commit_time", "lag", "time_lag", "longest_pause", *OWNER),
    confirm=1,
    names_members=True,
)
