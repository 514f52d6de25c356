"""What a play has left to be judged: every snapshot of the monitor, every commit, the ends, and when what was done."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class GroupVerdict:
    """What one snapshot says of a group."""

    verdict: str
    severity: str
    sentence: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictSnapshot:
    """One snapshot of the monitor, by group. `taken_at` is Unix seconds."""

    taken_at: float
    groups: dict[str, GroupVerdict]


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedCommit:
    """One record of an offset in the offsets topic. Time in Unix ms."""

    group: str
    topic: str
    partition: int
    offset: int
    order: int
    """Its position in the offsets partition."""
    time: int


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedEnds:
    """The high watermarks at one moment (Unix seconds), as (topic, partition, offset)."""

    time: float
    offsets: list[tuple[str, int, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class RunRecord:
    """A play on record. Marks are Unix seconds by group and name; those of "" are of the broker and the monitor."""

    began: float
    ended: float
    groups: dict[str, str]
    """Scenario -> group."""
    marks: dict[str, dict[str, float]]
    snapshots: list[VerdictSnapshot]
    ends: list[RecordedEnds]
    commits: list[RecordedCommit]
    details: dict[str, list[dict[str, Any]]] = dataclasses.field(default_factory=dict)
    """By group: what was said of it in full whenever its verdict had changed."""
    faults: list[str] = dataclasses.field(default_factory=list)
    """What went wrong in the play itself."""

    def mark(self, scenario: str, name: str) -> float | None:
        """When this was done to the scenario's group, or to all; None: it was not."""
        return self.marks.get(scenario, {}).get(name, self.marks.get("", {}).get(name))

    def save(self, file: Path) -> None:
        """Write it as JSON."""
        file.write_text(json.dumps(dataclasses.asdict(self)))


def load(file: Path) -> RunRecord:
    """Read what `RunRecord.save` wrote."""
    raw = json.loads(file.read_text())
    raw["snapshots"] = [
        VerdictSnapshot(each["taken_at"], {group: GroupVerdict(**said) for group, said in each["groups"].items()})
        for each in raw["snapshots"]
    ]
    raw["ends"] = [RecordedEnds(each["time"], [(t, p, o) for t, p, o in each["offsets"]]) for each in raw["ends"]]
    raw["commits"] = [RecordedCommit(**each) for each in raw["commits"]]
    return RunRecord(**raw)
