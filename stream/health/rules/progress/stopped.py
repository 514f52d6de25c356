"""Records wait, and no commit arrives for longer than the group has ever taken."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, GroupStage
from stream.health.rules.members import client_text, owner_of, sends_heartbeats
from stream.health.rules.membership import mirrored
from stream.health.rules.rule import OWNER, Rule, unread_text
from stream.health.verdict import Verdict

_NEXT_STEP: Final = "Check whether the consumer still runs and what it waits for; restart one that hangs."


def _matches(window: Window) -> Flags:
    matches: Flags = window.stuck & (window.committed_offset != NO_COMMIT)
    return matches


def _sentence(window: Window, row: int) -> str:
    silence = say.duration(window.row_silence(row))
    usual = say.duration(int(window.longest_pause[row]))
    others = "" if window.stage[row] != GroupStage.OFFSETS_ONLY else _others_text(window, row)
    return f"No commit for {silence}, where {usual} is the longest to expect: {unread_text(window, row)}.{others}"


def _others_text(window: Window, row: int) -> str:
    """Return how many other partitions of the topic are committed lately, in a group without membership."""
    inputs = window.inputs
    first, last = np.searchsorted(inputs.group, (inputs.group[row], inputs.group[row] + 1))
    later = window.commit_time[first:last] > window.commit_time[row] + window.longest_pause[row]
    count = int((later & (inputs.topic[first:last] == inputs.topic[row])).sum())
    return f" {say.count(count, 'other partition')} of the topic went on: no client reads this one." if count else ""


def _next_step_of(window: Window, row: int) -> str:
    client = owner_of(window, row)
    if client is None:
        return f"{_NEXT_STEP}{mirrored.hint(window, row)}"
    if sends_heartbeats(window, row):
        return f"Find out what {client_text(window, client)} waits for (take a thread dump), then restart it."
    return f"Check whether {client_text(window, client)} still runs and what it waits for; restart it if it hangs."


RULE = Rule(
    verdict=Verdict.STOPPED,
    matches=_matches,
    sentence=_sentence,
    verb="has had",
    next_step=_NEXT_STEP,
    next_step_of=_next_step_of,
    evidence=("commit_time", "longest_pause", "committed_offset", "lag", "time_lag", "members", *OWNER),
    confirm=1,
    names_members=True,
)
