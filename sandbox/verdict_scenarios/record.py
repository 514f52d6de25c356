"""The record of a run: every snapshot of the monitor, every commit, the end offsets, and the time of each mark."""

import dataclasses
import json
from pathlib import Path
from typing import Any, Final

from sandbox.verdict_scenarios.pace import RunPace

_KINDS_OF_ENDS: Final = ("offsets", "stable", "starts")
_KINDS_OF_PERIODS: Final = ("pauses", "lost_memberships")


@dataclasses.dataclass(frozen=True, slots=True)
class GroupVerdict:
    """The verdict on a group in one snapshot."""

    verdict: str
    severity: str
    sentence: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictSnapshot:
    """One snapshot of the monitor: verdicts by group. `taken_at` is Unix seconds."""

    taken_at: float
    groups: dict[str, GroupVerdict]


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedCommit:
    """One offset commit in the offsets topic. `time` is Unix ms."""

    group: str
    topic: str
    partition: int
    offset: int
    order: int
    """Its offset in the partition of the offsets topic."""
    time: int


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedEnds:
    """The known offsets of partitions at one time (Unix seconds), each as (topic, partition, offset)."""

    time: float
    offsets: list[tuple[str, int, int]]
    """High watermarks."""
    stable: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)
    """Last stable offsets."""
    starts: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)
    """Log start offsets."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunRecord:
    """A recorded run. Marks are Unix seconds by scenario and name; those of "" are outages of broker and monitor."""

    began: float
    ended: float
    groups: dict[str, str]
    """Scenario name -> group id."""
    marks: dict[str, dict[str, float]]
    snapshots: list[VerdictSnapshot]
    ends: list[RecordedEnds]
    commits: list[RecordedCommit]
    details: dict[str, list[dict[str, Any]]] = dataclasses.field(default_factory=dict)
    """By group: the API's full answer each time its verdict had changed."""
    faults: list[str] = dataclasses.field(default_factory=list)
    """Errors of the clients and actions of the run."""
    pauses: dict[str, list[tuple[float, float]]] = dataclasses.field(default_factory=dict)
    """By scenario: periods (Unix seconds) in which its clients had no turn, because machine or broker were too slow."""
    lost_memberships: dict[str, list[tuple[float, float]]] = dataclasses.field(default_factory=dict)
    """By scenario: periods (Unix seconds) in which a client had lost its membership and its successor had none yet."""
    stretch: float = 1.0
    """Seconds of the wall clock per second of the run."""

    @property
    def pace(self) -> RunPace:
        """Converts the record's Unix times, which are seconds of the wall clock, into seconds of the run."""
        return RunPace(self.stretch)

    def mark(self, scenario: str, name: str) -> float | None:
        """Return the time of a mark of this scenario, or of all scenarios; None when it was not reached."""
        return self.marks.get(scenario, {}).get(name, self.marks.get("", {}).get(name))

    def save(self, file: Path) -> None:
        """Write the record as JSON."""
        file.write_text(json.dumps(dataclasses.asdict(self)))


def load(file: Path) -> RunRecord:
    """Return the record that `RunRecord.save` wrote."""
    raw = json.loads(file.read_text())
    raw["snapshots"] = [
        VerdictSnapshot(each["taken_at"], {group: GroupVerdict(**verdict) for group, verdict in each["groups"].items()})
        for each in raw["snapshots"]
    ]
    raw["ends"] = [
        RecordedEnds(each["time"], *([(t, p, o) for t, p, o in each.get(kind, ())] for kind in _KINDS_OF_ENDS))
        for each in raw["ends"]
    ]
    raw["commits"] = [RecordedCommit(**each) for each in raw["commits"]]
    for kind in _KINDS_OF_PERIODS:
        raw[kind] = {name: [(since, until) for since, until in each] for name, each in raw.get(kind, {}).items()}
    return RunRecord(**raw)
