"""The index of end offsets: rows by topic and partition, and a reason for each end that is not known."""

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.transport.errors import ErrorReason
from stream.health.features import lag as lags
from stream.tick.ends_index import EndsIndex
from tests.stream.health.tables import wrong
from tests.support.driver_states import ends_of

INDEX = EndsIndex(
    ends_of(
        [
            ("a", 0, 10, 9, 1, None),
            ("a", 2, 30, 30, 3, None),
            ("b", 1, None, None, None, "no_leader"),
            ("denied", -1, None, None, None, "not_authorized"),
        ]
    )
)
REASONS: dict[str, tuple[list[Any], str | None]] = {
    # The rows that the cluster answered, and why the end of partition 0 of topic `t` is not known.
    "end offsets known": ([("t", 0, 9, 9, 0, None)], None),
    "no topic requested": ([], "not_asked"),
    "another topic requested": ([("u", 0, 9, 9, 0, None)], "not_asked"),
    "topic deleted": ([("t", -1, None, None, None, "not_found")], "not_found"),
    "no such partition": ([("t", 1, 9, 9, 0, None)], "unknown_partition"),
    "partition without leader": ([("t", 0, None, None, None, "no_leader")], "no_leader"),
    "log start offset missing": ([("t", 0, 9, 9, None, "timed_out")], "timed_out"),
}


def test_rows_are_found_by_name_in_any_numbering() -> None:
    """Topics that were not requested and partitions that do not exist have no row."""
    names = ["never requested", "b", "a"]
    rows = INDEX.rows(names, np.array([2, 2, 2, 1, 0, 1]), np.array([2, 0, 1, 1, 0, 0]))
    found = [int(INDEX.high_watermark[row]) if row >= 0 else None for row in rows.tolist()]
    assert found == [30, 10, None, -1, None, None]
    assert [int(column[rows[0]]) for column in (INDEX.last_stable_offset, INDEX.log_start_offset)] == [30, 3]


def test_leaders_are_those_of_the_poll() -> None:
    """A partition without a leader, and one that was not described, have none."""
    leaders = EndsIndex(INDEX.table_of_topic("a").set_column(6, "leader", pa.array([3, None], pa.int32()))).leaders()
    found = [leaders.of(topic, partition) for topic, partition in (("a", 0), ("a", 2), ("a", 1), ("denied", 0))]
    assert found == [(3, -1), ErrorReason.NO_LEADER, ErrorReason.NOT_FOUND, ErrorReason.NOT_FOUND]


def test_every_unknown_end_has_a_reason() -> None:
    """A known end has no reason."""

    def reason_of(rows: list[Any]) -> str | None:
        index, topic, partition = EndsIndex(ends_of(rows)), np.array([0]), np.array([0], np.int32)
        ends, _ = index.partition_ends(["t", "u"])
        found = lags.lag(lags.Commits(lags.place(topic, partition), np.array([5])), ends)
        row = index.rows(["t", "u"], topic, partition)
        (reason,) = index.unknown_reasons(~found.known, row, ["t", "u"], topic).tolist()
        assert bool(found.known[0]) == (reason is None)
        return cast("str | None", reason)

    assert wrong(REASONS, reason_of) == []


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]], ids=["sorted", "reversed", "rotated"])
def test_the_order_of_the_table_does_not_matter(order: list[int]) -> None:
    """Columns are returned per row; an offset that is known alone is kept, an unknown one is null."""
    polled = [("d", -1, None, None, None, "not_found"), ("t", 1, 4, None, None, "timed_out"), ("u", 0, 7, 6, 5, None)]
    index = EndsIndex(ends_of(polled).take(order))
    rows = index.rows(["t", "u"], np.array([0, 0, 1]), np.array([0, 1, 0], np.int32))
    assert index.column("high_watermark", rows).to_pylist() == [None, 4, 7]
    assert index.column("last_stable_offset", rows).to_pylist() == [None, None, 6]
    assert [index.high_watermark[row] for row in rows.tolist() if row >= 0] == [4, 7]


def test_partition_ends_are_numbered_by_the_given_topics() -> None:
    """The ends are sorted by place, and each refers to its row of the index; other topics are left out."""
    ends, rows = INDEX.partition_ends(["b", "unused", "a"])
    assert ends.place.tolist() == [1, 2 << 32, (2 << 32) + 2]
    assert ends.known.tolist() == [False, True, True]
    assert INDEX.high_watermark[rows].tolist() == [-1, 10, 30]
    assert ends.last_stable is not None
    assert (ends.log_start.tolist(), ends.last_stable.tolist()) == ([0, 1, 3], [-1, 9, 30])
