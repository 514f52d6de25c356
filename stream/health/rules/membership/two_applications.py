"""Members of the group subscribe to different topics, for longer than a rolling deploy takes: two applications."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.members import subscribers_text
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    since = window.memory.split_since
    matches: Flags = (since >= 0) & (window.now - since > window.limits.rolling_deploy) & (window.members > 0)
    return matches


def _sentence(window: Window, row: int) -> str:
    since = window.now - int(window.memory.split_since[row])
    return (
        f"For {say.duration(since)}, the members have subscribed to different topics:{subscribers_text(window, row)}."
    )


RULE = Rule(
    verdict=Verdict.TWO_APPLICATIONS,
    matches=_matches,
    sentence=_sentence,
    next_step="Give each application a group.id of its own: in one group, each restart of one stops the other, and"
    " partitions may stay without an owner. Members of one application must subscribe to the same topics.",
    evidence=("split_since", "members", "group_since", "rebalances", "lag"),
    confirm=1,
    is_reported_beside=True,
)
