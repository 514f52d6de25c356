"""Reads ranges of offsets of one topic and returns the committed records as columns.

Sends Fetch requests without a group and without a fetch session, which change nothing on the cluster, and leaves out
aborted records as Kafka's `read_committed` consumer does. `plan` decides what is fetched; this module asks, waits and
puts the records together.
"""

import collections
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoders.log.batch import LogRecord
from decoders.log.vectors import LogColumns
from stream.cluster.partition_offsets import find_leaders, read_ends
from stream.cluster.records.partition_read import FetchedPart, Lookup
from stream.cluster.records.plan import LIMIT_SECONDS, ReadPlan
from stream.cluster.records.ranges import OffsetRange, ReadTally
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError

RESPONSE_BYTES: Final = 2 << 20
"""Each response is held several times: as received, and as columns. Larger ones are read no faster."""
ROWS: Final = 65_536
"""Records of several partitions that are returned together, for callers with a fixed cost per call."""
_LARGEST: Final = 64 << 20
"""Bytes of keys and values after which records are returned, regardless of their number."""


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Committed records, in log order within each partition, and the positions after them."""

    partition: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]
    timestamp: npt.NDArray[np.int64]
    """Milliseconds, -1 = none."""
    keys: pa.BinaryArray
    values: pa.BinaryArray
    positions: dict[int, int]
    """The next offset of each partition that was read; also of one whose batches had no committed record."""
    producer: npt.NDArray[np.int64] | None = None
    """The producer id of the record's transaction, -1 outside of transactions; None unless requested."""

    def rows(self) -> Iterator[tuple[int, LogRecord]]:
        """Yield the partition and the record of each row."""
        columns = (self.offset.tolist(), self.timestamp.tolist(), self.keys.to_pylist(), self.values.to_pylist())
        for partition, *fields in zip(self.partition.tolist(), *columns, strict=True):
            yield partition, LogRecord(*fields)


def read_records(
    cluster: Cluster,
    topic: str,
    wanted: Sequence[OffsetRange],
    *,
    rows: int = 0,
    ahead: bool = False,
    limit: float = LIMIT_SECONDS,
    tally: ReadTally | None = None,
    on_aborted: Callable[[int, int, LogColumns], None] | None = None,
    with_producers: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[FetchedRecords]:
    """Yield the records of these ranges (no partition twice), and move the ranges' positions as they are returned.

    Yields after each round of requests and before each pause, even if there are no records then; with `rows` only when
    so many records are there. With `ahead` the next request is sent before the records of the last response are
    decoded. `on_aborted` is called with a partition, a producer id and records of its aborted transactions, for each
    partition and producer in log order. `with_producers` adds the column `producer`. Faults and skipped offsets are
    counted in `tally`, the latter also logged. Raises ClusterError: at once if it is permanent, else after `limit`
    seconds without progress; a caller can then continue at the positions.
    """
    plan = ReadPlan(topic, wanted, ReadTally() if tally is None else tally, limit)
    pending = _Pending(wanted)
    for parts in _responses(cluster, plan, ahead=ahead, clock=clock, sleep=sleep):
        for part in parts:
            if on_aborted is not None:
                for producer, columns in part.aborted_columns():
                    on_aborted(part.partition, producer, columns)
            for columns in part.columns():
                producers = part.batches.producers(columns.offset) if with_producers else None
                pending.add(part, columns, producers)
                if pending.rows >= max(rows, ROWS) or pending.size >= _LARGEST:
                    yield pending.take()
            pending.positions[part.partition] = part.position
        if pending.rows >= rows:
            yield pending.take()
    if pending.positions:
        yield pending.take()
    for each in wanted:
        each.position = max(each.position, each.end)


class _Pending:
    """Records that are put together until they are returned."""

    def __init__(self, wanted: Sequence[OffsetRange]) -> None:
        self._wanted = {each.partition: each for each in wanted}
        self._clear()

    def _clear(self) -> None:
        self.rows = self.size = 0
        self.positions: dict[int, int] = {}
        self._pieces: list[tuple[int, LogColumns]] = []
        self._producers: list[npt.NDArray[np.int64]] = []

    def add(self, part: FetchedPart, columns: LogColumns, producer: npt.NDArray[np.int64] | None) -> None:
        """Add some records of a part."""
        if len(columns.offset):
            self._pieces.append((part.partition, columns))
            if producer is not None:
                self._producers.append(producer)
            self.rows += len(columns.offset)
            self.size += columns.key.nbytes + columns.value.nbytes
            self.positions[part.partition] = int(columns.offset[-1]) + 1

    def take(self) -> FetchedRecords:
        """Return the records, clear them, and move the positions of their ranges."""
        pieces, producers, positions = self._pieces, self._producers, self.positions
        self._clear()
        for partition, position in positions.items():
            self._wanted[partition].position = position
        sizes = [len(columns.offset) for _, columns in pieces]
        return FetchedRecords(
            np.repeat(np.array([partition for partition, _ in pieces], np.int32), sizes),
            _joined([columns.offset for _, columns in pieces]),
            _joined([columns.timestamp for _, columns in pieces]),
            pa.concat_arrays([pa.array([], pa.binary()), *(columns.key for _, columns in pieces)]),
            pa.concat_arrays([pa.array([], pa.binary()), *(columns.value for _, columns in pieces)]),
            positions,
            _joined(producers) if len(producers) == len(pieces) else None,
        )


def _joined(columns: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *columns])


def _responses(
    cluster: Cluster, plan: ReadPlan, *, ahead: bool, clock: Callable[[], float], sleep: Callable[[float], None]
) -> Iterator[list[FetchedPart]]:
    """Yield the parts of each round of requests, and none before a pause; with `ahead`, during the next round."""
    parts: list[FetchedPart] = []
    with ThreadPoolExecutor(1, thread_name_prefix="fetch") as pool:  # starts its thread with the first call
        while not plan.finished:
            skipped = collections.Counter(plan.tally.skipped)
            _look_up(cluster, plan, clock)
            calls, sent = plan.calls(clock()), clock()
            send = functools.partial(
                cluster.call_all,
                [
                    (node, requests.fetch({plan.topic: positions}, most_bytes=RESPONSE_BYTES, committed=True))
                    for node, positions in calls
                ],
            )
            answers = pool.submit(send).result if ahead and calls else send
            if parts:
                yield parts
            parts = plan.add(calls, answers(), sent, clock())
            if not ahead:
                yield parts
                parts = []
            elif not calls:
                yield []
            if not calls and not plan.finished:
                sleep(plan.pause(clock()))
            if new := plan.tally.skipped - skipped:
                import structlog  # noqa: PLC0415 -- 7 MB of each task, of which hardly any logs

                counts = {reason.value: count for reason, count in new.items()}
                structlog.get_logger(__name__).warning("offsets skipped", topic=plan.topic, **counts)
    yield parts


def _look_up(cluster: Cluster, plan: ReadPlan, clock: Callable[[], float]) -> None:
    """Look up the leaders and the ends that the plan needs."""
    if unled := plan.needing(Lookup.LEADER, clock()):
        try:
            leaders = find_leaders(cluster, [plan.topic])
        except ClusterError as error:
            plan.failed(unled, error, clock())
        else:
            plan.set_leaders({partition: leaders.of(plan.topic, partition) for partition in unled}, clock())
    if endless := plan.needing(Lookup.ENDS, clock()):
        try:
            ends = {
                row["partition"]: row["error"] or (row["log_start_offset"], row["last_stable_offset"])
                for row in read_ends(cluster, [plan.topic]).to_pylist()
            }
        except ClusterError as error:
            plan.failed(endless, error, clock())
        else:
            plan.set_ends({partition: ends.get(partition, "not_found") for partition in endless}, clock())
