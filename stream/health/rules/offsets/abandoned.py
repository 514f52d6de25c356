"""The group has offsets of a topic that none of its members subscribes to, or that none of its last ones did."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.rule import Rule, no_rows
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    subscribed = window.inputs.subscribed
    if subscribed is None:
        return no_rows(window)
    is_silent = window.silence > window.limits.restart_grace
    has_settled = (window.members > 0) & (window.settled_time > window.limits.restart_grace)
    matches: Flags = ((subscribed == 0) & is_silent & has_settled) | window.left
    return matches


def _sentence(window: Window, row: int) -> str:
    age = say.duration(window.now - int(window.commit_time[row]))
    members = say.count(int(window.members[row]), "member")
    if window.members[row] <= 0:
        last = say.moment(int(window.memory.unsubscribed_until[row]))
        return f"None of the last members, until {last}, subscribed to this topic; its last commit is {age} old."
    return f"None of the {members} subscribes to this topic; its last commit is {age} old."


RULE = Rule(
    verdict=Verdict.ABANDONED,
    matches=_matches,
    sentence=_sentence,
    next_step="If the group is done with the topic, delete its offsets (kafka-consumer-groups.sh --delete-offsets).",
    evidence=("committed_offset", "commit_time", "members", "lag"),
)
