"""The inputs of health: from records in the log and end offsets to columns, and through the evaluator to a verdict."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.catalogue import topics
from exporters.http.openapi.small_world import small_cluster
from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.groups.commits.runs import columns_of
from stream.groups.row_order import RowLabels, RowOrder
from stream.groups.shard import StateLimits
from stream.health.columns import NOT_KNOWN
from stream.health.inputs import NO_COMMIT, NO_OWNER, FailedReplica, GroupStage, OpenTransaction
from stream.health.limits import HealthLimits
from stream.tick.context import UNKNOWN_CLUSTER, LookupResults
from stream.tick.inputs.builder import InputBuilder
from stream.tick.inputs.member_changes import RebalanceCounter
from stream.tick.inputs.polled_cluster import polled_cluster
from stream.tick.snapshot import build as snapshot
from tests.exporters.snapshots import table
from tests.stream.groups import written
from tests.stream.tick.health_inputs import derived, health_inputs
from tests.stream.tick.timeline import START, START_MS
from tests.support.commits import SLOT_MS
from tests.support.driver_states import Raw, ShardReader, ends_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value, group_key, group_value

MINUTE = 60_000
ALIVE = group_value(1, ["m"], time=-1)
EMPTIED_TWICE = [ALIVE, *(group_value(2 + n, ["m"] * (n % 2), time=-1) for n in range(3))]
EMPTIED = [(5, ALIVE), (7, group_value(2, [], time=-1))]
REFILLED = [*EMPTIED, (9, group_value(3, ["m"], time=-1)), (11, group_value(4, ["m", "n"], time=-1))]
GROUPS: dict[str, tuple[Any, ...]] = {
    # story: records, described state, the position at which live records begin, columns
    "members since the generation": (
        *([(5, ALIVE)], None, 0),
        {"stage": GroupStage.STABLE, "since": 5, "members": 1, "rebalances": 1, "emptied": -1, "refilled": -1},
    ),
    "emptied and still empty": (
        *(EMPTIED, None, 0),
        {"stage": GroupStage.EMPTY, "since": 7, "members": 0, "emptied": 7, "refilled": -1},
    ),
    "emptied, refilled, and rebalanced after that": (
        *(REFILLED, None, 0),
        {"stage": GroupStage.STABLE, "since": 11, "members": 2, "rebalances": 3, "emptied": 7, "refilled": 9},
    ),
    "emptied for the second time": (
        *([(5 + 2 * n, value) for n, value in enumerate(EMPTIED_TWICE)], None, 0),
        {"stage": GroupStage.EMPTY, "since": 11, "rebalances": 2, "emptied": 11, "refilled": -1},
    ),
    "rebalances before the storm window are not counted": (
        *([(0, ALIVE), (8 * MINUTE, group_value(2, ["m"], time=-1))], None, 0),
        {"since": 8 * MINUTE, "rebalances": 1},
    ),
    "rebalances in replayed history are not counted": (REFILLED, None, 10_000, {"since": 11, "rebalances": 0}),
    "described as rebalancing for the first time": (
        *([(5, ALIVE)], "CompletingRebalance", 0),
        {"stage": GroupStage.REBALANCING, "since": 10 * MINUTE},
    ),
}


@pytest.mark.parametrize(("records", "described", "live_from", "expected"), GROUPS.values(), ids=GROUPS)
def test_state_and_dates_of_a_group(
    records: list[tuple[int, bytes]], described: str | None, live_from: int, expected: dict[str, Any]
) -> None:
    """Stage, dates and rebalances follow from the group history and from DescribeGroups."""
    shard = ShardReader(StateLimits(60, live_from=live_from))
    for time, value in records:
        shard.read([(group_key("g"), value)], START_MS + time)
    context = dataclasses.replace(UNKNOWN_CLUSTER, described_states={"g": described} if described else {})
    groups = health_inputs(shard.driver_state.columns(), ends_of([]), START + 10 * 60, context).groups
    moments = {"since", "emptied", "refilled"}
    values = {name: int(getattr(groups, name)[0]) for name in expected}
    assert values == {
        name: each + START_MS if name in moments and each >= 0 else each for name, each in expected.items()
    }


def test_rebalances_while_the_monitor_was_stopped_are_dated_by_their_records() -> None:
    """The first tick after an hour sees all rebalances at once; only those within the last ten minutes count."""
    shard, hour = ShardReader(StateLimits(60, keep_transitions=32)), 60 * MINUTE
    for number in range(100):
        shard.read([(group_key("g"), group_value(number, ["m"], time=-1))], START_MS - hour + number * hour // 100)
    rebalances = RebalanceCounter(HealthLimits().storm_window, {"g": [(START_MS - hour, 1)]})
    state = shard.driver_state.columns()
    builder = InputBuilder(rebalances=rebalances)
    groups = builder.build(derived(state, ends_of([]), START))[1].groups
    assert groups.rebalances.tolist() == [16]
    later = builder.build(derived(state, ends_of([]), START + 5 * 60))[1].groups
    assert later.rebalances.tolist() == [8]


TARGET = [written.group_epoch(2), written.member("m", "t"), written.target_epoch(2)]
NOT_READY = written.group_epoch(2, kind=17, validated_topology_epoch=0)
KINDS: dict[str, tuple[list[Raw], GroupStage, bool]] = {
    "offsets only": ([(commit_key("g", "t", 0), commit_value(1, 1))], GroupStage.OFFSETS_ONLY, False),
    "no member has ever joined": ([written.classic(kind="")], GroupStage.OFFSETS_ONLY, False),
    "a classic group": ([written.classic(written.classic_member("m"))], GroupStage.STABLE, False),
    "a static member": ([written.classic(written.classic_member("m", instance="i"))], GroupStage.STABLE, True),
    "no target assignment yet": (TARGET[:2], GroupStage.REBALANCING, False),
    "not at the target": ([*TARGET, written.stands("m", 1, {})], GroupStage.REBALANCING, False),
    "all members at the target": ([*TARGET, written.stands("m", 2, {})], GroupStage.STABLE, False),
    "no members any more": ([written.classic()], GroupStage.EMPTY, False),
    "a share group": ([written.group_epoch(2, kind=11), written.sharer("m", "t")], GroupStage.STABLE, False),
    "an unready topology": ([NOT_READY, written.worker("m"), written.topology(1)], GroupStage.REBALANCING, False),
}


@pytest.mark.parametrize(("records", "stage", "static"), KINDS.values(), ids=KINDS)
def test_the_stage_of_a_group_follows_from_its_records(records: list[Raw], stage: GroupStage, static: bool) -> None:  # noqa: FBT001 - a row
    """States of groups of all types are mapped to a stage; static members are recognised."""
    shard = ShardReader()
    shard.read(records, START_MS)
    groups = health_inputs(shard.driver_state.columns(), ends_of([]), START).groups
    assert (GroupStage(int(groups.stage[0])), bool(groups.static[0])) == (stage, static)
    no_members = {GroupStage.OFFSETS_ONLY: NOT_KNOWN, GroupStage.EMPTY: 0}
    assert int(groups.members[0]) == no_members.get(stage, 1)
    state = shard.driver_state.columns()
    for patterns in (("g",), ("other",)):
        builder = InputBuilder(mirrored=patterns)
        found = builder.build(derived(state, ends_of([]), START))[1].groups.stage[0]
        is_mirrored = patterns == ("g",) and stage in no_members
        assert found == (GroupStage.MIRRORED if is_mirrored else stage), "members are judged as any others"


def test_subscriptions_and_owners_by_names_and_by_ids() -> None:
    """An owner is the number of a member, none, or unknown: for an id without a name, and during a reassignment."""
    own = written.stands("m", 2, {written.ORDERS: (0, 9)})
    alone: list[Raw] = [written.group_epoch(2), written.member("m", "orders"), written.target_epoch(2), own]
    rows = [(topic, number) for topic in ("orders", "payments") for number in (0, 1, 9)]
    commits: list[Raw] = [(commit_key("g", *row), commit_value(1, 1)) for row in rows]
    known = dataclasses.replace(UNKNOWN_CLUSTER, topic_names=written.NAMES)

    def owners(records: list[Raw], context: Any = known) -> tuple[list[int], list[int]]:
        shard = ShardReader()
        shard.read([*commits, *records], START_MS)
        inputs = health_inputs(shard.driver_state.columns(), ends_of([]), START, context)
        assert inputs.owner is not None
        assert inputs.subscribed is not None
        return inputs.owner.tolist(), inputs.subscribed.tolist()

    subscribed = [1, 1, 1, 0, 0, 0]
    assert owners(alone) == ([0, NO_OWNER, 0, NO_OWNER, NO_OWNER, NO_OWNER], subscribed)
    assert owners(alone, UNKNOWN_CLUSTER) == ([NOT_KNOWN] * 6, subscribed)
    assert owners([]) == ([NOT_KNOWN] * 6, [NOT_KNOWN] * 6)
    assert owners([*alone, written.group_epoch(3)]) == ([NOT_KNOWN] * 6, subscribed)
    far = (commit_key("g", "orders", 70_000), commit_value(1, 1))
    assert owners([far, *alone]) == ([0, NO_OWNER, 0, NOT_KNOWN, NO_OWNER, NO_OWNER, NO_OWNER], [1, *subscribed])
    by_regex = [*alone, written.member("m", "orders", regex="pay.*")]
    assert owners(by_regex)[1] == [NOT_KNOWN] * 6
    both = [*alone, written.member("n", "orders"), written.stands("n", 2, {written.ORDERS: (1,)})]
    assert owners(both) == ([0, 1, 0, NO_OWNER, NO_OWNER, NO_OWNER], subscribed)


def test_context_and_lookups_become_columns() -> None:
    """Expiry and retention are by row, transactions by place, recreated topics by number; unknown values are -1."""
    shard = ShardReader()
    commits = [("h", "b", 1, 70), ("g", "c", 0, 60), ("g", "a", 0, 50)]
    shard.read([(commit_key(g, t, p), commit_value(1, time)) for g, t, p, time in commits], START_MS)
    state = shard.driver_state.columns()
    offline = {"topic": "c", "partition": 0, "replica_brokers": [1], "offline_brokers": [1]}
    context = dataclasses.replace(
        UNKNOWN_CLUSTER,
        retention=dataclasses.replace(UNKNOWN_CLUSTER.retention, retention_ms=1000),
        topic_ids={"b": b"b" * 16},
        recreated={"a": START_MS - 1, "b": START_MS},
    )
    rows: list[dict[str, Any]] = [
        {"partition": 0, "error": "no_leader"},
        {"partition": 1, "start_offset": 5, "producer_id": 9, "transactional_id": "tx", "start_time": 77},
        {"partition": 1, "start_offset": 8, "producer_id": 10},
    ]
    lookups = LookupResults(
        retention={"a": 500, "c": 700}, transactions={"b": pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)}
    )
    polled = polled_cluster(small_cluster(topic_partitions=table(topics.TOPIC_PARTITIONS.schema, [offline])))
    ends = ends_of([("c", 0, None, None, None, "no_leader")])
    inputs = health_inputs(state, ends, START, context, lookups=lookups, polled=polled)
    assert inputs.failed_replicas == {1: (FailedReplica(1, ("/data/2",)),)}
    assert (inputs.groups.names, inputs.topics) == (("g", "h"), ("a", "b", "c"))
    assert list(zip(inputs.group.tolist(), inputs.topic.tolist(), inputs.partition.tolist(), strict=True)) == [
        (0, 0, 0),
        (0, 2, 0),
        (1, 1, 1),
    ]
    assert inputs.expiry is not None
    assert inputs.expiry.tolist() == [1050, 1060, 1070]
    assert inputs.retention is not None
    assert inputs.retention.tolist() == [500, 700, -1]
    assert inputs.transactions == {(1, 1): OpenTransaction(9, "tx", 77)}
    assert inputs.recreated is not None
    assert inputs.recreated.tolist() == [1]
    assert inputs.origins.current_topic_id is not None
    assert inputs.origins.of_commits(inputs.origins.current_topic_id.any(axis=1)).tolist() == [False, False, True]


PLACES = st.tuples(st.sampled_from(["b", "a", "é"]), st.sampled_from(["y", "x"]), st.integers(0, 9))


@examples(30)
@given(st.lists(st.tuples(PLACES, st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=30), st.randoms())
def test_the_order_of_the_driver_state_does_not_matter(commits: list[Any], chance: Any) -> None:
    """Shuffled rows give the same columns and slots, sorted as in the read model."""
    shard = ShardReader()
    shard.read([(commit_key(*place), commit_value(offset, time)) for place, offset, time in commits], START_MS)
    state = shard.driver_state.columns()
    order = list(range(len(state.runs)))
    chance.shuffle(order)
    rows = np.array(order, np.int64)
    moved = dataclasses.replace(
        state,
        runs=state.runs.take(rows),
        group=state.group.take(pa.array(rows)),
        topic=state.topic.take(pa.array(rows)),
        partition=state.partition[rows],
        row_order=RowOrder(
            RowLabels([(state.group.take(pa.array(rows)), state.topic.take(pa.array(rows)), state.partition[rows])]),
            frozenset(state.row_order.groups),
        ),
    )
    one, other = (health_inputs(each, ends_of([]), START) for each in (state, moved))
    for name in ("group", "topic", "partition", "subscribed", "owner"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name in ("spans", "slots"):
        for column, again in zip(columns_of(getattr(one, name)), columns_of(getattr(other, name)), strict=True):
            assert column.tolist() == again.tolist()
    shown = snapshot.build(derived(state, ends_of([]), START)).partitions.to_pylist()
    assert [(row["group"], row["topic"], row["partition"], row["committed_offset"]) for row in shown] == [
        (one.groups.names[group], one.topics[topic], partition, offset)
        for group, topic, partition, offset in zip(
            one.group.tolist(), one.topic.tolist(), one.partition.tolist(), one.spans.last_offset.tolist(), strict=True
        )
    ]
    last = np.flatnonzero(np.append(np.diff(one.slots.row) != 0, True))
    newest = {int(one.slots.row[at]): int(one.slots.time[at]) for at in last}
    assert {row: time // SLOT_MS for row, time in newest.items()}.keys() == set(range(len(one)))
    assert NO_COMMIT not in one.spans.last_offset
