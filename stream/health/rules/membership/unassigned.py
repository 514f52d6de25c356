"""No member of a settled group owns a partition of a topic that the group subscribes to."""

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, NO_OWNER, GroupStage
from stream.health.rules.members import subscribers_text
from stream.health.rules.rule import Rule, no_rows, unread_text
from stream.health.verdict import Verdict


def may_be_assigned_soon(window: Window) -> Flags:
    """Return the partitions with records but without commit and owner that a member may get yet.

    Members look for new partitions every few minutes (metadata.max.age.ms).
    """
    matches: Flags = _unowned(window) & (window.committed_offset == NO_COMMIT) & ~_is_overdue(window)
    return matches


def _matches(window: Window) -> Flags:
    return _unowned(window) & _is_overdue(window)


def _unowned(window: Window) -> Flags:
    owner, subscribed = window.inputs.owner, window.inputs.subscribed
    if owner is None:
        return no_rows(window)
    wanted = subscribed != 0 if subscribed is not None else np.ones(len(window), np.bool_)
    settled = (window.stage != GroupStage.REBALANCING) & (window.members > 0)
    matches: Flags = (owner == NO_OWNER) & wanted & settled & window.unread & ~window.excused
    return matches


def _is_overdue(window: Window) -> Flags:
    # A new partition has no owner until the members look for new ones.
    grace = np.where(
        window.committed_offset == NO_COMMIT, window.limits.first_commit_grace, window.limits.restart_grace
    )
    overdue: Flags = np.minimum(window.idle_time, window.settled_time) > grace
    return overdue


def _sentence(window: Window, row: int) -> str:
    members = say.count(int(window.members[row]), "member")
    different = subscribers_text(window, row)
    cause = f" The members subscribe to different topics:{different}." if different else ""
    return f"None of the group's {members} owns this partition, with {unread_text(window, row)}.{cause}"


RULE = Rule(
    verdict=Verdict.UNASSIGNED,
    matches=_matches,
    sentence=_sentence,
    next_step="Members that subscribe to different topics, or a broken assignor, leave it out: restart the group.",
    evidence=("members", "group_since", "lag", "time_lag", "committed_offset"),
    confirm=1,
)
