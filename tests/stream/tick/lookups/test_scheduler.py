"""The lookups of consecutive ticks on a scripted cluster: each tick schedules those of the next."""

from typing import Any, cast

import pytest

from stream.cluster.offsets_topic import NAME
from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.health.evaluator import EvaluationResult, Evaluator
from stream.tick.context import TickFacts
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.scheduler import LookupScheduler
from tests.stream.tick.health_inputs import health_inputs
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value
from tests.support.scripted_cluster import AWAY, ScriptedCluster

NOON = 1_700_000_000.0


class Ticks:
    """Evaluates a group that has read all of `t` but its last offset, tick after tick."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.shard = ShardReader()
        self.lookups = LookupScheduler(cast("Any", cluster), LookupLimits(), clock=lambda: self.now)
        self.evaluator = Evaluator()
        self.now = NOON
        self.ends: list[tuple[str, int, int, int, int, None]] = [("t", 0, 100, 100, 0, None), (NAME, 0, 9, 9, 0, None)]
        self.shard.read([(commit_key("g", "t", 0), commit_value(99, int(NOON * 1000)))], time=int(NOON * 1000))

    def tick(self) -> EvaluationResult:
        self.now += 10
        state, ends = self.shard.driver_state.columns(), EndsIndex(ends_of(self.ends))
        self.lookups.hidden.read()
        self.results = self.lookups.look_up(ends, self.now)
        facts = TickFacts(state, ends, self.now, lookups=self.results)
        hidden = self.lookups.hidden.apply(state, facts)
        inputs = health_inputs(hidden.state, ends_of(self.ends), self.now, lookups=self.results)
        result = self.evaluator.evaluate(inputs)
        self.lookups.schedule(result.window)
        return result


@pytest.fixture
def unreachable() -> ScriptedCluster:
    """Return a cluster that answers no request."""
    kinds = ("Metadata", "DescribeConfigsRequest", "FetchRequest", "DescribeProducersRequest", "ListOffsetsRequest")
    return ScriptedCluster({kind: lambda *_: AWAY for kind in kinds})


def test_no_lookup_raises_while_the_cluster_is_unreachable(unreachable: ScriptedCluster) -> None:
    """No lookup has a result, although the requests were sent."""
    ticks = Ticks(unreachable)
    ticks.ends = [("t", 0, 100, 90, 0, None), (NAME, 0, 9, 5, 0, None)]
    for _ in range(4):
        ticks.tick()
    assert (dict(ticks.results.retention or {}), dict(ticks.results.transactions)) == ({}, {})
    assert ticks.results.tails is not None
    assert len(ticks.results.tails.numbered(["t"]).place) == 0
    assert ticks.results.blocked.keys() == {0}
    ends = ends_of(ticks.ends)
    inputs = health_inputs(ticks.shard.driver_state.columns(), ends, ticks.now)
    assert ticks.lookups.backfill_ends(EndsIndex(ends), inputs) is None
    assert "DescribeConfigsRequest" in {type(request).__name__ for _, request in unreachable.asked}
    described = [request for _, request in unreachable.asked if isinstance(request, list)]
    assert [NAME] in described, "for the leader of the hidden records"


def test_transactions_of_blocked_partitions_are_looked_up(
    unreachable: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions that were blocked at the last tick are requested."""
    requests: list[tuple[str, list[int]]] = []

    def read(_: object, topic: str, partitions: list[int]) -> Any:
        requests.append((topic, partitions))
        return OPEN_TRANSACTIONS.empty_table()

    monkeypatch.setattr("stream.tick.lookups.open_transactions.read_open_transactions", read)
    ticks = Ticks(unreachable)
    ticks.ends = [("t", 0, 100, 99, 0, None)]
    for _ in range(4):
        ticks.tick()
    assert requests == [("t", [0])]
    assert set(ticks.results.transactions) == {"t"}
