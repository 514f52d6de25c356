"""Row labels and row order stay the same objects until a row or a group changes."""

import numpy as np
import pyarrow as pa

from stream.groups.row_order import RowLabels, RowOrder, ShardLabels


def rows(*keys: tuple[str, str, int]) -> ShardLabels:
    """Return the labels of a shard's rows."""
    groups, topics, partitions = zip(*keys, strict=True)
    named = (pa.array(names, pa.string()).dictionary_encode() for names in (groups, topics))
    return (*named, np.array(partitions, np.int32))


ONE, OTHER = rows(("b", "t", 1), ("a", "u", 0)), rows(("c", "t", 0), ("a", "t", 2))


def test_rows_are_ordered_by_group_topic_and_partition() -> None:
    """The order is over all shards and includes groups without rows."""
    ranks = RowOrder(RowLabels([ONE, OTHER]), frozenset({"b", "aa"}))
    assert ranks.groups == ["a", "aa", "b", "c"]
    assert ranks.topics == ["t", "u"]
    assert ranks.order.tolist() == [3, 1, 0, 2]
    assert ranks.group.tolist() == [0, 0, 2, 3]
    assert ranks.topic.tolist() == [0, 1, 0, 0]
    assert ranks.partition.tolist() == [2, 0, 1, 0]


def test_the_order_of_no_rows_is_empty() -> None:
    """The order has only groups if there are no rows."""
    ranks = RowOrder(RowLabels([]), frozenset({"a"}))
    assert (ranks.groups, ranks.topics, ranks.order.tolist(), ranks.group.tolist()) == (["a"], [], [], [])


def test_the_same_shards_have_the_same_labels() -> None:
    """Shards are compared by identity, number and order."""
    names = RowLabels([ONE, OTHER])
    assert names.for_shards([ONE, OTHER]) is names
    for others in ([ONE], [OTHER, ONE], [ONE, OTHER, ONE], [ONE, rows(("c", "t", 0), ("a", "t", 2))]):
        assert names.for_shards(others) is not names


def test_another_group_changes_the_order() -> None:
    """A group without rows has a place in the order too."""
    names = RowLabels([ONE])
    ranks = RowOrder(names, frozenset({"x"}))
    assert ranks.for_labels(names, {"x"}) is ranks
    assert ranks.for_labels(names, {"x", "y"}).groups == ["a", "b", "x", "y"]
    assert ranks.for_labels(RowLabels([OTHER]), {"x"}).groups == ["a", "c", "x"]
