"""Reads from the capture of a client what it wrote: the facts of its row in `docs/clients.md`."""

from __future__ import annotations

import dataclasses
import json
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from decoders import blobs
from decoders.errors import DecodeError
from decoders.scalar import decode
from decoders.schema import Record
from sandbox.recorded_clients.record import CAPTURES, PHASES
from stream.offline.capture import CaptureFile
from stream.offline.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stream.groups.membership.model import Membership
    from stream.offline.rows import LogRow

COMMIT: Final = 1
GROUP: Final = 2
AT_ONCE: Final = 500
"""Milliseconds between two commits that belong together."""


@dataclasses.dataclass(frozen=True)
class ClientCapture:
    """The records of a client's group with their decoded form, and the time (ms) at which each phase ended."""

    name: str
    rows: list[LogRow]
    records: list[Record]
    ended: Mapping[str, int]

    @classmethod
    def read(cls, name: str, folder: Path = CAPTURES) -> ClientCapture:
        """Read the capture of a client. Raises ValueError for a record that cannot be decoded."""
        rows = list(CaptureFile(folder / f"{name}.avro").rows())
        records = [decode(row.key, row.value) for row in rows]
        if errors := [each for each in records if isinstance(each, DecodeError)]:
            raise ValueError(f"{name}: {errors[0]}")
        decoded = [each for each in records if isinstance(each, Record)]
        return cls(name, rows, decoded, json.loads((folder / PHASES).read_text())[name]["ended"])

    def group_after(self, phase: str) -> Membership | None:
        """Return the group at the end of a phase; None if it has no membership."""
        replay = Replay()
        replay.read(row for row in self.rows if (row.timestamp or 0) <= self.ended[phase])
        return replay.driver_state.columns().memberships.get(self.name)

    def written(self, begin: str, end: str) -> list[Record]:
        """Return the records of the phase `end`, which follows the phase `begin`."""
        first, last = self.ended[begin], self.ended[end]
        pairs = zip(self.rows, self.records, strict=True)
        return [record for row, record in pairs if first < (row.timestamp or 0) <= last]

    @property
    def versions(self) -> str:
        """Each type of record with the versions of its values; a type of which there are only tombstones has none."""
        found: dict[int, set[int]] = {}
        for record in self.records:
            versions = found.setdefault(record.type.number, set())
            versions.update([] if record.version is None else [record.version])
        texts = (
            f"{number} v{'/'.join(map(str, sorted(versions)))}" if versions else f"{number}"
            for number, versions in sorted(found.items())
        )
        return ", ".join(texts) or "none"

    @property
    def joined(self) -> bool:
        """True if the client was ever a member of its group."""
        return any(each.type.number != COMMIT for each in self.records)

    @property
    def generations(self) -> list[Mapping[str, Any]]:
        """The values of the classic group's records that have members."""
        return [
            each.value for each in self.records if each.type.number == GROUP and each.value and each.value["members"]
        ]

    @property
    def assignor(self) -> str:
        """Protocol type and assignor of a classic group, else the assignor that members of KIP-848 name."""
        found = {f"{each['protocol_type']}: {each['protocol']}" for each in self.generations}
        return ", ".join(sorted(found)) or ("by the broker" if self.joined else "-")

    @property
    def subscription(self) -> str:
        """The version of the members' subscription, and the sizes of its user data in bytes."""
        found = set()
        for group in self.generations:
            for member in group["members"]:
                fields = blobs.subscription(group["protocol_type"], member["subscription"])
                if not isinstance(fields, dict):
                    return "unreadable"
                found.add((fields["version"], len(fields.get("user_data") or b"")))
        if not found:
            return "-"
        version, sizes = max(each for each, _ in found), sorted({size for _, size in found})
        if sizes == [0]:
            return f"v{version}, no user data"
        return f"v{version}, user data of {' to '.join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))} bytes"

    @property
    def commits(self) -> list[Mapping[str, Any]]:
        """Keys and values of the committed offsets, in one mapping each."""
        return [each.key | each.value for each in self.records if each.type.number == COMMIT and each.value]

    @property
    def metadata(self) -> str:
        """The metadata of the commits, in a word."""
        found = {each["metadata"] for each in self.commits}
        if found <= {""}:
            return "empty" if found else "-"
        members = {member["member_id"] for group in self.generations for member in group["members"]}
        members |= {each.key["member_id"] for each in self.records if "member_id" in each.key}
        if found <= members:
            return "the member id"
        return f"text, such as `{min(found)[:24]}`"

    @property
    def epochs(self) -> str:
        """`yes` if all commits have a leader epoch, `no` if none has."""
        found = {each["leader_epoch"] >= 0 for each in self.commits}
        return {frozenset({True}): "yes", frozenset({False}): "no", frozenset(): "-"}.get(frozenset(found), "some")

    @property
    def empty_partitions(self) -> str:
        """`yes` if the client commits the partitions that never had a record."""
        if not self.commits:
            return "-"
        return "yes" if any(each["partition"] > 1 for each in self.commits) else "no"

    @property
    def rest(self) -> str:
        """The time between the commits of a partition while there is nothing to read."""
        if not self.commits:
            return "-"
        times: dict[int, list[int]] = {}
        for each in self.written("alone", "at rest"):
            if each.type.number == COMMIT and each.value:
                times.setdefault(each.key["partition"], []).append(each.value["commit_timestamp"])
        most = max(times.values(), key=len, default=[])
        moments = [last for last, time in pairwise([*most, sys.maxsize]) if time - last > AT_ONCE]
        # The only commit of a partition may be that of the records before.
        if len(moments) < 2:
            return "silent"
        text = f"each {(moments[-1] - moments[0]) / (len(moments) - 1) / 1000:.0f} s"
        return text if len(moments) == len(most) else f"{text}, {len(most) // len(moments)} at once"

    @property
    def killed(self) -> str:
        """The number of generations or epochs that follow the kill of a member."""
        if not self.joined:
            return "-"
        return _effect(self.group_after("two members"), self.group_after("killed"))

    @property
    def stopped(self) -> str:
        """State and members of the group after the clean stop of each member, and after the session."""
        if not self.joined:
            return "-"
        return " → ".join(_state(self.group_after(phase)) for phase in ("stopped one", "stopped both", "session over"))


def _effect(before: Membership | None, after: Membership | None) -> str:
    epochs = [0 if each is None else each.generation or each.group_epoch or 0 for each in (before, after)]
    return f"{epochs[1] - epochs[0]} more"


def _state(group: Membership | None) -> str:
    return "no group" if group is None else f"{group.state}, {group.members}"
