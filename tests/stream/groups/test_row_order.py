"""Names and ranks stay the same values for as long as nothing that they tell of changed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stream.groups.row_order import RowLabels, RowOrder, ShardLabels


def rows(*keys: tuple[str, str, int]) -> ShardLabels:
    """Give the names of a shard's rows."""
    groups, topics, partitions = zip(*keys, strict=True)
    named = (pa.array(names, pa.string()).dictionary_encode() for names in (groups, topics))
    return (*named, np.array(partitions, np.int32))


ONE, OTHER = rows(("b", "t", 1), ("a", "u", 0)), rows(("c", "t", 0), ("a", "t", 2))


def test_rows_are_ordered_by_group_topic_and_partition() -> None:
    """Over all shards, with the groups among them that have no rows."""
    ranks = RowOrder(RowLabels([ONE, OTHER]), frozenset({"b", "aa"}))
    assert ranks.groups == ["a", "aa", "b", "c"]
    assert ranks.topics == ["t", "u"]
    assert ranks.order.tolist() == [3, 1, 0, 2]
    assert ranks.group.tolist() == [0, 0, 2, 3]
    assert ranks.topic.tolist() == [0, 1, 0, 0]
    assert ranks.partition.tolist() == [2, 0, 1, 0]


def test_nothing_has_an_order_too() -> None:
    """Without rows there are only the groups."""
    ranks = RowOrder(RowLabels([]), frozenset({"a"}))
    assert (ranks.groups, ranks.topics, ranks.order.tolist(), ranks.group.tolist()) == (["a"], [], [], [])


def test_the_same_shards_are_the_same_names() -> None:
    """By identity: another shard, one more or one less, or another order of them is something else."""
    names = RowLabels([ONE, OTHER])
    assert names.for_shards([ONE, OTHER]) is names
    for others in ([ONE], [OTHER, ONE], [ONE, OTHER, ONE], [ONE, rows(("c", "t", 0), ("a", "t", 2))]):
        assert names.for_shards(others) is not names


def test_another_group_is_another_order() -> None:
    """Also one without rows: it has its place among the others."""
    names = RowLabels([ONE])
    ranks = RowOrder(names, frozenset({"x"}))
    assert ranks.for_labels(names, {"x"}) is ranks
    assert ranks.for_labels(names, {"x", "y"}).groups == ["a", "b", "x", "y"]
    assert ranks.for_labels(RowLabels([OTHER]), {"x"}).groups == ["a", "c", "x"]
