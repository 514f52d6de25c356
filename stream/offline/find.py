"""Finds records in a log directory by offset or time, with the indexes of the segments, as a broker does."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from decoders.log.legacy import NO_TIMESTAMP
from decoders.log.lookup import first_record_at_offset, first_record_at_time
from stream.offline.paths import display_path, os_error_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.log.lookup import RecordPlace
    from decoders.log.partition import PartitionLog
    from stream.offline.folder import LogFolder


@dataclasses.dataclass(frozen=True, slots=True)
class RecordLookup:
    """The first record with at least this offset, or with at least this timestamp (Unix ms); one of the two is set."""

    offset: int | None = None
    time: int | None = None

    def find(self, log: PartitionLog) -> RecordPlace | None:
        """Return the record of a partition; None if there is none. Raises OSError."""
        if self.offset is not None:
            return first_record_at_offset(log, self.offset)
        return None if self.time is None else first_record_at_time(log, self.time)


@dataclasses.dataclass(frozen=True, slots=True)
class FoundRecord:
    """The result for one partition; `place` is None if the partition has no such record."""

    topic: str
    partition: int
    place: RecordPlace | None

    def as_json(self) -> dict[str, object]:
        """Return the result as a JSON object: `timestamp` in Unix ms, `position` in bytes; null where not found."""
        found: dict[str, object] = dict.fromkeys(("offset", "timestamp", "file", "position"))
        if self.place is not None:
            record, path, position = self.place
            timestamp = None if record.timestamp == NO_TIMESTAMP else record.timestamp
            found = {"offset": record.offset, "timestamp": timestamp, "file": str(path), "position": position}
        return {"topic": self.topic, "partition": self.partition, **found}


def find_records(folder: LogFolder, lookup: RecordLookup) -> Iterator[FoundRecord]:
    """Yield the result for each partition of a log directory; what cannot be opened is in `folder.problems`."""
    for log in folder.logs():
        try:
            place = lookup.find(log)
        except OSError as error:
            folder.problems.append(f"{display_path(log.directory.path)} cannot be read: {os_error_text(error)}")
            continue
        yield FoundRecord(log.directory.topic, log.directory.partition, place)
        folder.problems += [str(error) for error in log.errors]
