"""The end offsets of one tick, indexed once for every lookup by topic and partition.

One tick builds one `EndsIndex` from the polled table. Lookups, hidden commits, the inputs of health and the lag of the
offsets topic all read from it.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.cluster.partition_offsets import ENDS, Leaders
from stream.cluster.transport.errors import ErrorReason
from stream.health.columns import NOT_KNOWN, Flags, Ints
from stream.health.features import lag as lags
from stream.health.features.lag import PartitionEnds

_PARTITION: Final = 0xFFFFFFFF
"""The bits of a place that hold the partition."""


class EndsIndex:
    """The end offsets of described partitions, one row each, sorted by topic and partition.

    Topics are sorted as in the dictionary of the polled table. Offsets are -1 where they are not known. A topic that
    could not be described has no rows, only an error.
    """

    def __init__(self, table: pa.Table) -> None:
        """Index a table with the schema `stream.cluster.partition_offsets.ENDS`."""
        topic = table.column("topic").combine_chunks()
        self._names: list[str] = topic.dictionary.to_pylist()
        self._numbers = {name: number for number, name in enumerate(self._names)}
        number = topic.indices.to_numpy(zero_copy_only=False)
        partition = table.column("partition").to_numpy()
        described = partition >= 0
        self._table = table
        self._topic_errors = _topic_errors(table, number, ~described)
        self._place = lags.place(number[described], partition[described])
        # The row of the table that each row was read from; None if they are the same.
        self._table_row: Ints | None = None
        if not described.all() or (np.diff(self._place) < 0).any():
            order = np.argsort(self._place, kind="stable")
            self._place = self._place[order]
            self._table_row = np.flatnonzero(described)[order]
        self.high_watermark = self._offsets("high_watermark")
        self.last_stable_offset = self._offsets("last_stable_offset")
        self.log_start_offset = self._offsets("log_start_offset")
        self.leader = self._offsets("leader").astype(np.int64)
        """The broker that leads each row; -1: none, or not known."""
        self.leader_epoch = self._offsets("leader_epoch").astype(np.int32)
        """The epoch of the last leader of each row; -1: not known."""

    def __len__(self) -> int:
        return len(self._place)

    @property
    def places(self) -> Ints:
        """The place of each row: the number of its topic in `names`, and its partition."""
        return self._place

    def leaders(self) -> Leaders:
        """Return the leader of each row when the ends were read."""
        columns = (self._place >> 32, self._place & _PARTITION, self.leader, self.leader_epoch)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return Leaders(
            {
                (self._names[topic], partition): (leader, epoch) if leader >= 0 else ErrorReason.NO_LEADER
                for topic, partition, leader, epoch in rows
            }
        )

    @property
    def names(self) -> Sequence[str]:
        """The topics of the poll by number, described or not."""
        return self._names

    @property
    def described_topics(self) -> list[str]:
        """The topics that have rows, sorted as the rows are."""
        topic = self._place >> 32
        return [self._names[number] for number in topic[np.diff(topic, prepend=-1) != 0].tolist()]

    def were_requested(self, topics: Sequence[str]) -> Flags:
        """Return which of these topics the poll requested, described or not."""
        return np.array([name in self._numbers for name in topics], np.bool_)

    def rows(self, topics: Sequence[str], topic: Ints, partition: NDArray[np.integer[Any]]) -> Ints:
        """Return the row of each (topic, partition), -1 where there is none; `topic` holds positions in `topics`."""
        number = np.array([self._numbers.get(name, -1) for name in topics] or [-1], np.int64)[topic]
        place = (number << 32) | partition
        if not len(self):
            return np.full(len(place), -1, np.int64)
        row = np.minimum(np.searchsorted(self._place, place), len(self) - 1)
        return np.where((number >= 0) & (self._place[row] == place), row, -1)

    def rows_of_topic(self, name: str) -> Ints:
        """Return the rows of one topic, sorted by partition."""
        number = self._numbers.get(name)
        if number is None:
            return np.empty(0, np.int64)
        begin, end = np.searchsorted(self._place, (number << 32, (number + 1) << 32))
        return np.arange(begin, end)

    def topic_error(self, name: str) -> str | None:
        """Return why a topic could not be described, an `ErrorReason`; None if it was, or was not requested."""
        return self._topic_errors.get(self._numbers.get(name, -1))

    def partitions(self, rows: Ints) -> Ints:
        """Return the partition of each of these rows."""
        return self._place[rows] & _PARTITION

    def table_of_topic(self, name: str) -> pa.Table:
        """Return the rows of one topic as a table, with nulls and errors as polled (schema ENDS)."""
        return self._table.take(pa.array(self._table_rows(self.rows_of_topic(name))))

    def column(self, name: str, rows: Ints) -> pa.ChunkedArray:
        """Return a column of the polled table for these rows; null where the row is -1 or the value is not known."""
        return self._table.column(name).take(pa.array(self._table_rows(rows), mask=rows < 0))

    def partition_ends(self, topics: Sequence[str]) -> tuple[PartitionEnds, Ints]:
        """Return the ends of the partitions of these topics as health reads them, and the row of each.

        Places hold the positions in `topics`. A topic that could not be described has no element.
        """
        position = {name: number for number, name in enumerate(topics)}
        positions = np.array([position.get(name, -1) for name in self._names] or [-1], np.int64)
        topic = positions[self._place >> 32]
        rows = np.flatnonzero(topic >= 0)
        places = (topic[rows] << 32) | self.partitions(rows)
        if (np.diff(places) < 0).any():
            order = np.argsort(places, kind="stable")
            rows, places = rows[order], places[order]
        high, start = self.high_watermark[rows], self.log_start_offset[rows]
        known = (high >= 0) & (start >= 0)
        ends = PartitionEnds(
            places,
            np.maximum(high, 0),
            np.maximum(start, 0),
            known,
            last_stable=self.last_stable_offset[rows],
            leader_epoch=self.leader_epoch[rows],
        )
        return ends, rows

    def unknown_reasons(self, unknown: Flags, rows: Ints, topics: Sequence[str], topic: Ints) -> NDArray[np.object_]:
        """Return why the ends of the `unknown` elements are not known, None for the others.

        An element is a partition: its row (-1 if it has none) and the position of its topic in `topics`. The reason is
        an `ErrorReason`, or a constant of `stream.health.features.lag`.
        """
        reasons = np.full(len(rows), None, object)
        elements = np.flatnonzero(unknown)
        errors = self.column("error", rows[elements]).to_pylist()
        for element, row, error in zip(elements.tolist(), rows[elements].tolist(), errors, strict=True):
            reasons[element] = error if row >= 0 else self._missing_reason(topics[topic[element]])
        return reasons

    def _missing_reason(self, topic: str) -> str:
        number = self._numbers.get(topic, -1)
        if number in self._topic_errors:
            return self._topic_errors[number] or lags.UNKNOWN_PARTITION
        return lags.UNKNOWN_PARTITION if len(self.rows_of_topic(topic)) else lags.NOT_ASKED

    def _offsets(self, name: str) -> Ints:
        column: Ints = self._table.column(name).fill_null(NOT_KNOWN).to_numpy()
        return column if self._table_row is None else column[self._table_row]

    def _table_rows(self, rows: Ints) -> Ints:
        return rows if self._table_row is None or not len(self) else self._table_row[rows]


def _topic_errors(table: pa.Table, number: Ints, undescribed: Flags) -> dict[int, str | None]:
    """Return the error of each topic that could not be described, by its number."""
    rows = np.flatnonzero(undescribed)
    errors = table.column("error").take(pa.array(rows)).to_pylist()
    return dict(zip(number[rows].tolist(), errors, strict=True))


NO_ENDS: Final = EndsIndex(ENDS.empty_table())
