"""Offsets of a topic that no member of a living group subscribes to any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import wording as say
from stream.health.rules.rule import Rule, no_rows
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _finds(window: Window) -> Flags:
    subscribed = window.inputs.subscribed
    if subscribed is None:
        return no_rows(window)
    silent = window.silence > window.limits.restart
    found: Flags = (subscribed == 0) & (window.members > 0) & silent & (window.settled_time > window.limits.restart)
    return found


def _sentence(window: Window, row: int) -> str:
    silent = say.duration(window.now - int(window.commit_time[row]))
    members = say.count(int(window.members[row]), "member")
    return f"None of the {members} subscribes to this topic; its last commit is {silent} old."


RULE = Rule(
    verdict=Verdict.ABANDONED,
    matches=_finds,
    sentence=_sentence,
    next_step="If the group is done with the topic, delete its offsets (kafka-consumer-groups --delete-offsets).",
    evidence=("committed_offset", "commit_time", "members", "lag"),
)
