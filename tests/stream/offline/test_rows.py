"""Batches of rows, and rows in memory as a source."""

from stream.offline.rows import OFFSETS_TOPIC, RowList, batch_rows
from tests.stream.offline.captures import commit, row


def test_batches_are_limited_by_rows() -> None:
    """All batches except the last have the maximum number of rows."""
    rows = [commit(at, at) for at in range(5)]
    assert list(batch_rows(rows, 2)) == [rows[:2], rows[2:4], rows[4:]]


def test_batches_are_limited_by_bytes() -> None:
    """A batch is complete when its keys and values reach the maximum size, even with a single row."""
    rows = [row(at, b"k", bytes(size)) for at, size in enumerate((10, 10, 100, 10))]
    assert list(batch_rows(rows, 100, max_bytes=20)) == [rows[:2], rows[2:3], rows[3:]]


def test_row_list_yields_rows_after_an_offset() -> None:
    """`after` selects rows per partition; of other partitions all rows are yielded."""
    source = RowList([commit(at, at, partition=at % 2) for at in range(6)])
    assert [each.offset for each in source.rows()] == [0, 1, 2, 3, 4, 5]
    assert [each.offset for each in source.rows({(OFFSETS_TOPIC, 0): 2})] == [1, 3, 4, 5]
