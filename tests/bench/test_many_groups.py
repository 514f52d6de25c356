"""The benchmark of many groups: its records, its comparison of answers, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench.encoding import member_count
from bench.many_groups import groups_topic
from bench.many_groups.answers import ExpectedAnswers
from bench.many_groups.groups_topic import commit_round, initial_records, traffic_of
from bench.many_groups.monitor import Batch, MonitorStart, Tick
from bench.many_groups.tables import GroupsResults, tables
from bench.many_groups.tick import Job, measure
from bench.oracle import initial_state
from bench.traffic import Kind
from stream.groups.codec import unpack_state
from stream.groups.driver_state import DriverState

if TYPE_CHECKING:
    from bench.traffic import Traffic

SIZE = traffic_of(7, 5)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use chunks of three groups: the traffic has several chunks, and the last one is not full."""
    monkeypatch.setattr(groups_topic, "GROUPS_AT_ONCE", 3)


def expected_after(traffic: Traffic, rounds: int = 0) -> ExpectedAnswers:
    """Return the expected answers after `rounds` rounds of two groups each."""
    expected = ExpectedAnswers(traffic)
    for chunk in (*initial_records(traffic), *(commit_round(traffic, 2, number + 1) for number in range(rounds))):
        expected.apply(chunk)
    return expected


def correct_answer(expected: ExpectedAnswers, number: int) -> dict[str, Any]:
    """Return the answer of a correct monitor, with additional fields."""
    partitions = expected.partitions(number)
    return {**expected.group(number), "more": 1, "by_partition": [{**row, "more": 2} for row in partitions]}


def test_every_group_is_written_once_with_all_its_partitions() -> None:
    """Each group's membership precedes its commits, and each of its offsets is written once."""
    memberships, keys = [], []
    for chunk in initial_records(SIZE):
        of_group = chunk.kind == Kind.MEMBERSHIP
        assert of_group.argmin() == of_group.sum()
        memberships += chunk.key[of_group].tolist()
        keys += chunk.key[~of_group].tolist()
    assert memberships == list(range(SIZE.groups))
    assert keys == list(range(SIZE.keys))


def test_commit_rounds_cycle_through_all_groups() -> None:
    """Each round commits all partitions of the next groups, one offset further than the round before."""
    rounds = [commit_round(SIZE, 2, number) for number in range(1, 5)]
    groups = [sorted(set((each.key // 5).tolist())) for each in rounds]
    assert groups == [[0, 1], [2, 3], [4, 5], [0, 6]]
    assert all(len(each) == 10 for each in rounds)
    later = commit_round(SIZE, 7, 1), commit_round(SIZE, 7, 2)
    np.testing.assert_array_equal(np.sort(later[1].offset) - np.sort(later[0].offset), 1)
    assert max(commit_round(SIZE, 7, number).offset.max() for number in range(300)) <= SIZE.log_end


def test_state_of_the_measured_job_equals_the_oracle() -> None:
    """Fold, reduce and driver state of the measured tick produce the oracle's state."""
    job, driver_state, state = Job(SIZE, 4), DriverState(), initial_state(SIZE)
    for chunk in (*initial_records(SIZE), commit_round(SIZE, 3, 1)):
        state.apply(chunk)
        for shard, change in job.read(chunk):
            driver_state.apply(shard, change)
    columns = driver_state.columns()
    assert columns.runs.spans.last_offset[columns.row_order.order].tolist() == state.offset.tolist()
    assert {name: one.members for name, one in columns.memberships.items()} == {
        SIZE.group(number): member_count(number) for number in range(SIZE.groups)
    }
    restarted = DriverState()
    for shard, packed in job.states.items():
        restarted.seed(shard, unpack_state(packed))
    assert restarted.columns().memberships == columns.memberships


@pytest.mark.parametrize("rounds", [0, 2], ids=["initial records", "after commits"])
def test_correct_answer_has_no_differences(rounds: int) -> None:
    """Additional fields of an answer are ignored."""
    expected = expected_after(SIZE, rounds)
    assert [expected.differences(number, correct_answer(expected, number)) for number in range(SIZE.groups)] == [[]] * 7


@pytest.mark.parametrize("name", ["state", "members", "partitions_unowned", "topics_unsubscribed", "lag_sum"])
def test_wrong_or_missing_group_field_is_a_difference(name: str) -> None:
    """A field of a group with another value, or without one, is a difference."""
    expected = expected_after(SIZE)
    answer = correct_answer(expected, 3)
    assert expected.differences(3, {**answer, name: -1})
    del answer[name]
    assert expected.differences(3, answer)


def test_wrong_or_missing_partition_is_a_difference() -> None:
    """A wrong offset, a missing partition, and an outdated answer are differences."""
    expected, before = expected_after(SIZE, 1), expected_after(SIZE)
    answer = correct_answer(expected, 1)
    answer["by_partition"][2]["committed_offset"] += 1
    assert expected.differences(1, answer)
    assert expected.differences(1, {**answer, "by_partition": answer["by_partition"][:-1]})
    assert expected.differences(1, correct_answer(before, 1))


def test_tables_show_every_step_of_a_measured_tick() -> None:
    """A small tick is really measured with every step, and the tables contain every measurement."""
    steps = measure(traffic_of(20, 3), 4, 5)
    assert {step["what"] for step in steps["steps"]} == {
        *("seed", "apply", "columns", "context", "evaluate", "snapshot", "render", "pack", "release memory")
    }
    assert steps["series"] > 20 * 3 * 4
    results = GroupsResults(
        traffic=SIZE,
        starts=[MonitorStart("process start to ready", 1.0, {"driver": 2.0}, {"driver": 3 << 20})],
        batches=[Batch(10, 1.5, {"JVM": 1.0})],
        ticks=[Tick(0.5, 10.0, 0.4)],
        resident=100_000,
        peak=200_000,
        checkpoint=1000,
        series=42,
        scrapes={"gzip": (77, 0.1)},
        differences=[],
        tiny_resident=50_000,
        steps=steps,
    )
    text = "\n".join(tables(results))
    assert f"{50_000 / SIZE.keys / 1000:.2f}e+03 B" in text
    assert "| steady batches" in text
    assert "42 series" in text
