"""Rules about groups that make no progress while records wait."""

import dataclasses
from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags, Ints, max_by_owner
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, NO_OWNER, GroupStage
from stream.health.rules import membership
from stream.health.rules import rule as texts
from stream.health.rules.rule import OWNER, Rule, no_rows, owner_of, unread_text
from stream.health.verdict import Verdict


def _stuck_after_a_commit(window: Window) -> Flags:
    stuck: Flags = window.stuck & (window.committed_offset != NO_COMMIT)
    return stuck


def _habit_unknown(window: Window) -> Flags:
    """Records wait, and the group looks like a batch that has not been observed for long enough to know its pauses.

    For up to two hours after the first tick with the group, or after its first commit, it is not reported as `stopped`,
    `stalled`, `no_members` or `never_committed`. A group looks like a batch if its last run read a backlog of at least
    ten minutes, faster than records are written, within 30 minutes, and has not been steady before.
    """
    unknown = window.habit_unknown
    return unknown & (window.stuck | membership.leaves_records(window)) if unknown.any() else unknown


def _habit_unknown_sentence(window: Window, row: int) -> str:
    observed = say.duration(window.now - int(window.memory.first_seen[row]))
    until = say.moment(int(window.memory.schedule_unknown_until[row]))
    stood = int(window.progress_time[row])
    idle = f"no progress since {say.moment(stood)}" if window.committed_offset[row] != NO_COMMIT else "no commit yet"
    return (
        f"Habit not yet known: looks like a batch, observed for {observed}; {idle}, {unread_text(window, row)}."
        f" Not judged until {until}, unless two similar pauses have been seen before."
    )


HABIT_UNKNOWN = Rule(
    verdict=Verdict.HABIT_UNKNOWN,
    matches=_habit_unknown,
    sentence=_habit_unknown_sentence,
    next_step="Nothing, if the group is a batch that pauses now. If it should be reading, treat it as stopped.",
    evidence=("habit_since", "habit_until", "progress_time", "lag", "time_lag", "members", *OWNER),
)


def _stalled_sentence(window: Window, row: int) -> str:
    last = say.duration(window.now - int(window.commit_time[row]))
    at = texts.position_text(window, row)
    return f"Commits arrive (the last {last} ago) but stay at {at}: {unread_text(window, row)}."


STALLED = Rule(
    verdict=Verdict.STALLED,
    text="Commits arrive, but the offset does not move.",
    matches=lambda window: (
        _stuck_after_a_commit(window)
        & (window.silence <= window.patience)
        & (window.commit_time > window.progress_time)
    ),
    sentence=_stalled_sentence,
    next_step="The consumer is alive but processes no records: a blocked thread, a paused partition, an endless retry.",
    evidence=("committed_offset", "commit_time", "progress_time", "lag", "time_lag", "longest_pause", *OWNER),
    confirm=1,
    names_members=True,
)


_NEXT_STEP: Final = "Check whether the consumer still runs and what it waits for; restart one that hangs."


def _stopped_sentence(window: Window, row: int) -> str:
    silence = say.duration(window.row_silence(row))
    usual = say.duration(int(window.longest_pause[row]))
    others = ""
    if window.stage[row] == GroupStage.OFFSETS_ONLY:
        last_commits = window.commit_time[texts.rows_of_topic(window, row)]
        count = int((last_commits > window.commit_time[row] + window.longest_pause[row]).sum())
        went_on = f" {say.count(count, 'other partition')} of the topic went on: no client reads this one."
        others = went_on if count else ""
    return f"No commit for {silence}, where {usual} is the longest to expect: {unread_text(window, row)}.{others}"


def _next_step_of(window: Window, row: int) -> str:
    client = owner_of(window, row)
    if client is None:
        return f"{_NEXT_STEP}{membership.hint(window, row)}"
    name = texts.client_text(window, client)
    if texts.sends_heartbeats(window, row):
        return f"Find out what {name} waits for (take a thread dump), then restart it."
    return f"Check whether {name} still runs and what it waits for; restart it if it hangs."


STOPPED = Rule(
    verdict=Verdict.STOPPED,
    text="Records wait, and no commit arrives for longer than the group has ever taken.",
    matches=_stuck_after_a_commit,
    sentence=_stopped_sentence,
    verb="has had",
    next_step=_NEXT_STEP,
    next_step_of=_next_step_of,
    evidence=("commit_time", "longest_pause", "committed_offset", "lag", "time_lag", "members", *OWNER),
    confirm=1,
    names_members=True,
)


def _poison_record(window: Window) -> Flags:
    """A partition makes no progress while its siblings do: a record that cannot be processed, or a paused partition.

    The record is named only if another cause is excluded: the member that owns the partition works on others, or the
    group has rebalanced since, and a member that joined again does not get past the same offset. Several partitions of
    a member that stand since the same moment have stopped with the member or its client.
    """
    inputs, matches = window.inputs, no_rows(window)
    has_stuck, has_moving = np.zeros((2, len(inputs.groups.names)), np.bool_)
    has_stuck[inputs.group[window.stuck]] = has_moving[inputs.group[~window.stuck & window.known]] = True
    rows = np.flatnonzero((has_stuck & has_moving)[inputs.group])
    if not len(rows):
        return matches
    owner = np.full(len(rows), -1, np.int64) if inputs.owner is None else inputs.owner[rows]
    of_member = _siblings(window, rows, owner - NO_OWNER)
    of_topic = _siblings(window, rows, inputs.topic[rows])
    patience, known_until, members = (column[rows] for column in (window.patience, window.known_until, window.members))
    has_siblings = (owner >= 0) & (of_member.stuck + of_member.moving > 1)
    stand_apart = (of_member.stuck < of_member.moving) & (of_member.apart > patience)
    of_member_only = has_siblings & ((of_member.stuck == 1) | stand_apart)
    # The owner is not known, but there is only one.
    is_alone = (owner == -1) & (members == 1)
    returned = (members > 0) & (inputs.groups.since[inputs.group[rows]] > window.progress_time[rows])
    of_topic_only = ~has_siblings & (of_topic.stuck == 1) & (is_alone | returned)
    progress = np.where(has_siblings, of_member.progress, of_topic.progress)
    # Siblings that have stopped with their member may not be stuck yet: they must have gone on for half of the pause.
    waits_since = known_until - window.idle_time[rows]
    moves_on = progress > np.maximum(known_until - patience, waits_since + window.longest_pause[rows] // 2)
    # Without a committed offset there is no record to name.
    is_named = window.stuck[rows] & (window.committed_offset[rows] != NO_COMMIT)
    matches[rows] = is_named & (of_member_only | of_topic_only) & moves_on
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


def _siblings(window: Window, rows: Ints, number: Ints) -> _Siblings:
    """Return the siblings of each of these rows: those of the same group with the same number."""
    _, family = np.unique((window.inputs.group[rows] << 31) | number, return_inverse=True)
    families = int(family.max(initial=-1)) + 1
    stuck, progress_time = window.stuck[rows], window.progress_time[rows]
    moving = ~stuck & window.known[rows]
    # The histories of a new process are too short to know since when records wait.
    waits_since = np.where(window.time_lag.exact, window.known_until - window.idle_time, window.progress_time)[rows]
    return _Siblings(
        stuck=np.bincount(family[stuck], minlength=families)[family],
        moving=np.bincount(family[moving], minlength=families)[family],
        progress=max_by_owner(progress_time[moving], family[moving], families, -1)[family],
        apart=_apart(waits_since[stuck], family[stuck], families)[family],
    )


def _apart(since: Ints, family: Ints, families: int) -> Ints:
    order = np.lexsort((since, family))
    since, family = since[order], family[order]
    apart = np.full(families, np.iinfo(np.int64).max)
    same = family[1:] == family[:-1]
    np.minimum.at(apart, family[1:][same], np.diff(since)[same])
    return apart


POISON_RECORD = Rule(
    verdict=Verdict.POISON_RECORD,
    matches=_poison_record,
    sentence=lambda window, row: (
        f"Stuck at {texts.position_text(window, row)} while other partitions of the group make progress:"
        f" {unread_text(window, row)}."
    ),
    verb="is",
    next_step="Check the record at the committed offset and the consumer's log; or the partition may be paused.",
    evidence=("committed_offset", "progress_time", "commit_time", "lag", "time_lag", "longest_pause", *OWNER),
    confirm=1,
    names_members=True,
)
