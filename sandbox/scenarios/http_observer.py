"""The witness that asks a running monitor by HTTP, as people and programs do."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any

from sandbox.scenarios.comparison import ObservedGroup
from sandbox.scenarios.history import ExpectedTransition
from sandbox.scenarios.official import GroupFacts, MemberFacts
from stream.groups.lifecycle.model import DEAD_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class HttpObserver:
    """Asks `/api/v1/groups` and then for each group.

    `ask` gives the JSON under a path, None where there is no such thing. While nobody answers (OSError), or what
    answers does not call itself ready, the witness is away.
    """

    def __init__(self, ask: Callable[[str], Any]) -> None:
        self.name = "monitor"
        self._ask = ask

    def look(self) -> Mapping[str, ObservedGroup] | None:
        """See Witness."""
        try:
            if not (self._ask("/readyz") or {}).get("ready"):
                return None
            named = [row["group"] for row in self._ask("/api/v1/groups")["groups"]]
            told = {name: self._ask(f"/api/v1/groups/{urllib.parse.quote(name, safe='')}") for name in named}
        except OSError:
            return None
        return {name: _finding(answer) for name, answer in told.items() if answer is not None}


def _finding(told: Mapping[str, Any]) -> ObservedGroup:
    transitions = tuple(
        ExpectedTransition(each["transition"], each["came"], each["went"], each["cause"])
        for each in told["transitions"] or ()
    )
    if told["state"] == DEAD_STATE:
        return ObservedGroup(None, transitions)
    return ObservedGroup(
        GroupFacts(
            kind="classic" if told["kind"] == "simple" else told["kind"],
            state=told["state"],
            members=tuple(_member(member, told["kind"]) for member in told["by_member"] or ()),
            offsets=tuple(
                ((each["topic"], each["partition"]), each["committed_offset"])
                for each in told["by_partition"]
                if each["committed_offset"] is not None
            ),
            strategy=told["protocol"],
            group_epoch=told["group_epoch"],
            assignment_epoch=told["assignment_epoch"],
        ),
        transitions,
    )


def _member(told: Mapping[str, Any], kind: str) -> MemberFacts:
    places = tuple((topic, partition) for topic, partitions in told["assignment"].items() for partition in partitions)
    return MemberFacts(
        member_id=told["member_id"],
        client_id=told["client_id"],
        host=told["client_host"],
        instance_id=told["instance_id"],
        assignment=None if kind == "streams" else places,
    )
