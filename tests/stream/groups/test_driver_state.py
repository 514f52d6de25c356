"""The driver state: its columns and events, for changes in any order and with repetitions."""

import dataclasses
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import pack
from stream.groups.commits.counts import CommitCounts
from stream.groups.commits.runs import columns_of
from stream.groups.driver_state import DriverState, GroupColumns
from stream.groups.row_order import NO_EVENTS, RemovedOffset
from stream.groups.shard import StateLimits, empty_state
from tests.stream.groups.written import classic, classic_member
from tests.support.commits import KEEP
from tests.support.driver_states import Raw, ShardReader, delta_of
from tests.support.group_histories import at, commits, forgets, line
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value, group_key, group_value

RECORDS: st.SearchStrategy[Raw] = st.one_of(
    st.tuples(
        st.builds(commit_key, st.sampled_from("abc"), st.just("t"), st.integers(0, 2)),
        st.one_of(st.none(), st.builds(commit_value, st.integers(0, 9), st.integers(0, 60))),
    ),
    st.tuples(
        st.builds(group_key, st.sampled_from("abc")),
        st.one_of(st.none(), st.builds(group_value, st.integers(0, 3), st.lists(st.just("m"), max_size=2))),
    ),
)


def offsets_and_memberships(
    driver: DriverState,
) -> tuple[dict[tuple[str, str, int], int], dict[str, tuple[str | None, int]]]:
    """Return offsets and memberships as plain values."""
    columns = driver.columns()
    names = zip(columns.group.to_pylist(), columns.topic.to_pylist(), columns.partition.tolist(), strict=True)
    offsets = dict(zip(names, columns.runs.spans.last_offset.tolist(), strict=True))
    return offsets, {name: (known.state, known.members) for name, known in columns.memberships.items()}


@examples(40)
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=6), max_size=6))
def test_changes_and_the_final_state_give_the_same_driver_state(batches: list[list[Raw]]) -> None:
    """A restart has no effect: seeding with the final state equals applying all changes."""
    shard_reader = ShardReader()
    for batch in batches:
        shard_reader.read(batch)
    restarted = DriverState()
    restarted.seed(0, shard_reader.state)
    assert offsets_and_memberships(restarted) == offsets_and_memberships(shard_reader.driver_state)
    assert restarted.columns().histories == shard_reader.driver_state.columns().histories


@examples(40)
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=6), min_size=1, max_size=6), st.integers(0, 5))
def test_a_change_applied_again_has_no_effect(batches: list[list[Raw]], again: int) -> None:
    """A micro-batch that Spark delivers again, also late, does not change the driver state."""
    shard_reader = ShardReader()
    changes = [shard_reader.read(batch) for batch in batches]
    before = offsets_and_memberships(shard_reader.driver_state)
    lives = shard_reader.driver_state.columns().histories
    assert shard_reader.driver_state.apply(0, changes[-1]) == NO_EVENTS
    assert shard_reader.driver_state.apply(0, changes[again % len(changes)]) == NO_EVENTS
    assert offsets_and_memberships(shard_reader.driver_state) == before
    assert shard_reader.driver_state.columns().histories == lives


@examples(40)
@given(st.lists(RECORDS, min_size=1, max_size=8), st.lists(RECORDS, min_size=1, max_size=8))
def test_a_change_that_begins_at_the_start_again_adds_what_followed(first: list[Raw], later: list[Raw]) -> None:
    """Spark's first batch has what was read before it started, and more: only the latter is counted and an event."""
    log, found = [(1_000 * at, *record) for at, record in enumerate([*first, *later])], []
    for begins_again in (False, True):
        shard_reader = ShardReader()
        shard_reader.driver_state = DriverState(CommitCounts())
        shard_reader.apply(delta_of(log[: len(first)], 0))
        shard_reader.driver_state.columns()
        if begins_again:
            shard_reader.state = empty_state()
        read = 0 if begins_again else len(first)
        shard_reader.apply(delta_of(log[read:], read))
        columns, state = shard_reader.driver_state.columns(), offsets_and_memberships(shard_reader.driver_state)
        events = set(shard_reader.events.transitions), set(shard_reader.events.removed_offsets)
        found.append((state, columns.histories, columns.commit_counts, events))
    assert found[0] == found[1]


def test_every_removed_offset_is_an_event_with_its_last_commit() -> None:
    """The events include offsets committed before or after in the same batch, and exclude unknown offsets."""
    shard_reader = ShardReader()
    shard_reader.apply(delta_of([*commits(10, 0, 1), *_expiring(20, 2, expires=500)], 0))
    log = [*forgets(30, 0, 2, 9), *commits(40, 0, 3), *forgets(50, 3), *forgets(60, 0), *commits(70, 0)]
    shard_reader.apply(delta_of(log, 3))
    assert sorted(shard_reader.events.removed_offsets, key=lambda each: each.time) == [
        RemovedOffset(commit_key("g", "t", 0), "g", "t", 0, 30, 10, None),
        RemovedOffset(commit_key("g", "t", 2), "g", "t", 2, 30, 20, 500),
        RemovedOffset(commit_key("g", "t", 3), "g", "t", 3, 50, 40, None),
        RemovedOffset(commit_key("g", "t", 0), "g", "t", 0, 60, 40, None),
    ]


def _expiring(time: int, partition: int, *, expires: int) -> list[tuple[int, bytes, bytes | None]]:
    """Return a commit as brokers up to 2.0 wrote it (value v1), with an expire timestamp."""
    ((_, key, _),) = commits(time, partition)
    value = b"\0\1" + (5).to_bytes(8, "big") + b"\0\0" + time.to_bytes(8, "big") + expires.to_bytes(8, "big")
    return [(time, key, value)]


def test_transitions_are_events_of_their_batch() -> None:
    """Each batch has only its own transitions; a batch with commits only has none."""
    shard_reader = ShardReader(StateLimits(KEEP, live_from=3))
    member = classic_member("a")
    lines = []
    for log in (
        [*commits(10, 0), *at(20, classic(member))],
        [*commits(30, 0)],
        [*at(40, classic(generation=2)), *forgets(50, 0)],
    ):
        shard_reader.apply(delta_of(log, shard_reader.state.position + 1))
        lines.append([(group, line(each), each.live) for group, each in shard_reader.events.transitions])
    assert lines == [
        [("g", "10 created", False), ("g", "20 rebalanced +1", False)],
        [],
        [("g", "40 emptied -1", True), ("g", "50 forgotten classic/Empty offsets=1", True)],
    ]


def test_dead_groups_stay_until_they_are_dropped() -> None:
    """A dead group keeps its history without rows and membership until the caller drops it or it is recreated."""
    shard_reader = ShardReader(StateLimits(KEEP, dead_grace_ms=None))
    log = [*commits(10, 0, group="a"), *commits(10, 0, group="b"), *commits(10, 0, group="c")]
    shard_reader.apply(delta_of([*log, *forgets(20, 0, group="a"), *forgets(30, 0, group="b")], 0))
    columns = shard_reader.driver_state.columns()
    assert {group: life.died for group, life in columns.histories.items()} == {"a": 20, "b": 30, "c": None}
    assert columns.group.to_pylist() == ["c"]
    shard_reader.driver_state.drop_dead(30, now=2000)
    assert shard_reader.driver_state.columns().histories.keys() == {"b", "c"}
    shard_reader.apply(delta_of(commits(40, 0, group="b"), 5))
    shard_reader.driver_state.drop_dead(1000, now=2000)
    assert shard_reader.driver_state.columns().histories.keys() == {"b", "c"}


def test_a_death_is_not_repeated_after_its_group_was_dropped() -> None:
    """A group that returns after the driver dropped it has the death in its history, but no second event of it."""
    shard_reader = ShardReader(StateLimits(KEEP, dead_grace_ms=100))
    shard_reader.apply(delta_of([*commits(10, 0), *forgets(20, 0)], 0))
    shard_reader.driver_state.drop_dead(21, now=121)
    shard_reader.apply(delta_of(commits(119, 0), 2))
    assert [line(each) for _, each in shard_reader.events.transitions] == ["119 reborn"]
    (history,) = shard_reader.driver_state.columns().histories.values()
    assert [each.type for each in history.transitions] == ["created", "dead", "reborn"]


def test_groups_dropped_from_the_state_are_dropped_on_the_driver() -> None:
    """The grace period of the state, by the records' timestamps, also removes histories on the driver."""
    shard_reader = ShardReader(StateLimits(KEEP, dead_grace_ms=100))
    shard_reader.apply(
        delta_of([*commits(10, 0, group="a"), *forgets(20, 0, group="a"), *commits(30, 0, group="b")], 0)
    )
    assert shard_reader.driver_state.columns().histories.keys() == {"a", "b"}
    shard_reader.apply(delta_of(commits(10_000, 0, group="b"), 3))
    assert shard_reader.driver_state.columns().histories.keys() == {"b"}


@pytest.mark.parametrize("latest", [None, 100], ids=["stored by an earlier version", "read now"])
def test_record_of_tomorrow_does_not_drop_the_group_that_dies_today(latest: int | None) -> None:
    """The clock of a shard is bounded by the reader's, also where the stored state has a later time already."""
    day, limits = 24 * 3_600_000, StateLimits(KEEP, dead_grace_ms=3_600_000, latest=latest)
    shard_reader = ShardReader(limits)
    shard_reader.apply(delta_of([*commits(10, 0, group="a"), *commits(day, 0, group="b")], 0))
    shard_reader.limits = dataclasses.replace(limits, latest=100)
    shard_reader.apply(delta_of(forgets(50, 0, group="a"), 2))
    assert [line(each) for _, each in shard_reader.events.transitions] == ["50 dead simple/Empty offsets=1"]
    assert shard_reader.driver_state.columns().histories.keys() == {"a", "b"}
    assert shard_reader.state.time == 100


@pytest.mark.parametrize("batches", [15, pytest.param(100, marks=pytest.mark.long)])
def test_churn_leaves_a_bounded_state(batches: int) -> None:
    """Thousands of groups exist for a second each, and only those of the last hours and of one batch are kept."""
    hour = 3_600_000
    shard_reader = ShardReader(StateLimits(KEEP, dead_grace_ms=hour))
    sizes = []
    for batch in range(batches):
        log = []
        for number in range(batch * 1000, batch * 1000 + 1000):
            time, name = number * 10_000, f"throw-away-{number}"
            log += [*commits(time, 0, 1, group=name), *forgets(time + 1000, 0, 1, group=name)]
        shard_reader.apply(delta_of(log, batch * 4000))
        sizes.append(len(shard_reader.state.histories))
    assert shard_reader.events.transitions, "the last batch has transitions"
    assert shard_reader.state.position == 4 * batches * 1000 - 1
    # Each ten seconds have one group: those of twice the grace period are kept, and at most those of one batch.
    assert max(sizes) <= 2 * hour // 10_000 + 1000
    assert len(pack(shard_reader.state)) < 2 << 20
    assert (len(shard_reader.state.runs), len(shard_reader.state.records)) == (0, 0)
    assert len(shard_reader.driver_state.columns().histories) == sizes[-1]


SHARDED: st.SearchStrategy[list[tuple[int, list[Raw]]]] = st.lists(
    st.tuples(st.integers(0, 2), st.lists(RECORDS, min_size=1, max_size=5)), max_size=8
)


def table(columns: GroupColumns) -> list[tuple[Any, ...]]:
    """Return every row with its slots as plain values."""
    runs = columns.runs
    slots: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for row, *slot in zip(*(column.tolist() for column in columns_of(runs.slots)), strict=True):
        slots[row].append(tuple(slot))
    return [
        (key, *numbers, columns.group[row].as_py(), columns.topic[row].as_py(), partition, tuple(slots[row]))
        for row, (key, partition, *numbers) in enumerate(
            zip(
                runs.keys.to_pylist(),
                columns.partition.tolist(),
                *(column.tolist() for column in columns_of(runs.spans)),
                runs.metadata.to_pylist(),
                strict=True,
            )
        )
    ]


@examples(40)
@given(SHARDED, st.sets(st.integers(0, 7)))
def test_reading_columns_has_no_effect(batches: list[tuple[int, list[Raw]]], looks: set[int]) -> None:
    """Earlier reads do not change the rows, and returned columns do not change later."""
    shard_readers = [ShardReader() for _ in range(3)]
    looked, unseen = DriverState(), DriverState()
    given_before: list[tuple[GroupColumns, list[tuple[Any, ...]]]] = []
    for number, (shard, batch) in enumerate(batches):
        change = shard_readers[shard].read([(key.replace(b"t", b"%d" % shard), value) for key, value in batch])
        looked.apply(shard, change)
        unseen.apply(shard, change)
        if number in looks:
            columns = looked.columns()
            given_before.append((columns, table(columns)))
    now = looked.columns()
    assert sorted(table(now)) == sorted(table(unseen.columns()))
    assert all(table(columns) == rows for columns, rows in given_before)
    assert now.row_order.groups == sorted({*now.group.to_pylist(), *now.memberships, *now.histories})
    ordered = [(group, topic, at) for _, *_, group, topic, at, _ in (table(now)[row] for row in now.row_order.order)]
    assert ordered == sorted(ordered)
    named = zip(
        now.row_order.group.tolist(), now.row_order.topic.tolist(), now.row_order.partition.tolist(), strict=True
    )
    assert [(now.row_order.groups[group], now.row_order.topics[topic], at) for group, topic, at in named] == ordered


def _of_two_shards(old: list[tuple[str, int, int]], new: list[tuple[str, int, int]]) -> DriverState:
    """Return the driver state of two offsets partitions, with commits as (group, offset, time in ms)."""
    driver = DriverState()
    for shard, rows in enumerate((old, new)):
        shard_reader = ShardReader()
        shard_reader.read([(commit_key(group, "t", 0), commit_value(offset, time)) for group, offset, time in rows])
        shard_reader.read([(group_key(group), group_value(shard + 1, ["m"])) for group, _, _ in rows])
        driver.seed(shard, shard_reader.state)
    return driver


def test_group_whose_coordinator_moved_is_shown_once() -> None:
    """A group that has records in two partitions after some were added has those of its coordinator's partition."""
    driver = _of_two_shards([("moved", 5, 10), ("stayed", 6, 10)], [("moved", 1, 20), ("new", 3, 20)])
    offsets, memberships = offsets_and_memberships(driver)
    assert offsets == {("moved", "t", 0): 1, ("stayed", "t", 0): 6, ("new", "t", 0): 3}
    assert memberships.keys() == {"moved", "stayed", "new"}
    columns = driver.columns()
    assert columns.memberships["moved"].generation == 2
    assert len(columns.runs) == 3
    assert sorted(columns.row_order.groups) == ["moved", "new", "stayed"]


def test_group_whose_old_partition_expired_exists_in_the_new_one() -> None:
    """A removal in the old partition after the newest commit changes neither the group's offsets nor its state."""
    driver = _of_two_shards([("stayed", 6, 10)], [("moved", 1, 20)])
    assert driver.columns() is driver.columns()
    assert driver.columns(["stayed"]).records
    assert not driver.columns().records
    shard_reader = ShardReader()
    shard_reader.read([(commit_key("moved", "t", 0), commit_value(5, 30))])
    shard_reader.read([(commit_key("moved", "t", 0), None)])
    driver.seed(2, shard_reader.state)
    assert offsets_and_memberships(driver)[0] == {("moved", "t", 0): 1, ("stayed", "t", 0): 6}
    assert driver.columns().histories["moved"].died is None


def test_a_stored_run_of_a_negative_partition_is_dropped() -> None:
    """A state written before such keys were rejected is read without them; other rows are unchanged."""
    shard_reader = ShardReader()
    shard_reader.read([(commit_key("g", "t", at), commit_value(7, 1)) for at in range(2)])
    keys = pa.array([shard_reader.state.runs.keys[0].as_py(), commit_key("g", "t", -255)], pa.binary())
    stored = dataclasses.replace(shard_reader.state, runs=dataclasses.replace(shard_reader.state.runs, keys=keys))
    driver = DriverState()
    driver.seed(0, stored)
    columns = driver.columns()
    assert (columns.group.to_pylist(), columns.partition.tolist(), len(columns.runs)) == (["g"], [0], 1)
