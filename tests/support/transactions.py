"""Records of `__transaction_state` as brokers write them, and a log of them that needs no broker."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from decoders.log.batch import LogRecord
from decoders.tables import TRANSACTION_TYPES
from stream.cluster import open_transactions
from stream.cluster.records.ranges import OffsetRange
from stream.cluster.records.read import FetchedRecords
from stream.cluster.transport.errors import ClusterError
from tests.decoders.writing import write_key, write_value

ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT = 1, 2, 3, 4
_TYPE: Final = TRANSACTION_TYPES[0]


def record(
    name: str,
    producer: int = 7,
    status: int | None = ONGOING,
    *,
    places: tuple[tuple[str, tuple[int, ...]], ...] = (("t", (0,)),),
    began: int = 1_000,
    updated: int = 1_000,
) -> LogRecord:
    """Return one record of a transactional id; a status of None makes it a tombstone."""
    key = write_key(_TYPE, {"transactional_id": name})
    if status is None:
        return LogRecord(0, 0, key, None)
    value: dict[str, Any] = {
        "producer_id": producer,
        "producer_epoch": 3,
        "transaction_timeout_ms": 60_000,
        "transaction_status": status,
        "transaction_partitions": tuple({"topic": topic, "partition_ids": numbers} for topic, numbers in places),
        "transaction_last_update_timestamp_ms": updated,
        "transaction_start_timestamp_ms": began,
    }
    assert _TYPE.value is not None
    return LogRecord(0, 0, key, write_value(_TYPE.value, 0, value))


class Log:
    """Replaces the topic: one record per fetch, all of partition 0. Raises `fault` instead if set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, records: Sequence[LogRecord] = ()) -> None:
        self.records = list(records)
        self.fault: ClusterError | None = None
        self.begun = 0
        self.fetched = 0
        monkeypatch.setattr(open_transactions, "unread_ranges", self._stretches)
        monkeypatch.setattr(open_transactions, "read_records", self._read)

    def _stretches(self, _: object, topic: str, after: dict[int, int]) -> list[OffsetRange]:
        assert (topic, after) == ("__transaction_state", {})
        self.begun += 1
        if self.fault is not None:
            raise self.fault
        return [OffsetRange(0, 0, len(self.records)), OffsetRange(1, 5, 5)]

    def _read(self, _: object, topic: str, wanted: Sequence[OffsetRange], **__: object) -> Iterator[FetchedRecords]:
        assert topic == "__transaction_state"
        for stretch in wanted:
            while stretch.position < stretch.end:
                self.fetched += 1
                stretch.position += 1
                yield _fetched(stretch, self.records[stretch.position - 1])


def _fetched(wanted: OffsetRange, record: LogRecord) -> FetchedRecords:
    return FetchedRecords(
        np.array([wanted.partition], np.int32),
        np.array([record.offset], np.int64),
        np.array([record.timestamp], np.int64),
        pa.array([record.key], pa.binary()),
        pa.array([record.value], pa.binary()),
        {wanted.partition: wanted.position},
    )
