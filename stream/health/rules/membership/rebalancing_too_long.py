"""A rebalance does not end while records wait."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import GroupStage
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    long = (window.settled_time > window.limits.rebalance_limit) & (window.idle_time > window.limits.rebalance_limit)
    matches: Flags = (window.stage == GroupStage.REBALANCING) & window.unread & long
    return matches


def _sentence(window: Window, row: int) -> str:
    since = window.inputs.groups.since[window.inputs.group[row]]
    for_ = f"for {say.duration(window.now - int(since))}" if since >= 0 else "for a long time"
    return f"The group has been rebalancing {for_}, with {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.REBALANCING_TOO_LONG,
    matches=_matches,
    sentence=_sentence,
    next_step="Find the member that does not rejoin: one that is busy (up to max.poll.interval.ms) delays all others.",
    evidence=("group_since", "members", "lag", "time_lag", "progress_time"),
    confirm=1,
)
