"""The leaders of partitions, their end offsets (high watermark, last stable, log start), and the ends of leader epochs.

Errors are values: a denied topic, an unreachable broker or a partition without a leader affects only its own rows. Only
a cluster that cannot be reached at all raises. kafka-python's own admin calls are not used, because one such partition
fails their whole answer. Nothing is cached: each call sends one Metadata request per few thousand topics, then three
ListOffsets requests per broker, to all brokers at once.

The ends of earlier leader epochs show that a log lost its end (KIP-320). A leader that is elected with a shorter log,
or starts with a shorter one, writes on under a new epoch. An offset alone does not show this when the log has grown
past it again; the end of the epoch under which it was read does.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason, of_code, of_failure

Leader = tuple[int, int] | ErrorReason
"""The node and its leader epoch, or the reason why there is none."""

_TOPICS_AT_ONCE: Final = 5_000
_TOPIC: Final = -1


class Leaders(dict[tuple[str, int], Leader]):
    """The leaders of some partitions at one moment, by topic and partition."""

    def of(self, topic: str, partition: int) -> Leader:
        """Return the leader of a partition; NOT_FOUND if there is no such partition."""
        return self.get((topic, partition), self.get((topic, _TOPIC), ErrorReason.NOT_FOUND))


def find_leaders(cluster: Cluster, topics: Collection[str]) -> Leaders:
    """Return the leaders of all partitions of these topics. Raises ClusterError when no broker answers at all."""
    found = Leaders()
    for topic in _described(cluster, topics):
        if not topic.partitions:
            found[topic.name, _TOPIC] = reasons.of_code(topic.error_code) or ErrorReason.NOT_FOUND
        for p in topic.partitions:
            led = p.leader_id >= 0
            found[topic.name, p.partition_index] = (p.leader_id, p.leader_epoch) if led else ErrorReason.NO_LEADER
    return found


def metadata_of(cluster: Cluster, topics: Collection[str]) -> list[Any]:
    """Return the metadata of these topics, by name, in an answer per few thousand. Raises ClusterError."""
    names = sorted(set(topics))
    return [cluster.metadata(names[at : at + _TOPICS_AT_ONCE]) for at in range(0, len(names), _TOPICS_AT_ONCE)]


def _described(cluster: Cluster, topics: Collection[str]) -> list[Any]:
    return [topic for answer in metadata_of(cluster, topics) for topic in answer.topics]


NAME: Final = pa.dictionary(pa.int32(), pa.string())

ENDS: Final = pa.schema(
    [
        ("topic", NAME),
        # -1 in the one row of a topic that could not be described.
        ("partition", pa.int32()),
        ("high_watermark", pa.int64()),
        ("last_stable_offset", pa.int64()),
        ("log_start_offset", pa.int64()),
        # An ErrorReason if any of the three offsets is null, else null.
        ("error", NAME),
        # The broker that leads the partition; null if none does, and in the row of a topic.
        ("leader", pa.int32()),
        # The epoch of the last leader; null if brokers do not report it (before 2.1), and in the row of a topic.
        ("leader_epoch", pa.int32()),
    ]
)
"""One row per partition, sorted by topic and partition."""


_ERRORS: Final = tuple(ErrorReason)
_NUMBER: Final = {error: number for number, error in enumerate(_ERRORS)}
_NONE: Final = -1

# The columns of offsets, in the order of their requests. A broker answers the requests of a connection one after the
# other, so in one poll the log start offset is never above the last stable offset, nor that above the high watermark.
_COLUMNS: Final = ((requests.EARLIEST, False), (requests.LATEST, True), (requests.LATEST, False))
_LOG_START, _LAST_STABLE, _HIGH_WATERMARK = range(3)

# A request with more than this would keep a broker's request thread busy for too long.

_PARTITIONS_AT_ONCE: Final = 20_000


def read_ends(cluster: Cluster, topics: Collection[str]) -> pa.Table:
    """Read the end offsets of all partitions of these topics, as a table with the schema ENDS.

    A topic that cannot be described (unknown, not authorised, invalid name) has one row with partition -1 and the
    error. Creates no topic. Raises ClusterError only when no broker answers at all.
    """
    names = sorted(set(topics))
    poll = _Poll(names, _described(cluster, names))
    requested = list(poll.requests())
    answers = cluster.call_all([(node, request) for node, _, _, request in requested])
    for (_, column, row_of, _), answer in zip(requested, answers, strict=True):
        poll.add_answer(column, row_of, answer)
    return poll.table()


class _Poll:
    """A poll in progress: the rows as vectors, and the rows of each request."""

    def __init__(self, names: list[str], topics: Iterable[Any]) -> None:
        """Begin with the metadata of the topics: a row per partition, or one row for the topic's own error."""
        self._names = names
        numbers = {name: number for number, name in enumerate(names)}
        rows: list[tuple[int, int, int, int, int]] = []  # topic, partition, leader, epoch, error
        for topic in topics:
            number = numbers[topic.name]
            if topic.error_code and not topic.partitions:
                rows.append((number, -1, -1, -1, _number_of(topic.error_code)))
                continue
            for p in topic.partitions:
                error = _NONE if p.leader_id >= 0 else _NUMBER[ErrorReason.NO_LEADER]
                rows.append((number, p.partition_index, p.leader_id, p.leader_epoch, error))
        table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 5)
        self._topic, self._partition, self._leader, self._epoch, self._error = table.T.copy()
        self._offsets = np.zeros((3, len(table)), dtype=np.int64)
        self._known = np.zeros((3, len(table)), dtype=bool)

    def requests(self) -> Iterator[tuple[int, int, dict[tuple[str, int], int], Any]]:
        """Yield (node, column, row of each requested partition, request): one for each column of a set of rows."""
        for node in np.unique(self._leader[self._error == _NONE]).tolist():
            led = np.flatnonzero((self._leader == node) & (self._error == _NONE))
            for rows in np.split(led, range(_PARTITIONS_AT_ONCE, len(led), _PARTITIONS_AT_ONCE)):
                partitions, row_of = self._by_topic(rows)
                for column, (timestamp, committed) in enumerate(_COLUMNS):
                    yield node, column, row_of, requests.list_offsets(partitions, timestamp, committed=committed)

    def _by_topic(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[dict[str, list[tuple[int, int]]], dict[tuple[str, int], int]]:
        partitions: dict[str, list[tuple[int, int]]] = {}
        row_of: dict[tuple[str, int], int] = {}
        numbers, indexes, epochs = (column[rows].tolist() for column in (self._topic, self._partition, self._epoch))
        for row, number, index, epoch in zip(rows.tolist(), numbers, indexes, epochs, strict=True):
            name = self._names[number]
            partitions.setdefault(name, []).append((index, epoch))
            row_of[name, index] = row
        return partitions, row_of

    def add_answer(self, column: int, row_of: dict[tuple[str, int], int], answer: Any) -> None:
        """Add a broker's answer for one column of offsets, or its error."""
        if isinstance(answer, ClusterError):
            self._fail(np.fromiter(row_of.values(), dtype=np.int64), _NUMBER[of_failure(answer)])
            return
        rows, offsets, codes = [], [], []
        for topic in answer.topics:
            name = topic.name
            for p in topic.partitions:
                rows.append(row_of[name, p.partition_index])
                offsets.append(p.offset)
                codes.append(p.error_code)
        row, code = np.array(rows, dtype=np.int64), np.array(codes, dtype=np.int64)
        good = code == 0
        self._offsets[column, row[good]] = np.array(offsets, dtype=np.int64)[good]
        self._known[column, row[good]] = True
        for bad in np.unique(code[~good]).tolist():
            self._fail(row[code == bad], _number_of(bad))

    def _fail(self, rows: npt.NDArray[np.int64], error: int) -> None:
        """Set the error of rows that have none yet: the first one is kept."""
        self._error[rows[self._error[rows] == _NONE]] = error

    def table(self) -> pa.Table:
        """Return the table. A row that no answer mentioned gets the error OTHER, never a null without an error."""
        self._fail(np.flatnonzero(~self._known.all(axis=0)), _NUMBER[ErrorReason.OTHER])
        return pa.table(
            [
                _dictionary(self._topic, self._names),
                pa.array(self._partition.astype(np.int32)),
                self._column(_HIGH_WATERMARK),
                self._column(_LAST_STABLE),
                self._column(_LOG_START),
                _dictionary(self._error, [error.value for error in _ERRORS]),
                pa.array(self._leader.astype(np.int32), mask=self._leader < 0),
                pa.array(self._epoch.astype(np.int32), mask=self._epoch < 0),
            ],
            schema=ENDS,
        )

    def _column(self, column: int) -> pa.Array:
        return pa.array(self._offsets[column], mask=~self._known[column])


def _dictionary(numbers: npt.NDArray[np.int64], words: Sequence[str]) -> pa.DictionaryArray:
    indices = pa.array(numbers.astype(np.int32), mask=numbers < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def _number_of(code: int) -> int:
    return _NUMBER[of_code(code) or ErrorReason.OTHER]


_PERMANENT: Final = (ErrorReason.NOT_AUTHORIZED, ErrorReason.UNSUPPORTED)
NO_EPOCH: Final = -1
"""The end of an epoch above all that the leader has: the log was replaced by an older one."""


def read_epoch_ends(cluster: Cluster, topic: str, epochs: Mapping[int, int]) -> dict[int, int | None]:
    """Return by partition where its epoch, or else the last one before that, ends in the log of the current leader.

    NO_EPOCH if the leader's own epoch is below the requested one. None if the broker cannot say: it is too old, refuses
    it to this user, or keeps no epochs. A partition whose leader does not answer now is left out. Raises ClusterError
    only when no broker answers at all. Asks nothing if no epochs are given.
    """
    if not epochs:
        return {}
    leaders = find_leaders(cluster, [topic])
    of_node: dict[int, list[tuple[int, int, int]]] = {}
    for partition, epoch in sorted(epochs.items()):
        leader = leaders.of(topic, partition)
        if not isinstance(leader, ErrorReason):
            of_node.setdefault(leader[0], []).append((partition, leader[1], epoch))
    calls = [(node, requests.epoch_ends(topic, rows)) for node, rows in of_node.items()]
    ends: dict[int, int | None] = {}
    for rows, answer in zip(of_node.values(), cluster.call_all(calls), strict=True):
        if isinstance(answer, ClusterError):
            if not answer.passes:
                ends.update(dict.fromkeys((partition for partition, _, _ in rows), None))
            continue
        current = {partition: (leader_epoch, epoch) for partition, leader_epoch, epoch in rows}
        for part in (part for each in answer.topics for part in each.partitions):
            if part.error_code:
                if of_code(part.error_code) in _PERMANENT:
                    ends[part.partition] = None
                continue
            leader_epoch, epoch = current[part.partition]
            went_back = 0 <= leader_epoch < epoch
            ends[part.partition] = part.end_offset if part.end_offset >= 0 else NO_EPOCH if went_back else None
    return ends


def read_high_watermarks(cluster: Cluster, topics: Collection[str]) -> dict[tuple[str, int], int]:
    """Return the known high watermarks by topic and partition. Raises ClusterError as `read_ends` does."""
    ends = read_ends(cluster, topics)
    rows = zip(*(ends[name].to_pylist() for name in ("topic", "partition", "high_watermark")), strict=True)
    return {(topic, partition): end for topic, partition, end in rows if end is not None}


def is_cut(position: int, epoch_end: int | None) -> bool:
    """Return whether a log has lost what was read up to before `position` under an epoch that ends here."""
    return epoch_end is not None and epoch_end < position
