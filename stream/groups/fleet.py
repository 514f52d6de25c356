"""The driver's copy of all shards, kept current by the changes of each micro-batch, and read as whole columns.

A change replaces what it touches: the newest position wins, so a batch that is applied twice is harmless.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from decoders.columnar import decode_keys
from stream.groups.membership import Membership, Memberships
from stream.groups.shard import Runs, concat_runs, empty_shard, no_runs, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.shard import Shard

NAMES: Final = pa.dictionary(pa.int32(), pa.string())


@dataclasses.dataclass(frozen=True, slots=True)
class FleetColumns:
    """All groups at one moment. Row i of `runs` belongs to `group[i]`, `topic[i]`, `partition[i]`."""

    runs: Runs
    group: pa.DictionaryArray
    topic: pa.DictionaryArray
    partition: np.ndarray[tuple[int], np.dtype[np.int32]]
    memberships: Mapping[str, Membership]
    """What is known of each group's membership; a group that only has offsets is not in it."""


class Fleet:
    """Not thread-safe: the holder guards it."""

    def __init__(self) -> None:
        self._shards: dict[int, _Held] = {}

    def apply(self, shard: int, change: Shard) -> None:
        """Take in what a batch changed in one shard; also the way to seed it with a whole state."""
        self._shards.setdefault(shard, _Held()).apply(change)

    def columns(self) -> FleetColumns:
        """Give all rows of all shards as they are now. Later changes do not touch what was given."""
        held = [shard for _, shard in sorted(self._shards.items()) if len(shard.runs)]
        memberships = {name: known for shard in self._shards.values() for name, known in shard.memberships.of.items()}
        if not held:
            none = pa.array([], NAMES)
            return FleetColumns(no_runs(), none, none, np.empty(0, np.int32), memberships)
        return FleetColumns(
            runs=concat_runs([shard.runs for shard in held]),
            group=_unified([shard.names()[0] for shard in held]),
            topic=_unified([shard.names()[1] for shard in held]),
            partition=np.concatenate([shard.names()[2] for shard in held]),
            memberships=memberships,
        )


class _Held:
    """One shard on the driver."""

    def __init__(self) -> None:
        self.runs = no_runs()
        self.memberships = Memberships()
        self._position = empty_shard().position
        self._names: tuple[pa.DictionaryArray, pa.DictionaryArray, np.ndarray[tuple[int], np.dtype[np.int32]]] | None
        self._names = None

    def apply(self, change: Shard) -> None:
        if change.position < self._position:
            return
        self._position = change.position
        self.memberships.apply(change.records)
        if not len(change.runs):
            return
        known = rows_of(self.runs.keys, change.runs.keys)
        untouched = np.ones(len(self.runs), np.bool_)
        untouched[known[known >= 0]] = False
        alive = change.runs.spans.commits > 0
        fresh = change.runs if alive.all() else change.runs.take(alive)
        self.runs = concat_runs([self.runs.take(untouched), fresh])
        self._names = None

    def names(self) -> tuple[pa.DictionaryArray, pa.DictionaryArray, np.ndarray[tuple[int], np.dtype[np.int32]]]:
        """Group, topic and partition of each row; decoded anew only when rows moved."""
        if self._names is None:
            read = decode_keys(self.runs.keys)
            self._names = read.group.dictionary_encode(), read.topic.dictionary_encode(), read.partition
        return self._names


def _unified(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
