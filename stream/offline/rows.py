"""Records of internal topics as rows, where they come from, and the protocol of all sources of rows.

Sources are capture files (`capture`), log directories (`folder`) and live topics (`live`). Each yields the records of a
partition in log order; partitions may alternate. What could not be read is added to `problems`, one line each, and the
rest is read nevertheless.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from stream.errors import ExitCode, Refusal

OFFSETS_TOPIC: Final = "__consumer_offsets"

TopicAndPartition = tuple[str, int]
"""A topic and the number of one of its partitions."""


class LogRow(NamedTuple):
    """One record: `timestamp` in Unix ms, None if its log has none; null keys and values are None.

    A named tuple, unlike the frozen dataclasses elsewhere: there are millions of rows, and it costs a third.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None

    @property
    def place(self) -> TopicAndPartition:
        """The topic and partition of the record."""
        return self.topic, self.partition


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """The cluster of the records: its id, and the id (22 characters) per topic; None where unknown."""

    cluster_id: str | None
    topic_ids: Mapping[str, str | None]

    def conflict_with(self, new: Origin) -> str | None:
        """Return why rows of `new` must not be added to those of this origin, or None."""
        if None not in (self.cluster_id, new.cluster_id) and self.cluster_id != new.cluster_id:
            return f"it belongs to cluster {self.cluster_id}, not to {new.cluster_id}"
        for topic, known in new.topic_ids.items():
            if topic not in self.topic_ids:
                return f"it was created without topic {topic}"
            if None not in (known, self.topic_ids[topic]) and known != self.topic_ids[topic]:
                return f"topic {topic} was re-created since"
        return None


class RowSource(Protocol):
    """A source of rows."""

    problems: list[str]
    """What could not be read, one line each; complete when all rows have been read."""
    notes: list[str]
    """Remarks that are no errors, one line each; complete when all rows have been read."""

    @property
    def origin(self) -> Origin:
        """The cluster and the topics of the records."""

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """Yield the rows; of each partition in `after` only those with a greater offset. Raises Refusal."""


@dataclasses.dataclass
class RowList:
    """Rows in memory, as a source."""

    listed: Sequence[LogRow]
    origin: Origin = dataclasses.field(default_factory=lambda: Origin(None, {}))
    problems: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """See RowSource."""
        return (row for row in self.listed if after is None or row.offset > after.get(row.place, -1))


class UnreadableRefusal(Refusal):
    """A file or directory does not exist or has the wrong kind; nothing in it can be read."""

    code = ExitCode.UNREADABLE


class UnwritableRefusal(Refusal):
    """A file cannot be written, or not any further. What was written before is kept."""

    code = ExitCode.UNWRITABLE


MAX_BATCH_BYTES: Final = 32 << 20
"""Bytes of keys and values after which a batch of rows is complete."""


def batch_rows(rows: Iterable[LogRow], max_rows: int, max_bytes: int = MAX_BATCH_BYTES) -> Iterator[list[LogRow]]:
    """Yield the rows in lists of at most `max_rows` rows; a list is complete when it reaches `max_bytes`."""
    batch: list[LogRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.key or b"") + len(row.value or b"")
        if len(batch) >= max_rows or size >= max_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
