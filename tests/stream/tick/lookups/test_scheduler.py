"""All questions of a tick in their order, on a cluster of scripts: what one tick leaves for the next."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.fetch_offsets import GROUP_OFFSETS
from stream.cluster.log_tails import TailRead
from stream.cluster.offsets_topic import NAME
from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.health.evaluator import Evaluator
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.scheduler import LookupScheduler
from tests.support.fleets import World, ends_of
from tests.support.health_inputs import health_inputs
from tests.support.raw import commit_key, commit_value
from tests.support.scripted_cluster import AWAY, ScriptedCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.cluster.log_tails import TailRequest
    from stream.health.evaluator import EvaluationResult

NOON = 1_700_000_000.0


class Ticks:
    """A group that has read all of `t` but its last offset, judged tick by tick."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.world = World()
        self.lookups = LookupScheduler(cast("Any", cluster), LookupLimits(), clock=lambda: self.now)
        self.judge = Evaluator()
        self.now = NOON
        self.ends: list[tuple[str, int, int, int, int, None]] = [("t", 0, 100, 100, 0, None), (NAME, 0, 9, 9, 0, None)]
        self.world.read([(commit_key("g", "t", 0), commit_value(99, int(NOON * 1000)))], time=int(NOON * 1000))

    def tick(self) -> EvaluationResult:
        """Do what the tick does."""
        self.now += 10
        ends = ends_of(self.ends)
        self.lookups.fetch_hidden_commits(self.world.fleet.columns(), self.now)
        hidden = self.lookups.apply_hidden_commits(self.world.fleet.columns(), EndsIndex(ends), self.now)
        self.results = self.lookups.look_up(hidden.state, EndsIndex(ends), self.now)
        context = dataclasses.replace(UNKNOWN_CLUSTER, lookups=self.results)
        seen = health_inputs(hidden.state, ends, self.now, context)
        judged = self.judge.evaluate(seen)
        self.lookups.schedule(judged.window)
        return judged


@pytest.fixture
def away() -> ScriptedCluster:
    """Give a cluster that answers nothing."""
    kinds = (
        "Metadata",
        "DescribeConfigsRequest",
        "FetchRequest",
        "FindCoordinatorRequest",
        "OffsetFetchRequest",
        "DescribeProducersRequest",
        "ListOffsetsRequest",
    )
    return ScriptedCluster({kind: lambda *_: AWAY for kind in kinds})


def test_nothing_raises_while_the_cluster_is_away(away: ScriptedCluster) -> None:
    """And nothing is known; everything was asked."""
    ticks = Ticks(away)
    ticks.ends = [("t", 0, 100, 90, 0, None), (NAME, 0, 9, 5, 0, None)]
    for _ in range(4):
        ticks.tick()
    assert (dict(ticks.results.retention or {}), dict(ticks.results.transactions)) == ({}, {})
    assert ticks.results.tails is not None
    assert len(ticks.results.tails.place) == 0
    assert [held.offsets_partition for held in ticks.lookups.blocked_partitions] == [0]
    seen = health_inputs(ticks.world.fleet.columns(), ends_of(ticks.ends), ticks.now)
    assert ticks.lookups.backfill_ends(seen) is None
    asked = {type(request).__name__ for _, request in away.asked}
    assert {"DescribeConfigsRequest", "FindCoordinatorRequest"} <= asked


def test_a_marker_at_the_end_is_read_and_is_no_lag(away: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick finds that the tail stands still, the next one reads it, and says that nothing is unread."""
    wanted: list[TailRequest] = []

    def read(_: object, some: Sequence[TailRequest], **__: Any) -> list[TailRead]:
        wanted.extend(some)
        return [TailRead(each, each.data_from) for each in some]

    monkeypatch.setattr("stream.tick.lookups.log_tails.read_tails", read)
    ticks = Ticks(away)
    lags = [int(ticks.tick().window.lag[0]) for _ in range(4)]
    assert lags == [1, 1, 0, 0]
    assert len(wanted) == 1


def test_who_holds_a_place_back_is_asked_for(away: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transactions of a tick are those of the places that stood still at the one before."""
    asked: list[tuple[str, list[int]]] = []

    def look(_: object, topic: str, partitions: list[int]) -> Any:
        asked.append((topic, partitions))
        return OPEN_TRANSACTIONS.empty_table()

    monkeypatch.setattr("stream.tick.lookups.open_transactions.read_open_transactions", look)
    ticks = Ticks(away)
    ticks.ends = [("t", 0, 100, 99, 0, None)]
    for _ in range(4):
        ticks.tick()
    assert asked == [("t", [0])]
    assert set(ticks.results.transactions) == {"t"}


def test_hidden_commits_are_asked_for_before_the_ends(away: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the tick on that follows the one that found the gap; an answer counts at once."""
    row = {"group": "g", "topic": "t", "partition": 0, "committed_offset": 60}
    asked: list[list[str]] = []

    def fetch(_: object, __: object, groups: list[str]) -> pa.Table:
        asked.append(list(groups))
        return pa.Table.from_pylist([row], schema=GROUP_OFFSETS)

    monkeypatch.setattr("stream.tick.hidden_commits.groups.fetch_offsets", fetch)
    ticks = Ticks(away)
    ticks.ends[1] = (NAME, 0, 9, 5, 0, None)
    committed = []
    for offset in (60, 70, 80, 90):
        row["committed_offset"] = offset
        committed.append(int(ticks.tick().window.committed_offset[0]))
    assert committed == [99, 99, 80, 90]
    assert asked == [["g"]] * 2


def test_tails_are_numbered_by_the_fleet_that_was_given(away: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another topic that comes before it in the order of names changes its number, not what is known."""
    monkeypatch.setattr(
        "stream.tick.lookups.log_tails.read_tails",
        lambda _, some, **__: [TailRead(each, each.data_from) for each in some],
    )
    ticks = Ticks(away)
    for _ in range(3):
        ticks.tick()
    ticks.world.read([(commit_key("g", "a", 0), commit_value(1, 1))])
    ticks.ends.append(("a", 0, 1, 1, 0, None))
    judged = ticks.tick()
    assert judged.window.lag.tolist() == [0, 0]
    assert np.array_equal(cast("Any", ticks.results.tails).place, [1 << 32])
