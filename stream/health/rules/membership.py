"""Rules about the members of a group: none, too many rebalances, partitions without an owner, two applications."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import lag_trend as trends
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, NO_OWNER, GroupStage
from stream.health.rules.rule import Rule, fenced_text, joined_names, no_rows, subscribers_text, unread_text
from stream.health.verdict import Verdict


def hint(window: Window, row: int) -> str:
    """Return what to do about a group that may be a copy, with a leading space; "" without a sign of that.

    Signs are topics in which MirrorMaker 2 writes checkpoints, together with a commit that no member has made.
    """
    topics, emptied = window.inputs.checkpoint_topics, int(window.inputs.groups.emptied[window.inputs.group[row]])
    has_no_member = window.stage[row] == GroupStage.OFFSETS_ONLY or 0 <= emptied < window.commit_time[row]
    if not topics or not has_no_member or window.members[row] > 0:
        return ""
    return f" If MirrorMaker 2 copies its offsets (see topic {topics[0]}), put it into groups.mirrored."


def _mirrored_sentence(window: Window, row: int) -> str:
    waits = ""
    if window.known[row] and window.committed_offset[row] >= 0:
        lag, time = say.count(int(window.lag[row]), "offset"), say.moment(int(window.commit_time[row]))
        waits = f": no client waits for the {lag} after the last one, written {time}"
    return f"Another program writes the offsets of this group (groups.mirrored), and it has no members{waits}."


MIRRORED = Rule(
    verdict=Verdict.MIRRORED,
    text="Another program writes the offsets of the group (`groups.mirrored`), which has no members: nothing reads"
    " here.",
    matches=lambda window: window.stage == GroupStage.MIRRORED,
    sentence=_mirrored_sentence,
    next_step="Nothing. With members the group is judged as any other. If consumers moved here, and nothing copies its"
    " offsets any more, take the group out of groups.mirrored.",
    evidence=("committed_offset", "commit_time", "lag", "members"),
    confirm=1,
)


_NEXT_STEP: Final = "Start the consumers; see why they ended. If the group is not needed any more, delete it."


def leaves_records(window: Window) -> Flags:
    """Return the rows of groups without members whose records wait for longer than a restart or a pause explains."""
    leaves: Flags = (window.stage == GroupStage.EMPTY) & window.unread & ~window.excused
    if not leaves.any():
        return leaves
    without_members = np.minimum(window.idle_time, window.settled_time)
    # The patience covers a job that runs every hour and leaves in between, the restart limit a deployment.
    long = without_members > np.maximum(window.patience, window.limits.restart_grace)
    long &= window.idle_time > window.longest_pause
    return leaves & long & ~window.left


def _no_members(window: Window) -> Flags:
    """Records wait, and the group has no members."""
    leaves = leaves_records(window)
    return leaves & ~window.habit_unknown if leaves.any() else leaves


def _no_members_sentence(window: Window, row: int) -> str:
    since = window.inputs.groups.since[window.inputs.group[row]]
    for_ = f" for {say.duration(window.now - int(since))}" if since >= 0 else ""
    lost = int(window.ends.lost[row])
    removed = f"; {say.count(lost, 'offset')} below them are already lost to retention" if lost > 0 else ""
    return f"The group has had no members{for_}, with {unread_text(window, row)}{removed}."


NO_MEMBERS = Rule(
    verdict=Verdict.NO_MEMBERS,
    matches=_no_members,
    sentence=_no_members_sentence,
    next_step=_NEXT_STEP,
    next_step_of=lambda window, row: f"{_NEXT_STEP}{hint(window, row)}",
    evidence=("lag", "time_lag", "group_since", "members", "commit_time", "lost", "longest_pause"),
    confirm=1,
)


_LEAST = 5


def _rebalance_storm(window: Window) -> Flags:
    """The group rebalances again and again, and its lag does not shrink."""
    groups = window.inputs.groups
    # A rolling restart of n members makes up to 2 n rebalances and then ends; an autoscaler may make a few. The last
    # member that leaves ends them.
    normal = 2 * np.maximum(groups.members, 0) + 2
    many = (groups.rebalances >= _LEAST) & (groups.rebalances > normal) & (groups.members != 0)
    # A job that runs every hour and leaves rebalances each time; its records may wait until then.
    if not many.any():
        return no_rows(window)
    waits = window.behind & (window.trend != trends.FALLS)
    matches: Flags = many[window.inputs.group] & waits
    return matches


def _rebalance_storm_sentence(window: Window, row: int) -> str:
    times = int(window.inputs.groups.rebalances[window.inputs.group[row]])
    members = say.count(int(window.members[row]), "member") if window.members[row] >= 0 else "its members"
    period = say.duration(window.limits.storm_window)
    names = joined_names(window, int(window.inputs.group[row]))
    joined = f" Joined last: {names}." if names else ""
    unread = unread_text(window, row)
    return f"{times} rebalances of {members} within {period}, with {unread}.{joined}{fenced_text(window, row)}"


REBALANCE_STORM = Rule(
    verdict=Verdict.REBALANCE_STORM,
    matches=_rebalance_storm,
    sentence=_rebalance_storm_sentence,
    next_step="See which members come and go (lagwarden explain): crashes, or polls slower than max.poll.interval.ms.",
    evidence=("rebalances", "members", "lag", "time_lag", "consume_rate", "produce_rate"),
    is_reported_beside=True,
)


def _rebalancing_too_long(window: Window) -> Flags:
    """A rebalance does not end while records wait."""
    matches: Flags = (window.stage == GroupStage.REBALANCING) & window.unread
    if matches.any():
        matches &= np.minimum(window.settled_time, window.idle_time) > window.limits.rebalance_limit
    return matches


def _rebalancing_too_long_sentence(window: Window, row: int) -> str:
    since = window.inputs.groups.since[window.inputs.group[row]]
    for_ = f"for {say.duration(window.now - int(since))}" if since >= 0 else "for a long time"
    return f"The group has been rebalancing {for_}, with {unread_text(window, row)}."


REBALANCING_TOO_LONG = Rule(
    verdict=Verdict.REBALANCING_TOO_LONG,
    matches=_rebalancing_too_long,
    sentence=_rebalancing_too_long_sentence,
    next_step="Find the member that does not rejoin: one that is busy (up to max.poll.interval.ms) delays all others.",
    evidence=("group_since", "members", "lag", "time_lag", "progress_time"),
    confirm=1,
)


def _two_applications(window: Window) -> Flags:
    """Members of the group subscribe to different topics, for longer than a rolling deploy takes: two applications."""
    since = window.memory.split_since
    matches: Flags = since >= 0
    if matches.any():
        matches &= (window.now - since > window.limits.rolling_deploy) & (window.members > 0)
    return matches


TWO_APPLICATIONS = Rule(
    verdict=Verdict.TWO_APPLICATIONS,
    matches=_two_applications,
    sentence=lambda window, row: (
        f"For {say.duration(window.now - int(window.memory.split_since[row]))}, the members have subscribed to"
        f" different topics:{subscribers_text(window, row)}."
    ),
    next_step="Give each application a group.id of its own: in one group, each restart of one stops the other, and"
    " partitions may stay without an owner. Members of one application must subscribe to the same topics.",
    evidence=("split_since", "members", "group_since", "rebalances", "lag"),
    confirm=1,
    is_reported_beside=True,
)


def may_be_assigned_soon(window: Window) -> Flags:
    """Return the partitions with records but without commit and owner that a member may get yet.

    Members look for new partitions every few minutes (metadata.max.age.ms).
    """
    matches = _unowned(window)
    if matches.any():
        matches &= (window.committed_offset == NO_COMMIT) & ~_is_overdue(window)
    return matches


def _unowned(window: Window) -> Flags:
    owner, subscribed = window.inputs.owner, window.inputs.subscribed
    if owner is None:
        return no_rows(window)
    unowned: Flags = (owner == NO_OWNER) & window.unread & ~window.excused
    if not unowned.any():
        return unowned
    wanted = subscribed != 0 if subscribed is not None else np.ones(len(window), np.bool_)
    unowned &= wanted & (window.stage != GroupStage.REBALANCING) & (window.members > 0)
    return unowned


def _is_overdue(window: Window) -> Flags:
    # A new partition has no owner until the members look for new ones.
    grace = np.where(
        window.committed_offset == NO_COMMIT, window.limits.first_commit_grace, window.limits.restart_grace
    )
    return np.minimum(window.idle_time, window.settled_time) > grace


def _unassigned(window: Window) -> Flags:
    """No member of a settled group owns a partition of a topic that the group subscribes to."""
    unowned = _unowned(window)
    return unowned & _is_overdue(window) if unowned.any() else unowned


def _unassigned_sentence(window: Window, row: int) -> str:
    members = say.count(int(window.members[row]), "member")
    different = subscribers_text(window, row)
    cause = f" The members subscribe to different topics:{different}." if different else ""
    return f"None of the group's {members} owns this partition, with {unread_text(window, row)}.{cause}"


UNASSIGNED = Rule(
    verdict=Verdict.UNASSIGNED,
    matches=_unassigned,
    sentence=_unassigned_sentence,
    next_step="Members that subscribe to different topics, or a broken assignor, leave it out: restart the group.",
    evidence=("members", "group_since", "lag", "time_lag", "committed_offset"),
    confirm=1,
)
