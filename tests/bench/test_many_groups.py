"""The large fleet: what is written is what it says, and the judge of its answers finds what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench.encoding import member_count
from bench.many_groups import groups_topic as fleet_traffic
from bench.many_groups.answers import Wanted
from bench.many_groups.groups_topic import beginnings, commits_of, fleet_of
from bench.many_groups.monitor import Batch, Start, Tick
from bench.many_groups.tables import Results, tables
from bench.many_groups.tick import Job, measure
from bench.oracle import nothing_yet
from bench.traffic import Kind
from stream.groups.codec import unpack_state
from stream.groups.driver_state import DriverState

if TYPE_CHECKING:
    from bench.traffic import Traffic

SIZE = fleet_of(7, 5)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make chunks so small that the fleet has several, the last one not full."""
    monkeypatch.setattr(fleet_traffic, "GROUPS_AT_ONCE", 3)


def wanted_of(traffic: Traffic, rounds: int = 0) -> Wanted:
    """Give the truth after some rounds of two groups each."""
    wanted = Wanted(traffic)
    for chunk in (*beginnings(traffic), *(commits_of(traffic, 2, number + 1) for number in range(rounds))):
        wanted.apply(chunk)
    return wanted


def told(wanted: Wanted, number: int) -> dict[str, Any]:
    """Answer as a true monitor does."""
    partitions = wanted.partitions(number)
    return {**wanted.group(number), "more": 1, "by_partition": [{**row, "more": 2} for row in partitions]}


def test_every_group_begins_once_with_all_its_partitions() -> None:
    """Each group's membership comes once and before its commits, and each of its offsets once."""
    memberships, keys = [], []
    for chunk in beginnings(SIZE):
        of_group = chunk.kind == Kind.MEMBERSHIP
        assert of_group.argmin() == of_group.sum()
        memberships += chunk.key[of_group].tolist()
        keys += chunk.key[~of_group].tolist()
    assert memberships == list(range(SIZE.groups))
    assert keys == list(range(SIZE.keys))


def test_rounds_go_over_all_groups() -> None:
    """Each round is the next groups' turn, with all their partitions, one offset further than any round before."""
    rounds = [commits_of(SIZE, 2, number) for number in range(1, 5)]
    groups = [sorted(set((each.key // 5).tolist())) for each in rounds]
    assert groups == [[0, 1], [2, 3], [4, 5], [0, 6]]
    assert all(len(each) == 10 for each in rounds)
    later = commits_of(SIZE, 7, 1), commits_of(SIZE, 7, 2)
    np.testing.assert_array_equal(np.sort(later[1].offset) - np.sort(later[0].offset), 1)
    assert max(commits_of(SIZE, 7, number).offset.max() for number in range(300)) <= SIZE.log_end


def test_the_job_knows_what_was_written() -> None:
    """Fold, reduce and fleet, as the measured tick uses them, come to the oracle's state."""
    job, fleet, state = Job(SIZE, 4), DriverState(), nothing_yet(SIZE)
    for chunk in (*beginnings(SIZE), commits_of(SIZE, 3, 1)):
        state.apply(chunk)
        for shard, change in job.read(chunk):
            fleet.apply(shard, change)
    columns = fleet.columns()
    assert columns.runs.spans.last_offset[columns.row_order.order].tolist() == state.offset.tolist()
    assert {name: one.members for name, one in columns.memberships.items()} == {
        SIZE.group(number): member_count(number) for number in range(SIZE.groups)
    }
    restarted = DriverState()
    for shard, packed in job.states.items():
        restarted.seed(shard, unpack_state(packed))
    assert restarted.columns().memberships == columns.memberships


@pytest.mark.parametrize("rounds", [0, 2], ids=["at first", "after commits"])
def test_a_true_answer_has_no_differences(rounds: int) -> None:
    """What a monitor tells besides does not matter."""
    wanted = wanted_of(SIZE, rounds)
    assert [wanted.differences(number, told(wanted, number)) for number in range(SIZE.groups)] == [[]] * 7


@pytest.mark.parametrize("name", ["state", "members", "partitions_unowned", "topics_unsubscribed", "lag_sum"])
def test_a_wrong_group_is_found(name: str) -> None:
    """Anything that is told of a group and is another, or is not told, is a difference."""
    wanted = wanted_of(SIZE)
    answer = told(wanted, 3)
    assert wanted.differences(3, {**answer, name: -1})
    del answer[name]
    assert wanted.differences(3, answer)


def test_a_wrong_partition_is_found() -> None:
    """One offset that is another, or a partition that is missing, is a difference; so is the answer of before."""
    wanted, before = wanted_of(SIZE, 1), wanted_of(SIZE)
    answer = told(wanted, 1)
    answer["by_partition"][2]["committed_offset"] += 1
    assert wanted.differences(1, answer)
    assert wanted.differences(1, {**answer, "by_partition": answer["by_partition"][:-1]})
    assert wanted.differences(1, told(before, 1))


def test_a_tick_is_measured_and_shown() -> None:
    """A small one, taken apart for real, has every step, and a table for everything that was found."""
    steps = measure(fleet_of(20, 3), 4, 5)
    assert {step["what"] for step in steps["steps"]} == {
        *("seed", "apply", "columns", "context", "judge", "snapshot", "render", "give memory back")
    }
    assert steps["series"] > 20 * 3 * 4
    results = Results(
        traffic=SIZE,
        starts=[Start("process start to ready", 1.0, {"driver": 2.0}, {"driver": 3 << 20})],
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
