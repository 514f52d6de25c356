"""Common causes: the values that groups share, the analysis from tick to tick, and its tables."""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from exporters.http.openapi.small_world import small_cluster
from exporters.readmodel import COMMON_CAUSES
from stream.cluster.offsets_topic import NAME
from stream.groups.membership.model import MemberClient, Membership
from stream.health.common_cause.search import BrokerAbsence, CommonCause, Dimension, row_faults
from stream.tick.common_cause import (
    CommonCauseAnalysis,
    RecentHosts,
    RecentLeaders,
    common_causes_table,
    followers,
    shared_values,
)
from stream.tick.context import UNKNOWN_CLUSTER, DerivedState, TickFacts
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import HiddenCommits
from stream.tick.inputs.builder import TickInputs
from stream.tick.inputs.polled_cluster import Replicas
from stream.tick.inputs.rows import InputRows
from stream.tick.verdicts.evaluated_tick import EvaluatedTick
from tests.stream.health.panes import NOW, SECOND, Row, judged, pane
from tests.support.driver_states import ends_of

COORDINATOR = 2
"""The broker that leads the offsets partition of all groups."""


@dataclasses.dataclass(frozen=True)
class TickGroup:
    """A group of a tick: its topic with the leader, its host, its verdict."""

    topic: str
    leader: int | None
    verdict: str = "ok"
    host: str = "a"
    row: Row = dataclasses.field(default_factory=Row)


def evaluated_tick_of(
    groups: Mapping[str, TickGroup], now: float = NOW / 1000, brokers: frozenset[int] = frozenset()
) -> EvaluatedTick:
    """Return an evaluated tick of groups, sorted by name, that read one partition each."""
    rows = [dataclasses.replace(each.row, group=name, topic=each.topic) for name, each in sorted(groups.items())]
    window = pane(*rows)
    seen = window.inputs
    window = dataclasses.replace(window, inputs=dataclasses.replace(seen, owner=np.full(len(rows), -1, np.int64)))
    places = np.arange(len(rows))
    ends = ends_of_groups(groups)
    end_row = ends.rows(seen.topics, seen.topic, seen.partition)
    at: Any = InputRows(seen.groups.names, seen.topics, seen.group, seen.topic, seen.partition, places)
    nothing: Any = None
    inputs = TickInputs(at, end_row, nothing, nothing, np.zeros(len(groups), np.int64))
    members = {
        name: Membership("classic", "Stable", 1, clients=(MemberClient(f"m-{name}", "c", f"/{each.host}"),))
        for name, each in groups.items()
    }
    state: Any = types.SimpleNamespace(memberships=members)
    cluster = dataclasses.replace(UNKNOWN_CLUSTER, brokers=brokers)
    derived = DerivedState(TickFacts(state, ends, now, cluster), HiddenCommits(state, nothing), nothing, nothing)
    evaluation = judged(window, [each.verdict for _, each in sorted(groups.items())], window.now - 5_000)
    return EvaluatedTick(derived, inputs, evaluation, np.ones(len(groups), np.bool_))


def ends_of_groups(groups: Mapping[str, TickGroup]) -> EndsIndex:
    topics = {each.topic: each.leader for each in groups.values()}
    leaders = {(topic, 0): leader for topic, leader in topics.items() if leader is not None}
    rows = [(topic, 0, 9, 9, 0, None) for topic in (*topics, NAME)]
    return EndsIndex(ends_of(rows, leaders | {(NAME, 0): COORDINATOR}))


OTHERS = {f"other-{number}": TickGroup(f"u{number}", 1) for number in range(4)}
LED = {f"led-{number}": TickGroup(f"t{number}", 3) for number in range(4)}
LOST = {
    name: dataclasses.replace(group, leader=None, verdict="no_leader", row=Row(known_ago=30 * SECOND))
    for name, group in LED.items()
}
ALL = frozenset({1, 2, 3})


class Ticks:
    """An analysis, and ticks for it that are ten seconds apart and end at `NOW`."""

    def __init__(self) -> None:
        self._analysis = CommonCauseAnalysis()
        self._now = NOW / 1000 - 60

    def tick(self, groups: dict[str, TickGroup], brokers: frozenset[int] = ALL) -> tuple[CommonCause, ...]:
        self._now += 10
        return self._analysis.update(evaluated_tick_of(groups, self._now, brokers))


def test_a_broker_that_dies_is_one_finding_until_its_groups_recover() -> None:
    """The finding names the broker that led the partitions, which have no leader now."""
    ticks = Ticks()
    assert ticks.tick(LED | OTHERS) == ()
    assert ticks.tick(LOST | OTHERS, ALL - {3}) == ()
    (finding,) = ticks.tick(LOST | OTHERS, ALL - {3})
    assert (str(finding.dimension), finding.name, finding.groups) == ("leader", "3", LOST.keys())
    assert finding.absence == BrokerAbsence(NOW - 40 * SECOND, None)
    ticks.tick(LED | OTHERS)
    assert ticks.tick(LED | OTHERS) == ()


GROUPS = {
    "a": TickGroup("orders", 3, "stopped", host="x"),
    "b": TickGroup("orders", 3, host="y"),
    "c": TickGroup("payments", 1, host="y"),
}


def pairs(evaluated: EvaluatedTick) -> dict[str, set[tuple[str, str, bool]]]:
    """Return group, value and whether the group is unhealthy there, by dimension."""
    leaders, hosts = RecentLeaders(), RecentHosts()
    leaders.update(ends_of_groups(GROUPS), 0)
    hosts.update(evaluated.derived.state.memberships, 0)
    faults = row_faults(evaluated.evaluation)
    names = evaluated.inputs.rows.groups
    shared = shared_values(evaluated, faults, leaders, hosts)
    return {
        str(each.dimension): {
            (names[group], each.names[value], since >= 0)
            for group, value, since in zip(
                each.group.tolist(), each.value.tolist(), each.unhealthy_since.tolist(), strict=True
            )
        }
        for each in (*shared, followers(evaluated.inputs.rows, faults, Replicas(small_cluster())))
    }


def test_a_group_has_its_values_in_all_dimensions() -> None:
    """The dimensions are topic, leader, offsets partition, coordinator, host and follower, which only polls know."""
    assert pairs(evaluated_tick_of(GROUPS)) == {
        "topic": {("a", "orders", True), ("b", "orders", False), ("c", "payments", False)},
        "leader": {("a", "3", True), ("b", "3", False), ("c", "1", False)},
        "offsets_partition": {("a", "0", True), ("b", "0", False), ("c", "0", False)},
        "coordinator": {("a", "2", True), ("b", "2", False), ("c", "2", False)},
        "client_host": {("a", "x", True), ("b", "y", False), ("c", "y", False)},
        "follower": {("a", "2", True), ("b", "2", False)},
    }


def test_the_host_of_an_unhealthy_partition_is_that_of_its_owner() -> None:
    """The hosts of other members of the group are not those of the partition."""
    tick = evaluated_tick_of(GROUPS)
    inputs = dataclasses.replace(
        tick.evaluation.window.inputs, owner=np.array([0, -1, -1]), clients=[MemberClient("m", "c", "/y")]
    )
    window = dataclasses.replace(tick.evaluation.window, inputs=inputs)
    tick = dataclasses.replace(tick, evaluation=dataclasses.replace(tick.evaluation, window=window))
    assert ("a", "y", True) in pairs(tick)["client_host"]
    assert ("a", "x", True) not in pairs(tick)["client_host"]


def test_without_offsets_partitions_no_cause_names_a_coordinator() -> None:
    """No group has a coordinator before the partitions of the offsets topic are known."""
    tick = evaluated_tick_of(GROUPS)
    tick = dataclasses.replace(
        tick, inputs=dataclasses.replace(tick.inputs, offsets_partition=np.full(3, -1, np.int64))
    )
    found = pairs(tick)
    assert found["coordinator"] == found["offsets_partition"] == set()


STOPPED: Final = {name: TickGroup("t", 1, "stopped") for name in "abcd"}
ABSENCE: Final = BrokerAbsence(NOW - 70 * SECOND, NOW - 50 * SECOND)
FOUND: Final = CommonCause(
    Dimension.COORDINATOR, "3", frozenset("abd"), 3, 4, NOW - 30 * SECOND, 20 * SECOND, absence=ABSENCE
)


def test_a_finding_is_a_row() -> None:
    """A row has the groups, the numbers and the sentence of its finding."""
    table = common_causes_table([FOUND], evaluated_tick_of(STOPPED))
    assert table.schema == COMMON_CAUSES
    (row,) = table.drop_columns(["since"]).to_pylist()
    assert row["sentence"] == (
        "3 of 4 groups coordinated by broker 3 stopped within 20 s; broker 3 left the cluster 40 s before and was back"
        " after 20 s."
    )
    assert row["next_step"].startswith("Look at this broker.")
    assert {name: row[name] for name in ("dimension", "key", "unhealthy", "affected", "compared", "groups")} == {
        "dimension": "coordinator",
        "key": "3",
        "unhealthy": 3,
        "affected": 3,
        "compared": 4,
        "groups": ["a", "b", "d"],
    }
    assert table["since"].cast(pa.int64()).to_pylist() == [NOW - 30 * SECOND]


def test_hosts_can_be_hidden() -> None:
    """A hidden host has a number instead of its name, as a hidden member has; a broker keeps its name."""
    host = dataclasses.replace(FOUND, dimension=Dimension.CLIENT_HOST, name="10.0.0.7", absence=None)
    broker, hidden = common_causes_table([FOUND, host], evaluated_tick_of(STOPPED), hide_hosts=True).to_pylist()
    assert hidden["sentence"] == "3 of 4 groups with members on host 1 stopped within 20 s."
    assert "coordinated by broker 3" in broker["sentence"]
