"""The names of the fleet's rows, and the order in which readers see them: by group, topic and partition.

Two million rows are sorted in a second, and hardly ever need it: a commit moves no row. So both are values that stay
the same objects for as long as no row and no group comes or goes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

Partitions = np.ndarray[tuple[int], np.dtype[np.int32]]
RowNames = tuple[pa.DictionaryArray, pa.DictionaryArray, Partitions]
"""Group, topic and partition of each row of a shard."""

_NAME: Final = pa.dictionary(pa.int32(), pa.string())


class RowLabels:
    """Group, topic and partition of every row of all shards, one shard after the other."""

    def __init__(self, shards: Sequence[RowNames]) -> None:
        self._shards = list(shards)
        self.group = _unified([group for group, _, _ in shards])
        self.topic = _unified([topic for _, topic, _ in shards])
        self.partition = np.concatenate([np.empty(0, np.int32), *(partition for _, _, partition in shards)])

    def of(self, shards: Sequence[RowNames]) -> RowLabels:
        """Give the names of these shards: these very ones where they are of the same shards, by identity."""
        same = len(shards) == len(self._shards) and all(map(_is, shards, self._shards))
        return self if same else RowLabels(shards)


class RowOrder:
    """Names in their order, and rows in the order of their names. Everything is worked out when it is first asked for.

    `groups` also has groups without rows. Row i of the order is row `order[i]` of the fleet; `group`, `topic` (numbers
    of names) and `partition` are given in that order.
    """

    def __init__(self, names: RowLabels, groups: AbstractSet[str]) -> None:
        self._names = names
        self._known = groups

    def of(self, names: RowLabels, groups: AbstractSet[str]) -> RowOrder:
        """Give the ranks of these: these very ones where nothing changed."""
        return self if names is self._names and groups == self._known else RowOrder(names, groups)

    @functools.cached_property
    def groups(self) -> list[str]:
        """All groups."""
        return sorted({*self._names.group.dictionary.to_pylist(), *self._known})

    @functools.cached_property
    def topics(self) -> list[str]:
        """All topics that have rows."""
        return sorted(self._names.topic.dictionary.to_pylist())

    @functools.cached_property
    def order(self) -> NDArray[np.int64]:
        """The rows of the fleet."""
        group, topic = _numbers(self._names.group, self.groups), _numbers(self._names.topic, self.topics)
        return np.lexsort((self._names.partition, group * max(1, len(self.topics)) + topic))

    @functools.cached_property
    def group(self) -> NDArray[np.int64]:
        """The number of each row's group."""
        return _numbers(self._names.group, self.groups)[self.order]

    @functools.cached_property
    def topic(self) -> NDArray[np.int64]:
        """The number of each row's topic."""
        return _numbers(self._names.topic, self.topics)[self.order]

    @functools.cached_property
    def partition(self) -> Partitions:
        """Each row's partition."""
        return self._names.partition[self.order]


def _numbers(names: pa.DictionaryArray, every: Iterable[str]) -> NDArray[np.int64]:
    rank = {name: number for number, name in enumerate(every)}
    of_dictionary = np.array([rank[name] for name in names.dictionary.to_pylist()] or [0], np.int64)
    numbers: NDArray[np.int64] = of_dictionary[names.indices.to_numpy(zero_copy_only=False)]
    return numbers


def _unified(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    if not chunks:
        return pa.array([], _NAME)
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


def _is(one: object, other: object) -> bool:
    return one is other
