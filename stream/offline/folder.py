"""A log directory as a source of rows: the directory of one partition, or a broker's log directory with all of them.

`decoders.log.partition` leaves out the records of aborted and of open transactions. A capture that is continued later
must stop at an open transaction instead, because its records count if it is committed.
"""

import base64
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from decoders.log.columns import partition_records
from decoders.log.control import BatchOutcome
from decoders.log.errors import LogError
from decoders.log.files import read_small
from decoders.log.partition import PartitionLog
from stream.errors import imports_of_extra
from stream.offline.paths import display_path, is_directory, os_error_text
from stream.offline.rows import OFFSETS_TOPIC, LogRow, Origin, RowSource, TopicAndPartition, UnreadableRefusal

_ADVICE: Final = "name a partition's directory, such as __consumer_offsets-0, or the broker's log directory"


class LogFolder:
    """The partitions of some topics in a log directory, or one partition of any topic.

    With `stop_at_open` each partition ends at its first open transaction, as for a read_committed consumer.
    """

    def __init__(self, path: Path, topics: Collection[str] = (OFFSETS_TOPIC,), *, stop_at_open: bool = False) -> None:
        """Find the partitions. Raises UnreadableRefusal if the directory has none."""
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._stop_at_open = stop_at_open
        self.folders: Final = self._find(topics)
        """The directories of the partitions, also of those that cannot be opened."""
        self.origin: Final = Origin(_cluster_id(path), self._topic_ids())

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """Yield the committed rows, partition by partition."""
        read = self._rows_before_open if self._stop_at_open else _committed_rows
        for log in self.logs():
            yield from read(log, (after or {}).get((log.directory.topic, log.directory.partition), -1) + 1)
            self.problems += [str(error) for error in log.errors]

    def logs(self) -> Iterator[PartitionLog]:
        """Yield the log of each partition, open until the next one; those that cannot be opened are problems."""
        self.problems, self.notes = [], []
        for folder in self.folders:
            log = _open(folder)
            if isinstance(log, str):
                self.problems.append(log)
                continue
            with log:
                yield log

    def _rows_before_open(self, log: PartitionLog, start_offset: int) -> Iterator[LogRow]:
        """Yield the committed rows before the first open transaction."""
        topic, partition = log.directory.topic, log.directory.partition
        for placed in log.records(start_offset, only_committed=False):
            record = placed.record
            if placed.outcome is BatchOutcome.PENDING:
                self.notes.append(
                    f"{log.directory.path}: the transaction of producer {placed.producer_id} at offset {record.offset}"
                    " is open; the records from there on are not captured yet"
                )
                break
            if not placed.outcome.is_visible:
                continue
            timestamp = None if record.timestamp == -1 else record.timestamp
            yield LogRow(topic, partition, record.offset, timestamp, record.key, record.value)

    def _find(self, topics: Collection[str]) -> list[Path]:
        if not is_directory(self.path):
            raise UnreadableRefusal(f"{display_path(self.path)} is not a directory", _ADVICE)
        try:
            inside = sorted(self.path.iterdir())
        except OSError as error:
            raise UnreadableRefusal(
                f"{display_path(self.path)} cannot be read: {os_error_text(error)}", _ADVICE
            ) from error
        if any(entry.suffix == ".log" for entry in inside):
            log = _open(self.path)
            if isinstance(log, str):
                raise UnreadableRefusal(log, _ADVICE)
            log.close()
            return [self.path]
        partitions = [
            (topic, int(number), folder)
            for folder in inside
            for topic, _, number in [folder.name.rpartition("-")]
            if topic in topics and number.isdecimal() and number.isascii() and folder.is_dir()
        ]
        if not partitions:
            raise UnreadableRefusal(
                f"{display_path(self.path)} holds no partition of {', '.join(sorted(topics))}", _ADVICE
            )
        return [folder for _, _, folder in sorted(partitions)]

    def _topic_ids(self) -> dict[str, str | None]:
        ids: dict[str, str | None] = {}
        for folder in self.folders:
            log = _open(folder)
            if isinstance(log, PartitionLog):
                raw = log.directory.topic_id
                ids[log.directory.topic] = base64.urlsafe_b64encode(raw).decode().rstrip("=") if raw else None
                log.close()
        return ids


def open_source(path: Path, topics: Collection[str] = (OFFSETS_TOPIC,), *, stop_at_open: bool = False) -> RowSource:
    """Return the source for a path. `topics` and `stop_at_open` apply to log directories. Raises Refusal."""
    if is_directory(path):
        return LogFolder(path, topics, stop_at_open=stop_at_open)
    with imports_of_extra("captures", "reading a capture"):
        from stream.offline.capture import CaptureFile  # noqa: PLC0415 -- an extra
    return CaptureFile(path)


def _committed_rows(log: PartitionLog, start_offset: int) -> Iterator[LogRow]:
    """Yield the committed rows, read many batches at a time."""
    topic, partition = log.directory.topic, log.directory.partition
    for columns, *_ in partition_records(log, start_offset, with_aborted=False):
        numbers = columns.offset.tolist(), columns.timestamp.tolist()
        for offset, time, key, value in zip(*numbers, columns.key.to_pylist(), columns.value.to_pylist(), strict=True):
            if offset >= start_offset:
                yield LogRow(topic, partition, offset, None if time == -1 else time, key, value)


def _open(folder: Path) -> PartitionLog | str:
    """Return the log of a partition's directory, or an error message."""
    try:
        log = PartitionLog.open(folder)
    except OSError as error:
        return f"{display_path(folder)} cannot be read: {os_error_text(error)}"
    return str(log) if isinstance(log, LogError) else log


def _cluster_id(path: Path) -> str | None:
    """Return the cluster id from `meta.properties`, which is next to the directories of the partitions, or None."""
    for folder in (path, path.resolve().parent):
        try:
            text = read_small(folder / "meta.properties").decode()
        except (OSError, UnicodeDecodeError):
            continue
        for line in text.splitlines():
            if line.startswith("cluster.id="):
                return line.partition("=")[2].strip()
    return None
