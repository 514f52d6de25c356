"""Tests of the snapshot: known lags, reasons for unknown lags, sums of groups, and the order of all rows."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from exporters.readmodel import GROUPS, LOG_ENDS, PARTITIONS, UNKNOWN_LAGS
from stream.groups.driver_state import GroupColumns
from stream.tick.snapshot import build as snapshot
from tests.stream.health.tables import wrong
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

STORIES: dict[str, tuple[Any, ...]] = {
    # What was committed on t-0, the partition's high watermark, log start and error, and its lag and the reason.
    "behind the end": (10, (25, 0, None), (15, None)),
    "at the end": (25, (25, 0, None), (0, None)),
    "below the log start: only what is left to read counts": (10, (25, 20, None), (5, None)),
    "all unread records are deleted": (10, (25, 25, None), (0, None)),
    "above the end: never negative": (30, (25, 0, None), (None, "beyond_end")),
    "no leader to ask": (10, (None, None, "no_leader"), (None, "no_leader")),
    "the end is known, the start is not": (10, (25, None, "timed_out"), (None, "timed_out")),
}


def rows(table: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = table.to_pylist()
    return listed


def one_commit(offset: int, epoch: int = -1) -> GroupColumns:
    """Return the driver state of a group with one commit on t-0."""
    shard = ShardReader()
    shard.read([(commit_key("g", "t", 0), commit_value(offset, 7, leader_epoch=epoch))])
    return shard.driver_state.columns()


def test_the_lag_of_a_partition() -> None:
    """The lag of a partition is that of the story, or null with a reason."""

    def lag(committed: int, end: tuple[int | None, int | None, str | None]) -> tuple[int | None, str | None]:
        high, start, error = end
        built = snapshot.build(derived(one_commit(committed), ends_of([("t", 0, high, high, start, error)]), 1.0))
        (row,), (group,) = rows(built.partitions), rows(built.groups)
        found, reason = row["lag"], row["lag_unknown_reason"]
        assert row["committed_offset"] == committed
        assert (group["lag_sum"], group["lag_max"], group["partitions_lag_unknown"]) == (found, found, found is None)
        unknown = [] if found is not None else [{"group": "g", "reason": reason, "partitions": 1}]
        assert rows(built.unknown_lags) == unknown
        return found, reason

    assert wrong(STORIES, lag) == []


def test_the_leader_epoch_explains_a_commit_above_the_end() -> None:
    """A later leader has truncated the log; an earlier leader belongs to another topic of the name."""
    reasons = {5: "truncated", 4: "beyond_end", 3: "recreated", None: "beyond_end"}
    for epoch, reason in reasons.items():
        ends = ends_of([("t", 0, 25, 25, 0, None)], epochs={} if epoch is None else {("t", 0): epoch})
        (row,) = rows(snapshot.build(derived(one_commit(30, epoch=4), ends, 1.0)).partitions)
        assert (row["lag"], row["lag_unknown_reason"]) == (None, reason)


def test_group_sums_cover_known_partitions() -> None:
    """Sum and maximum are those of the known lags; partitions with unknown lag are counted by reason."""
    shard = ShardReader()
    shard.read(
        [
            (commit_key("g", "a", 0), commit_value(1, 50)),
            (commit_key("g", "a", 1), commit_value(1, 70)),
            (commit_key("g", "gone", 0), commit_value(1, 60)),
            (commit_key("g", "gone", 1), commit_value(1, 60)),
            (commit_key("h", "a", 0), commit_value(2, 10)),
        ]
    )
    ends = ends_of([("a", 0, 4, 4, 0, None), ("a", 1, 11, 11, 0, None), ("gone", -1, None, None, None, "not_found")])
    built = snapshot.build(derived(shard.driver_state.columns(), ends, 1.0))
    g, h = rows(built.groups)
    assert (g["lag_sum"], g["lag_max"], g["partitions"], g["partitions_lag_unknown"]) == (13, 10, 4, 2)
    assert (h["lag_sum"], h["lag_max"], h["partitions"], h["partitions_lag_unknown"]) == (2, 2, 1, 0)
    assert built.groups.column("last_commit_time").cast(pa.int64())[0].as_py() == 70
    assert rows(built.unknown_lags) == [{"group": "g", "reason": "not_found", "partitions": 2}]


def test_a_partition_of_several_groups_has_one_row() -> None:
    """Several groups share one row; an end below the last stable offset, which is requested later, is no gap."""
    shard = ShardReader()
    shard.read([(commit_key(group, "a", at), commit_value(1, 50)) for group in "gh" for at in (1, 0)])
    shard.read([(commit_key("h", "b", at), commit_value(1, 50)) for at in (0, 1)])
    ends = ends_of([("a", 0, 9, 4, 2, None), ("a", 1, 7, 8, 0, None), ("b", 0, None, None, None, "no_leader")])
    built = snapshot.build(derived(shard.driver_state.columns(), ends, 1.0))
    assert [tuple(row.values()) for row in rows(built.log_ends)] == [
        ("a", 0, 9, 2, 5, None),
        ("a", 1, 7, 0, 0, None),
        ("b", 0, None, None, None, None),
        ("b", 1, None, None, None, None),
    ]
    assert built.log_ends.schema == LOG_ENDS


@examples(50)
@given(
    st.lists(
        st.tuples(st.sampled_from("bac"), st.sampled_from(["y", "x", "é"]), st.integers(0, 3), st.integers(0, 9)),
        max_size=25,
    )
)
def test_tables_are_sorted_typed_and_agree(commits: list[tuple[str, str, int, int]]) -> None:
    """Rows are sorted by their labels, columns have the types of the read model, and group sums match partitions."""
    shard = ShardReader()
    records = [(commit_key(*place), commit_value(offset, 1)) for *place, offset in commits]
    for begin in range(0, len(records), 5):
        shard.read(records[begin : begin + 5])
    ends = ends_of([(topic, partition, 5, 5, 0, None) for topic in ("x", "y") for partition in range(3)])
    built = snapshot.build(derived(shard.driver_state.columns(), ends, 1.0))
    assert (built.partitions.schema, built.groups.schema) == (PARTITIONS, GROUPS)
    assert built.unknown_lags.schema == UNKNOWN_LAGS
    listed = rows(built.partitions)
    places = [(row["group"], row["topic"], row["partition"]) for row in listed]
    assert places == sorted({(group, topic, partition) for group, topic, partition, _ in commits})
    for group in rows(built.groups):
        lags = [row["lag"] for row in listed if row["group"] == group["group"]]
        known = [lag for lag in lags if lag is not None]
        assert group["lag_sum"] == (sum(known) if known else None)
        assert group["lag_max"] == max(known, default=None)
        assert group["partitions_lag_unknown"] == len(lags) - len(known)


def test_a_negative_offset_has_no_lag() -> None:
    """A broker treats a negative offset as no commit: the lag is unknown, with its own reason."""
    for offset in (-1, -1001, -(2**63)):
        shard = ShardReader()
        shard.read([(commit_key("g", "t", 0), commit_value(offset, 1)), (commit_key("g", "t", 1), commit_value(0, 1))])
        ends = ends_of([("t", partition, 10, 10, 0, None) for partition in range(2)])
        built = snapshot.build(derived(shard.driver_state.columns(), ends, 1.0))
        found = [(row["lag"], row["lag_unknown_reason"]) for row in rows(built.partitions)]
        assert found == [(None, "negative_offset"), (10, None)]
        assert built.groups.column("lag_sum").to_pylist() == [10]
