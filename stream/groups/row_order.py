"""Labels of the rows of the driver state, and their order in output: by group, topic and partition.

Sorting two million rows takes a second and is rarely needed, because a commit moves no row. Both values therefore stay
the same objects until a row or a group is added or removed.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Partitions = np.ndarray[tuple[int], np.dtype[np.int32]]
ShardLabels = tuple[pa.DictionaryArray, pa.DictionaryArray, Partitions]
"""Group, topic and partition of each row of a shard."""

_NAME: Final = pa.dictionary(pa.int32(), pa.string())


class RowLabels:
    """Group, topic and partition of every row of all shards, in the order of the shards."""

    def __init__(self, shards: Sequence[ShardLabels]) -> None:
        self._shards = list(shards)
        self.group = _unified([group for group, _, _ in shards])
        self.topic = _unified([topic for _, topic, _ in shards])
        self.partition = np.concatenate([np.empty(0, np.int32), *(partition for _, _, partition in shards)])

    def for_shards(self, shards: Sequence[ShardLabels]) -> RowLabels:
        """Return the labels of these shards: this object if they are the same shards, compared by identity."""
        same = len(shards) == len(self._shards) and all(map(operator.is_, shards, self._shards))
        return self if same else RowLabels(shards)


class RowOrder:
    """Sorted names, and rows sorted by their labels. Each property is computed on first use.

    `groups` also has groups without rows. Row i of the order is row `order[i]` of the driver state; `group`, `topic`
    (indices of `groups` and `topics`) and `partition` are in that order.
    """

    def __init__(self, labels: RowLabels, groups: AbstractSet[str]) -> None:
        self._labels = labels
        self._all_groups = groups

    def for_labels(self, labels: RowLabels, groups: AbstractSet[str]) -> RowOrder:
        """Return the order of these labels and groups: this object if nothing changed."""
        return self if labels is self._labels and groups == self._all_groups else RowOrder(labels, groups)

    @functools.cached_property
    def groups(self) -> list[str]:
        """All groups, sorted."""
        return sorted({*self._labels.group.dictionary.to_pylist(), *self._all_groups})

    @functools.cached_property
    def topics(self) -> list[str]:
        """All topics that have rows, sorted."""
        return sorted(self._labels.topic.dictionary.to_pylist())

    @functools.cached_property
    def order(self) -> NDArray[np.int64]:
        """The row numbers of the driver state, sorted by group, topic and partition."""
        group, topic = _indices(self._labels.group, self.groups), _indices(self._labels.topic, self.topics)
        return np.lexsort((self._labels.partition, group * max(1, len(self.topics)) + topic))

    @functools.cached_property
    def group(self) -> NDArray[np.int64]:
        """The index in `groups` of each row's group."""
        return _indices(self._labels.group, self.groups)[self.order]

    @functools.cached_property
    def topic(self) -> NDArray[np.int64]:
        """The index in `topics` of each row's topic."""
        return _indices(self._labels.topic, self.topics)[self.order]

    @functools.cached_property
    def partition(self) -> Partitions:
        """The partition of each row."""
        return self._labels.partition[self.order]


def _indices(names: pa.DictionaryArray, sorted_names: Iterable[str]) -> NDArray[np.int64]:
    index = {name: number for number, name in enumerate(sorted_names)}
    of_dictionary = np.array([index[name] for name in names.dictionary.to_pylist()] or [0], np.int64)
    indices: NDArray[np.int64] = of_dictionary[names.indices.to_numpy(zero_copy_only=False)]
    return indices


def _unified(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    if not chunks:
        return pa.array([], _NAME)
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
