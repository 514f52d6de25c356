"""All groups at this moment as Kafka's own tools show them: the reference that every observer is compared with.

`kafka-consumer-groups`, `kafka-share-groups` and `kafka-streams-groups`, each with `--list --state` and `--describe`
with `--offsets`, `--members --verbose` and `--state --verbose`, run in the JVM of `JavaClients`.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final

from sandbox.kafka import tools
from sandbox.scenarios.actions import GROUP_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.clients.java_clients import JavaClients

Place = tuple[str, int]
"""A topic and a partition."""
ToolRow = dict[str, str | None]
ATTEMPTS: Final = 20
_CONSUMER: Final = GROUP_TOOLS["consumer"]


@dataclasses.dataclass(frozen=True, slots=True)
class MemberFacts:
    """One member. None: the tool for its kind of group does not show it."""

    member_id: str
    client_id: str
    host: str | None
    instance_id: str | None = None
    # Partitions owned now, sorted.
    assignment: tuple[Place, ...] | None = None
    # Its current and its target assignment are the same; always true of classic members.
    settled: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFacts:
    """One group as the tools show it; `kind` is classic, consumer, share or streams (simple ones are classic)."""

    kind: str
    state: str
    members: tuple[MemberFacts, ...]
    # Of partitions with a committed offset; None: the tool does not show them.
    offsets: tuple[tuple[Place, int], ...] | None
    strategy: str | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None

    @property
    def owned(self) -> int:
        """The number of partitions that the members own together."""
        return sum(len(member.assignment or ()) for member in self.members)


def read_groups(java_clients: JavaClients) -> dict[str, GroupFacts]:
    """Return all groups by name. Repeated when a group is removed between two calls of the tools. Raises ToolError."""
    for _ in range(ATTEMPTS):
        try:
            return _consumer_groups(java_clients) | _share_groups(java_clients) | _streams_groups(java_clients)
        except (tools.ToolError, KeyError) as error:
            failed = error
            time.sleep(0.2)
    raise tools.ToolError(f"the tools failed {ATTEMPTS} times to describe all groups: {failed!r}")


def _consumer_groups(java_clients: JavaClients) -> dict[str, GroupFacts]:
    kinds = {
        _text(row, "GROUP"): _text(row, "TYPE") for row in _run(java_clients, _CONSUMER, "--list", "--state", "--type")
    }
    if not kinds:
        return {}
    offsets, members, states = _describe(java_clients, _CONSUMER, "--offsets")
    return {
        group: GroupFacts(
            kind=kinds[group].lower(),
            state=_text(state, "STATE"),
            members=_sorted(_consumer_member(row) for row in members if row["GROUP"] == group),
            offsets=_offsets(row for row in offsets if row["GROUP"] == group),
            strategy=state["ASSIGNMENT-STRATEGY"],
            group_epoch=_number(state["GROUP-EPOCH"]),
            assignment_epoch=_number(state["TARGET-ASSIGNMENT-EPOCH"]),
        )
        for state in states
        if (group := _text(state, "GROUP"))
    }


def _share_groups(java_clients: JavaClients) -> dict[str, GroupFacts]:
    tool = GROUP_TOOLS["share"]
    if not _run(java_clients, tool, "--list", "--state"):
        return {}
    _, members, states = _describe(java_clients, tool, "--offsets")
    return {
        group: GroupFacts(
            kind="share",
            state=_text(state, "STATE"),
            members=_sorted(
                MemberFacts(
                    _text(row, "CONSUMER-ID"),
                    _text(row, "CLIENT-ID"),
                    row["HOST"],
                    None,
                    _partitions(row["ASSIGNMENT"]),
                )
                for row in members
                if row["GROUP"] == group
            ),
            offsets=(),
            group_epoch=_number(state["GROUP-EPOCH"]),
            assignment_epoch=_number(state["ASSIGNMENT-EPOCH"]),
        )
        for state in states
        if (group := _text(state, "GROUP"))
    }


def _streams_groups(java_clients: JavaClients) -> dict[str, GroupFacts]:
    tool = GROUP_TOOLS["streams"]
    listed = {_text(row, "GROUP"): _text(row, "STATE") for row in _run(java_clients, tool, "--list", "--state")}
    if not listed:
        return {}
    offsets, members, states = _describe(java_clients, tool, "--offsets", "--verbose")
    described = {_text(row, "GROUP"): row for row in states}
    with_members = {_text(row, "GROUP") for row in members}
    return {
        group: GroupFacts(
            kind="streams",
            state=state,
            members=_sorted(_streams_member(row) for row in members if row["GROUP"] == group),
            # The tool prints no offsets of a group without members.
            offsets=_offsets(row for row in offsets if row["GROUP"] == group) if group in with_members else None,
            group_epoch=_number(described.get(group, {}).get("GROUP-EPOCH")),
            assignment_epoch=_number(described.get(group, {}).get("TARGET-ASSIGNMENT-EPOCH")),
        )
        for group, state in listed.items()
    }


def _describe(
    java_clients: JavaClients, tool: str, *offset_arguments: str
) -> tuple[list[ToolRow], list[ToolRow], list[ToolRow]]:
    views = (offset_arguments, ("--members", "--verbose"), ("--state", "--verbose"))
    offsets_rows, member_rows, state_rows = (
        _run(java_clients, tool, "--describe", "--all-groups", *view) for view in views
    )
    return offsets_rows, member_rows, state_rows


def _run(java_clients: JavaClients, tool: str, *arguments: str) -> list[ToolRow]:
    return tools.table_rows(java_clients.tool(tool, *arguments))


def _consumer_member(row: ToolRow) -> MemberFacts:
    current, target = _partitions(row["CURRENT-ASSIGNMENT"]), _partitions(row["TARGET-ASSIGNMENT"])
    return MemberFacts(
        member_id=_text(row, "CONSUMER-ID"),
        client_id=_text(row, "CLIENT-ID"),
        host=row["HOST"],
        instance_id=row.get("GROUP-INSTANCE-ID"),
        assignment=current,
        # Classic members, also those in a group of the newer protocol, have no epochs in this table.
        settled=row["TARGET-EPOCH"] is None or (current, row["CURRENT-EPOCH"]) == (target, row["TARGET-EPOCH"]),
    )


def _streams_member(row: ToolRow) -> MemberFacts:
    tasks = {part.partition(":")[0].strip(): part.partition(":")[2].strip() for part in _tasks(row["ASSIGNMENTS"])}
    return MemberFacts(
        member_id=_text(row, "MEMBER"),
        client_id=_text(row, "CLIENT-ID"),
        host=None,
        settled=tasks.get("ACTIVE", "none yet") == tasks.get("TARGET-ACTIVE")
        and row["MEMBER-EPOCH"] == row["TARGET-ASSIGNMENT-EPOCH"],
    )


def _tasks(text: str | None) -> list[str]:
    """Split `ACTIVE: 0:[0,1]; 1:[0]; TARGET-ACTIVE: 0:[0,1];` into one text per kind of task."""
    parts: list[str] = []
    for piece in (text or "").strip("; ").split("; "):
        if parts and piece[:1].isdigit():
            parts[-1] += f" {piece}"
        else:
            parts.append(piece)
    return parts


def _offsets(rows: Iterable[ToolRow]) -> tuple[tuple[Place, int], ...]:
    return tuple(
        sorted(
            ((_text(row, "TOPIC"), int(_text(row, "PARTITION"))), int(row["CURRENT-OFFSET"] or 0))
            for row in rows
            if row["CURRENT-OFFSET"] is not None
        )
    )


def _partitions(text: str | None) -> tuple[Place, ...]:
    """Parse `orders:0,1;payments:2`."""
    return tuple(
        sorted(
            (topic, int(partition))
            for part in (text or "").split(";")
            if part
            for topic, _, numbers in [part.rpartition(":")]
            for partition in numbers.split(",")
        )
    )


def _sorted(members: Iterable[MemberFacts]) -> tuple[MemberFacts, ...]:
    return tuple(sorted(members, key=lambda member: member.member_id))


def _text(row: ToolRow, column: str) -> str:
    return row[column] or ""


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
