"""Records wait, and the group has no members."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import GroupStage
from stream.health.rules.membership import mirrored
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

_NEXT_STEP: Final = "Start the consumers; see why they ended. If the group is not needed any more, delete it."


def leaves_records(window: Window) -> Flags:
    """Return the rows of groups without members whose records wait for longer than a restart or a pause explains."""
    without_members = np.minimum(window.idle_time, window.settled_time)
    # The patience covers a job that runs every hour and leaves in between, the restart limit a deployment.
    long = without_members > np.maximum(window.patience, window.limits.restart_grace)
    long &= window.idle_time > window.longest_pause
    leaves: Flags = (window.stage == GroupStage.EMPTY) & window.unread & ~window.excused & long & ~window.left
    return leaves


def _matches(window: Window) -> Flags:
    matches: Flags = leaves_records(window) & ~window.habit_unknown
    return matches


def _sentence(window: Window, row: int) -> str:
    since = window.inputs.groups.since[window.inputs.group[row]]
    for_ = f" for {say.duration(window.now - int(since))}" if since >= 0 else ""
    lost = int(window.ends.lost[row])
    removed = f"; {say.count(lost, 'offset')} below them are already lost to retention" if lost > 0 else ""
    return f"The group has had no members{for_}, with {unread_text(window, row)}{removed}."


RULE = Rule(
    verdict=Verdict.NO_MEMBERS,
    matches=_matches,
    sentence=_sentence,
    next_step=_NEXT_STEP,
    next_step_of=lambda window, row: f"{_NEXT_STEP}{mirrored.hint(window, row)}",
    evidence=("lag", "time_lag", "group_since", "members", "commit_time", "lost", "longest_pause"),
    confirm=1,
)
