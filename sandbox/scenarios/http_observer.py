"""The observer that reads the API of a running monitor over HTTP."""

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
    """Reads `/api/v1/groups`, and then each group.

    `get` returns the JSON of a path, None where there is no such thing. While the monitor does not answer (OSError) or
    is not ready, the observer is unavailable.
    """

    def __init__(self, get: Callable[[str], Any]) -> None:
        self.name = "monitor"
        self._get = get

    def observe(self) -> Mapping[str, ObservedGroup] | None:
        """See Observer."""
        try:
            if not (self._get("/readyz") or {}).get("ready"):
                return None
            names = [row["group"] for row in self._get("/api/v1/groups")["groups"]]
            groups = {name: self._get(f"/api/v1/groups/{urllib.parse.quote(name, safe='')}") for name in names}
        except OSError:
            return None
        return {name: _observed(group) for name, group in groups.items() if group is not None}


def _observed(group: Mapping[str, Any]) -> ObservedGroup:
    transitions = tuple(
        ExpectedTransition(each["transition"], each["joined"], each["left"], each["cause"])
        for each in group["transitions"] or ()
    )
    if group["state"] == DEAD_STATE:
        return ObservedGroup(None, transitions)
    return ObservedGroup(
        GroupFacts(
            kind="classic" if group["kind"] == "simple" else group["kind"],
            state=group["state"],
            members=tuple(_member(member, group["kind"]) for member in group["by_member"] or ()),
            offsets=tuple(
                ((each["topic"], each["partition"]), each["committed_offset"])
                for each in group["by_partition"]
                if each["committed_offset"] is not None
            ),
            strategy=group["protocol"],
            group_epoch=group["group_epoch"],
            assignment_epoch=group["assignment_epoch"],
        ),
        transitions,
    )


def _member(member: Mapping[str, Any], kind: str) -> MemberFacts:
    places = tuple((topic, partition) for topic, partitions in member["assignment"].items() for partition in partitions)
    return MemberFacts(
        member_id=member["member_id"],
        client_id=member["client_id"],
        host=member["client_host"],
        instance_id=member["instance_id"],
        assignment=None if kind == "streams" else places,
    )
