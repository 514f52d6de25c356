"""Offsets by timestamp: the first offset whose record is not older than a time, and the time of that record.

Read rarely, to seed a history of end offsets: a broker opens index files for each lookup, which costs far more than the
end offsets that `partition_offsets` reads in every tick. So the requests are small, and each broker gets one at a time.
Errors are values, in the row of their partition.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from exporters.readmodel import rows_table
from stream.cluster.partition_offsets import NAME, Leaders, find_leaders
from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

WANTED: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        # ms, or one of the special timestamps of `requests`: LATEST, EARLIEST.
        ("time", pa.int64()),
    ]
)

OFFSETS_FOR_TIMES: Final = pa.schema(
    [
        *WANTED,
        # The first offset below the high watermark whose record's time is at or after `time`; null without an error if
        # there is none.
        ("offset", pa.int64()),
        # The time of that record in ms, or of the marker of a transaction, which Kafka 4.3.1 takes for a record; null
        # with LATEST and EARLIEST, which name no record.
        ("record_time", pa.int64()),
        # An ErrorReason if the offset could not be read, else null.
        ("error", NAME),
    ]
)

FIRST_TRUE_TIME: Final = 10**12
"""The earliest time (ms) of a record that can be true: in 2001, before Kafka, and above present times in seconds."""

_PARTITIONS_AT_ONCE: Final = 2_000
_REMOTE_STORAGE_MS: Final = 5_000

_Row = tuple[str, int, int]
_Result = tuple[int | None, int | None, ErrorReason | None]


def read_offsets_for_times(cluster: Cluster, wanted: pa.Table, leaders: Leaders | None = None) -> pa.Table:
    """Read the offsets for a table with the schema WANTED; one row each, in the same order: OFFSETS_FOR_TIMES.

    The `leaders` are requested if they are not given. A partition may occur several times. Each broker gets one request
    per round, so this may take one request time-out per round. Raises ClusterError only when no broker answers at all.
    """
    columns = [wanted[name].to_pylist() for name in WANTED.names]
    rows: list[_Row] = list(zip(*columns, strict=True))
    leaders = find_leaders(cluster, {topic for topic, _, _ in rows}) if leaders is None else leaders
    results: list[_Result] = [(None, None, ErrorReason.OTHER)] * len(rows)
    of_node: dict[int, list[int]] = {}
    epochs = [-1] * len(rows)
    for at, (topic, partition, _) in enumerate(rows):
        leader = leaders.of(topic, partition)
        if isinstance(leader, ErrorReason):
            results[at] = (None, None, leader)
        else:
            node, epochs[at] = leader
            of_node.setdefault(node, []).append(at)
    queues = [[(node, piece) for piece in _pieces(rows, places)] for node, places in of_node.items()]
    for turn in itertools.zip_longest(*queues):
        requested = [each for each in turn if each is not None]
        calls = [(node, _request(rows, piece, epochs)) for node, piece in requested]
        for (_, piece), answer in zip(requested, cluster.call_all(calls), strict=True):
            _add_answer(results, {(rows[at][0], rows[at][1]): at for at in piece}, answer)
    answers = rows_table(results, pa.schema(list(OFFSETS_FOR_TIMES)[len(WANTED) :]))
    return pa.table([*wanted.cast(WANTED).columns, *answers.columns], schema=OFFSETS_FOR_TIMES)


def _pieces(rows: list[_Row], places: Iterable[int]) -> Iterator[list[int]]:
    """Split one broker's rows into requests: no partition twice in one."""
    piled: dict[int, list[int]] = {}
    times: dict[tuple[str, int], int] = {}
    for at in places:
        nth = times.get(rows[at][:2], 0)
        times[rows[at][:2]] = nth + 1
        piled.setdefault(nth, []).append(at)
    for pile in piled.values():
        for start in range(0, len(pile), _PARTITIONS_AT_ONCE):
            yield pile[start : start + _PARTITIONS_AT_ONCE]


def _request(rows: list[_Row], piece: list[int], epochs: list[int]) -> Any:
    partitions: dict[str, list[tuple[int, int, int]]] = {}
    for at in piece:
        topic, partition, time = rows[at]
        partitions.setdefault(topic, []).append((partition, epochs[at], time))
    return requests.list_offsets_for_times(partitions, timeout_ms=_REMOTE_STORAGE_MS)


def _add_answer(results: list[_Result], place: dict[tuple[str, int], int], answer: Any) -> None:
    if isinstance(answer, ClusterError):
        reason = reasons.of_failure(answer)
        for at in place.values():
            results[at] = (None, None, reason)
        return
    for topic in answer.topics:
        for p in topic.partitions:
            error = reasons.of_code(p.error_code)
            offset, time = (value if error is None and value >= 0 else None for value in (p.offset, p.timestamp))
            results[place[topic.name, p.partition_index]] = (offset, time, error)
