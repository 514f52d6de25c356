"""One record of an internal topic, where it comes from, and what every source of such records promises.

Sources are capture files (`capture`), log directories (`folder`) and live topics (`live`). Each gives the records of a
partition in the order of the log; partitions may alternate. What could not be read is said in `problems`, one line
each, and never ends the reading of the rest.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

OFFSETS_TOPIC: Final = "__consumer_offsets"

TopicAndPartition = tuple[str, int]
"""A topic and a partition of it."""


class TopicRow(NamedTuple):
    """One record: `timestamp` in Unix milliseconds, None where its log has none; null keys and values are None.

    A named tuple where the house has frozen dataclasses: there are millions of them, and this costs a third.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None

    @property
    def place(self) -> TopicAndPartition:
        """The partition it stands in."""
        return self.topic, self.partition


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """Whose records they are: the cluster's id, and per topic its id (22 characters), None where not known."""

    cluster_id: str | None
    topic_ids: Mapping[str, str | None]


class RowSource(Protocol):
    """Something that gives rows."""

    problems: list[str]
    """What could not be read, a line each; complete when the rows have been given."""
    notes: list[str]
    """What a person should know although nothing is wrong, likewise."""

    @property
    def origin(self) -> Origin:
        """Whose records they are."""

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[TopicRow]:
        """Give the rows; of each place named in `after` only those with a greater offset. Raises Refusal."""


class UnreadableRefusal(Refusal):
    """What was named is not there, or is no such thing at all: nothing of it can be read."""

    code = ExitCode.UNREADABLE


class UnwritableRefusal(Refusal):
    """A file that was named cannot be written, or not any further: what was written before is kept."""

    code = ExitCode.UNWRITABLE


MAX_BATCH_BYTES: Final = 32 << 20
"""Bytes of keys and values after which a list of rows is closed."""


def batch_rows(rows: Iterable[TopicRow], most_rows: int, most_bytes: int = MAX_BATCH_BYTES) -> Iterator[list[TopicRow]]:
    """Give rows in lists that are bounded in rows and in bytes, whatever single rows hold."""
    held: list[TopicRow] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.key or b"") + len(row.value or b"")
        if len(held) >= most_rows or size >= most_bytes:
            yield held
            held, size = [], 0
    if held:
        yield held
