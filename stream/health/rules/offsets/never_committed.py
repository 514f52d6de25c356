"""A partition of the group receives records, and the group has never committed an offset for it."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT, GroupStage
from stream.health.rules.offsets.forgotten import was_removed
from stream.health.rules.rule import OWNER, Rule
from stream.health.verdict import Verdict

_LOOK: Final = "Check whether the member that owns it reads it at all, and whether it fails before its first commit."
_ASSIGN: Final = (
    "A consumer that assigns partitions to itself does not notice new ones: assign this one, or subscribe to the topic."
)


def _matches(window: Window) -> Flags:
    matches: Flags = (
        window.stuck & (window.committed_offset == NO_COMMIT) & ~was_removed(window) & ~window.habit_unknown
    )
    return matches


def _sentence(window: Window, row: int) -> str:
    since = say.duration(int(window.idle_time[row]))
    siblings = _others(window, row)
    but = f" It commits {say.count(siblings, 'other partition')} of the topic." if siblings else ""
    return f"Records have come for {since}, and the group has never committed an offset for this partition.{but}"


def _others(window: Window, row: int) -> int:
    """Return the number of partitions of the topic that the group commits."""
    inputs = window.inputs
    first, last = np.searchsorted(inputs.group, (inputs.group[row], inputs.group[row] + 1))
    same_topic = inputs.topic[first:last] == inputs.topic[row]
    return int((same_topic & (window.committed_offset[first:last] != NO_COMMIT)).sum())


def _next_step_of(window: Window, row: int) -> str:
    return _ASSIGN if window.stage[row] == GroupStage.OFFSETS_ONLY else _LOOK


RULE = Rule(
    verdict=Verdict.NEVER_COMMITTED,
    matches=_matches,
    sentence=_sentence,
    next_step=f"{_LOOK} {_ASSIGN}",
    next_step_of=_next_step_of,
    evidence=("high_watermark", "log_start_offset", "group_since", "time_lag", "members", *OWNER),
    confirm=1,
    # At a rebalance, records that no member has committed are taken as new.
    withdraw=3,
    names_members=True,
)
