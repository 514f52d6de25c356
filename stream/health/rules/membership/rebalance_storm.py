"""The group rebalances again and again, and its lag does not shrink."""

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features import lag_trend as trends
from stream.health.features.window import Window
from stream.health.rules.members import fenced_text, joined_names
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

_LEAST = 5


def _matches(window: Window) -> Flags:
    groups = window.inputs.groups
    # A rolling restart of n members makes up to 2 n rebalances and then ends; an autoscaler may make a few. The last
    # member that leaves ends them.
    normal = 2 * np.maximum(groups.members, 0) + 2
    many = (groups.rebalances >= _LEAST) & (groups.rebalances > normal) & (groups.members != 0)
    # A job that runs every hour and leaves rebalances each time; its records may wait until then.
    waits = window.behind & (window.trend != trends.FALLS)
    matches: Flags = many[window.inputs.group] & waits
    return matches


def _sentence(window: Window, row: int) -> str:
    times = int(window.inputs.groups.rebalances[window.inputs.group[row]])
    members = say.count(int(window.members[row]), "member") if window.members[row] >= 0 else "its members"
    period = say.duration(window.limits.storm_window)
    names = joined_names(window, int(window.inputs.group[row]))
    joined = f" Joined last: {names}." if names else ""
    unread = unread_text(window, row)
    return f"{times} rebalances of {members} within {period}, with {unread}.{joined}{fenced_text(window, row)}"


RULE = Rule(
    verdict=Verdict.REBALANCE_STORM,
    matches=_matches,
    sentence=_sentence,
    next_step="See which members come and go (lagwarden explain): crashes, or polls slower than max.poll.interval.ms.",
    evidence=("rebalances", "members", "lag", "time_lag", "consume_rate", "produce_rate"),
    is_reported_beside=True,
)
