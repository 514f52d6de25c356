"""The ends of one poll, numbered by the topics of one moment; and for each end that is not known, why.

Owns how the table `stream.cluster.partition_offsets.ENDS` becomes columns. Nothing is judged here.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stream.health.features import lag as lags
from stream.health.features.lag import PartitionEnds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.health.columns import Ints
    from stream.health.features.lag import Lag


@dataclasses.dataclass(frozen=True, slots=True)
class RowEnds:
    """The ends of the partitions of these topics."""

    table: pa.Table
    at: Ints
    """The row of the table that each row of `ends` was read from."""
    ends: PartitionEnds
    topic_error: NDArray[Any]
    """Per topic: why it could not be described, None if it was."""

    def column(self, name: str, found: Lag) -> pa.ChunkedArray:
        """Give one column of the table for each row of a moment; null where its end was not answered."""
        rows = self.at[found.row] if len(self.at) else found.row
        return self.table.column(name).take(pa.array(rows, mask=found.row < 0))

    def reasons(self, found: Lag, topic: Ints) -> NDArray[Any]:
        """Say for each row of a moment whose ends are not known why; None for the others."""
        reasons = np.full(len(topic), None, object)
        error = self.table.column("error").combine_chunks()
        for row in np.flatnonzero(~found.known & ~found.beyond_end).tolist():
            if found.row[row] >= 0:
                reasons[row] = error[int(self.at[found.row[row]])].as_py()
            else:
                reasons[row] = self.topic_error[topic[row]] or lags.UNKNOWN_PARTITION
        return reasons


def polled(table: pa.Table, topics: Sequence[str]) -> RowEnds:
    """Give the ends numbered by these topics, sorted by place; a topic that could not be described has none."""
    numbers = {name: number for number, name in enumerate(topics)}
    encoded = table.column("topic").combine_chunks()
    of_dictionary = np.array([numbers.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
    topic = of_dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
    partition = table.column("partition").to_numpy()
    rows = np.flatnonzero((partition >= 0) & (topic >= 0))
    places = lags.place(topic[rows], partition[rows])
    if (np.diff(places) < 0).any():
        order = np.argsort(places, kind="stable")
        rows, places = rows[order], places[order]
    high, start, stable = (
        table.column(name).fill_null(lags.NOT_KNOWN).to_numpy()[rows]
        for name in ("high_watermark", "log_start_offset", "last_stable_offset")
    )
    known = (high >= 0) & (start >= 0)
    ends = PartitionEnds(places, np.maximum(high, 0), np.maximum(start, 0), known, last_stable=stable)
    return RowEnds(table, rows, ends, _topic_errors(table, topic, partition, len(topics)))


def _topic_errors(table: pa.Table, topic: Ints, partition: NDArray[np.int32], topics: int) -> NDArray[Any]:
    errors = np.full(topics, lags.NOT_ASKED, object)
    errors[topic[topic >= 0]] = None
    undescribed = np.flatnonzero((partition < 0) & (topic >= 0))
    words = table.column("error").take(pa.array(undescribed)).cast(pa.string()).to_pylist()
    errors[topic[undescribed]] = words
    return errors
