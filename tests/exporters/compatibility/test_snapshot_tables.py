"""The columns behind the other exporters' metrics, against their value rules computed row by row."""

import collections
import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporters.compatibility.snapshot_tables import other_snapshot
from exporters.http.openapi.small_world import rows
from exporters.readmodel import COMPATIBILITY, Snapshot
from tests.exporters.compatibility.other_world import compatible_snapshot, snapshot_at
from tests.support.hypothesis_profiles import examples

offset = st.one_of(st.none(), st.integers(0, 50))
PLACES = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("tu"), st.integers(0, 2)),
    st.tuples(offset, st.one_of(st.none(), st.integers(0, 1))),
    max_size=10,
)
ENDS = st.dictionaries(st.tuples(st.sampled_from("tu"), st.integers(0, 2)), offset)


def made(places: dict[Any, Any], ends: dict[Any, Any], counts: dict[str, int | None]) -> Snapshot:
    """Return a snapshot of commits and owners by place, end offsets, and numbers of partitions by topic."""
    return compatible_snapshot(
        rows(
            "group topic partition committed_offset owner high_watermark topic_partitions",
            *((*place, *places[place], ends.get(place[1:]), counts[place[1]]) for place in sorted(places)),
        )
    )


@examples(100)
@given(
    places=PLACES,
    ends=ENDS,
    counts=st.fixed_dictionaries(dict.fromkeys("tu", st.one_of(st.none(), st.integers(1, 3)))),
    every_partition=st.booleans(),
)
def test_values_follow_the_rules_of_each_exporter(
    places: dict[Any, Any], ends: dict[Any, Any], counts: dict[str, int | None], *, every_partition: bool
) -> None:
    """Law: partition, topic and group values are those of the exporters' source code, with null for unknown ones."""
    data = made(places, ends, counts)
    found = other_snapshot(data, data, "c", every_partition=every_partition)
    by_topic: dict[Any, list[Any]] = collections.defaultdict(list)
    for (group, topic, partition), (committed, owner) in places.items():
        by_topic[group, topic].append((partition, committed, ends.get((topic, partition)), owner))
    wanted_rows, wanted_topics = {}, {}
    for (group, topic), parts in by_topic.items():
        is_read = any(committed is not None for _, committed, _, _ in parts)
        shown = [-1 if committed is None and is_read else committed for _, committed, _, _ in parts]
        lags = [None if None in (committed, end) else end - committed for _, committed, end, _ in parts]
        for (partition, committed, end, _), each, lag in zip(parts, shown, lags, strict=True):
            minus_one = committed is None and is_read and end is not None
            floor = None if lag is None else max(0, lag)
            wanted_rows[group, topic, partition] = (each, -1 if minus_one else lag, floor)
        others = set(range(counts[topic] or 0)) - {partition for partition, *_ in parts}
        others = others if is_read and every_partition else set()
        wanted_rows |= {(group, topic, partition): (-1, -1, None) for partition in others}
        known = [lag for lag in lags if lag is not None]
        owners = [owner for *_, owner in parts if owner is not None]
        wanted_topics[group, topic] = (
            sum(shown) - len(others) if is_read else None,
            sum(known) if known else None,
            sum(committed for _, committed, end, _ in parts if None not in (committed, end)) if known else None,
            sum(max(0, lag) for lag in known) if known else None,
            len(set(owners)) or None,
            len(owners) or None,
        )
    assert {
        (row["group_id"], row["topic_name"], row["partition_id"]): (
            *(row["committed_or_minus_one"], row["end_minus_committed"], row["end_minus_committed_or_zero"]),
        )
        for row in found.derived["partitions"].to_pylist()
    } == wanted_rows
    columns = ("committed_or_minus_one_sum", "end_minus_committed_sum", "committed_sum", "lag_sum", "members")
    assert {
        (row["consumergroup"], row["topic"]): tuple(row[name] for name in (*columns, "assigned_partitions"))
        for row in found.derived["group topics"].to_pylist()
    } == wanted_topics
    for row in found.derived["groups"].to_pylist():
        lags = [values[2] for place, values in wanted_rows.items() if place[0] == row["group"]]
        known = [lag for lag in lags if lag is not None]
        assert (row["lag_sum"], row["lag_max"]) == ((sum(known), max(known)) if known else (None, None))
    for row in found.derived["topics"].to_pylist():
        read = {at for group, topic, at in places if topic == row["topic_name"]}
        values = [ends.get((row["topic_name"], at)) for at in read]
        is_whole = None not in values and len(values) == counts[row["topic_name"]]
        assert row["high_watermark_sum"] == (sum(values) if is_whole else None)


def test_added_partitions_are_in_order() -> None:
    """A group with a commit for one of three partitions has three rows, and other topics follow them as before."""
    places = {("a", "t", 1): (4, None), ("a", "u", 0): (None, 0), ("b", "t", 0): (2, None)}
    data = made(places, {("t", 1): 9}, {"t": 3, "u": 2})
    found = other_snapshot(data, data, "c", every_partition=True).derived["partitions"].to_pylist()
    assert [(row["group"], row["topic"], row["partition"], row["committed_or_minus_one"]) for row in found] == [
        *(("a", "t", 0, -1), ("a", "t", 1, 4), ("a", "t", 2, -1)),
        ("a", "u", 0, None),
        *(("b", "t", 0, 2), ("b", "t", 1, -1), ("b", "t", 2, -1)),
    ]


def test_a_negative_commit_has_no_lag() -> None:
    """A negative commit has no lag: a client can commit any number, and its difference to the end means nothing."""
    data = made({("a", "t", 0): (-5, None)}, {("t", 0): 10}, {"t": 1})
    (row,) = other_snapshot(data, data, "c").derived["partitions"].to_pylist()
    assert (row["committed_offset"], row["end_minus_committed"], row["end_minus_committed_or_zero"]) == (-5, None, None)


def test_group_status_is_that_of_the_worst_partition() -> None:
    """A group with a partition in STOP, STALL or REWIND is ERR, as in Burrow; burrow_exporter adds 1."""
    shown = other_snapshot(snapshot_at(), snapshot_at(), "c").derived["groups"].to_pylist()
    found = {row["group"]: (row["burrow_status"], row["burrow_exporter_status"]) for row in shown}
    assert found["bigquery-sink"] == (2, 3)
    assert found["consumergroup-A"] == found["rewinder"] == (3, 4)
    assert found["testgroup"] == (1, 2)
    assert found["plain"] == (None, None)


def test_members_are_unknown_without_the_table_of_a_tick() -> None:
    """A snapshot of a capture has neither owners nor statuses; everything else is shown."""
    data = dataclasses.replace(snapshot_at(), compatibility=COMPATIBILITY.empty_table())
    found = other_snapshot(data, data, "c").derived["partitions"]
    assert set(found.column("consumer_id").to_pylist()) == {"unknown"}
    assert set(found.column("burrow_status").to_pylist()) == {None}
    assert found.column("end_minus_committed").to_pylist()[0] == 100
