"""The record of a run: snapshots, commits and end offsets, and the records of the offsets topic as a capture."""

import collections
import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pydantic
from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_NOT_AVAILABLE, Consumer, Message, TopicPartition

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import OffsetCommitted
from decoders.interpret import event_of
from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.verdict_scenarios.pace import RunPace
from stream.offline.capture import CaptureWriter
from stream.offline.rows import OFFSETS_TOPIC, LogRow, Origin


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
    return pydantic.TypeAdapter(RunRecord).validate_json(file.read_bytes())


MAX_RECORDS: Final = 5_000


def read_rows(bootstrap: str, partitions: int) -> list[LogRow]:
    """Return every record of the offsets topic, partition by partition, each in log order.

    Commits in transactions that are open or aborted are among them; transaction markers are not.
    """
    consumer = Consumer({**client_config(bootstrap), "group.id": "verdicts-commits", "enable.partition.eof": True,
                         "isolation.level": "read_uncommitted"})  # fmt: skip
    unread = set(range(partitions))
    rows: dict[int, list[LogRow]] = collections.defaultdict(list)
    consumer.assign([TopicPartition(OFFSETS_TOPIC, number, OFFSET_BEGINNING) for number in unread])
    try:
        while unread:
            for record in consumer.consume(MAX_RECORDS, timeout=1.0):
                number = int(record.partition() or 0)
                if record.error() is not None:
                    unread.discard(number)
                else:
                    rows[number].append(_row(record))
    finally:
        consumer.close()
    return [row for number in sorted(rows) for row in rows[number]]


def write_capture(file: Path, bootstrap: str, rows: Iterable[LogRow]) -> None:
    """Write the rows as a new capture. Raises UnwritableRefusal."""
    consumer = Consumer({**client_config(bootstrap), "group.id": "verdicts-commits"})
    try:
        cluster_id = consumer.list_topics(OFFSETS_TOPIC, timeout=REQUEST_TIMEOUT).cluster_id
    finally:
        consumer.close()
    with CaptureWriter(file, Origin(cluster_id, {OFFSETS_TOPIC: None})) as capture:
        for row in rows:
            capture.write(row)


def commits_of(rows: Iterable[LogRow]) -> Iterator[RecordedCommit]:
    """Yield the offset commits in the order of the rows, pending and aborted ones included."""
    for row in rows:
        decoded = scalar.decode(row.key, row.value)
        event = None if isinstance(decoded, DecodeError) else event_of(decoded)
        if isinstance(event, OffsetCommitted):
            yield RecordedCommit(
                event.group, event.topic, event.partition, event.offset, row.offset, event.commit_timestamp
            )


def _row(record: Message) -> LogRow:
    kind, time = record.timestamp()
    known = None if kind == TIMESTAMP_NOT_AVAILABLE else time
    number, offset = int(record.partition() or 0), int(record.offset() or 0)
    return LogRow(OFFSETS_TOPIC, number, offset, known, record.key(), record.value())
