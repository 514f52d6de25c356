"""The ends of one tick, to be looked up by topic and partition, many at once. Owns nothing but the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from stream.health.columns import Flags, Ints

_NOT_KNOWN = -1


class EndsByName:
    """Made of a table with the schema `partition_offsets.ENDS`. Offsets are -1 where they are not known."""

    def __init__(self, ends: pa.Table) -> None:
        topic = ends.column("topic").combine_chunks()
        self._number = {name: number for number, name in enumerate(topic.dictionary.to_pylist())}
        partition = ends.column("partition").to_numpy()
        described = np.flatnonzero(partition >= 0)
        place = (topic.indices.to_numpy().astype(np.int64)[described] << 32) | partition[described]
        rows = described[np.argsort(place, kind="stable")]
        self._place = np.sort(place)
        self.topic: Ints = topic.indices.to_numpy().astype(np.int64)[rows]
        self.partition: Ints = partition[rows].astype(np.int64)
        self.high_watermark, self.last_stable, self.log_start = (
            ends.column(name).fill_null(_NOT_KNOWN).to_numpy()[rows]
            for name in ("high_watermark", "last_stable_offset", "log_start_offset")
        )

    @property
    def topics(self) -> list[str]:
        """The topics that could be described."""
        names = list(self._number)
        return [names[number] for number in np.unique(self.topic).tolist()]

    def asked_for(self, names: Sequence[str]) -> Flags:
        """Tell which of these topics were asked for at all."""
        return np.array([name in self._number for name in names], np.bool_)

    def rows(self, names: Sequence[str], topic: Ints, partition: Ints) -> Ints:
        """Give the row of each (topic, partition), -1 where there is none; `topic` numbers `names`."""
        number = np.array([self._number.get(name, -1) for name in names] or [-1], np.int64)[topic]
        place = (number << 32) | partition
        if not len(self._place):
            return np.full(len(place), -1, np.int64)
        at = np.minimum(np.searchsorted(self._place, place), len(self._place) - 1)
        return np.where((number >= 0) & (self._place[at] == place), at, -1)

    def of_topic(self, name: str) -> Ints:
        """Give the rows of one topic, in the order of its partitions."""
        return np.flatnonzero(self.topic == self._number.get(name, -1))
