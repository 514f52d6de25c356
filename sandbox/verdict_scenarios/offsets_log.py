"""The records of the offsets topic of a run: read from the broker, written as a capture, and the commits in them."""

import collections
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_NOT_AVAILABLE, Consumer, Message, TopicPartition

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import OffsetCommitted
from decoders.interpret import event_of
from sandbox.clients.members import REQUEST_TIMEOUT, client_config
from sandbox.verdict_scenarios.record import RecordedCommit
from stream.offline.capture import CaptureWriter
from stream.offline.rows import OFFSETS_TOPIC, LogRow, Origin

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
