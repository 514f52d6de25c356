"""The context poller: which requests a tick sends, how often, and which answers it uses."""

import types
from typing import Any, cast

import pyarrow as pa
import pytest
import structlog

from stream.cluster.describe_groups import DescribedGroup
from stream.cluster.topology import TOPICS
from stream.cluster.transport.client import Broker, Cluster
from stream.cluster.transport.errors import Unreachable
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.tick import context_poller
from stream.tick.context import ClusterContext, TickFacts, derive
from stream.tick.context_poller import ContextPoller
from stream.tick.ends_index import NO_ENDS
from stream.tick.snapshot.build import build
from tests.support.driver_states import ShardReader
from tests.support.raw import commit_key, commit_value, group_key, group_value

NOON = 1_700_000_000.0
ID, OTHER_ID = bytes(15) + b"\1", bytes(15) + b"\2"
KEPT = OffsetsRetention(60_000, 1000, "broker")


class Answers:
    """A cluster that answers from attributes, and counts the requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.topics: dict[str, tuple[bytes, int]] = {"t": (ID, 3)}
        self.away = False
        self.states: dict[str, str] = {}
        self.described: list[str] = []
        self.retentions = 0
        self.retention = KEPT
        for name in ("read_topology", "describe_groups", "read_retention"):
            monkeypatch.setattr(context_poller, name, getattr(self, name))

    def read_topology(self, _: Cluster, names: set[str], *, brief: bool) -> Any:
        """Answer like the cluster: a topic that does not exist is not found."""
        assert brief, "a tick needs no replicas"
        if self.away:
            raise Unreachable("away", "")
        rows = [
            {"topic": name, "topic_id": self.topics[name][0], "partitions": self.topics[name][1]}
            if name in self.topics
            else {"topic": name, "error": "not_found"}
            for name in sorted(names)
        ]
        table = pa.Table.from_pylist(rows, schema=TOPICS)
        ids = {name: topic_id for name, (topic_id, _) in self.topics.items() if name in names}
        absent = [name for name in names if name not in self.topics]
        nodes = tuple(Broker(node, f"b{node}", 9092, None) for node in (1, 3))
        return types.SimpleNamespace(topics=table, ids=lambda: ids, absent=lambda: absent, brokers=nodes)

    def describe_groups(self, _: Cluster, __: object, groups: list[str]) -> dict[str, DescribedGroup]:
        """Return the states that are set."""
        self.described += groups
        return {group: DescribedGroup(group, self.states.get(group, "Stable")) for group in groups}

    def read_retention(self, _: Cluster, *_configured: int | None) -> OffsetsRetention:
        self.retentions += 1
        return self.retention


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)


class Ticks:
    """A poller, and one classic group with one member."""

    def __init__(self, per_tick: int = 10) -> None:
        self.shard = ShardReader()
        self.poller = ContextPoller(cast("Cluster", object()), OffsetsRetention(None, None, "unknown"), per_tick, 10.0)
        self.read([(commit_key("g", "t", 0), commit_value(1, 1)), (group_key("g"), group_value(1, ["m"]))], NOON - 60)

    def read(self, records: list[Any], at: float) -> None:
        """Read a batch of records written at this time (seconds)."""
        self.shard.read(records, time=int(at * 1000))

    def poll(self, after: float = 0.0, topics: set[str] | None = None) -> ClusterContext:
        """Poll at this number of seconds after noon."""
        return self.poller.poll(self.shard.driver_state.columns(), topics or {"t"}, NOON + after)


def test_a_topic_exists_or_does_not_or_is_unknown(answers: Answers) -> None:
    """A topic that the cluster does not know does not exist; existence is unknown while the cluster is unreachable."""
    ticks = Ticks()
    context = ticks.poll(topics={"t", "deleted"})
    assert [context.topic_exists(topic) for topic in ("t", "deleted", "never requested")] == [True, False, None]
    assert (context.topic_ids, context.topic_names) == ({"t": ID}, {ID: "t"})
    answers.away = True
    context = ticks.poll(10)
    assert context.topic_exists("t") is None
    assert context.topic_names == {ID: "t"}, "the name of an id does not change"


def test_a_recreated_topic_is_logged_and_its_old_id_keeps_its_name_while_referenced(answers: Answers) -> None:
    """A new id is logged once; the old id keeps its name while a commit has it."""
    ticks = Ticks()
    ticks.read([(commit_key("g", "t", 1), commit_value(1, 1, version=4, topic_id=ID))], NOON)
    ticks.poll()
    answers.topics["t"] = (OTHER_ID, 3)
    with structlog.testing.capture_logs() as lines:
        context = ticks.poll(10)
    assert context.topic_names == {ID: "t", OTHER_ID: "t"}
    moments = (None, int(NOON * 1000), int((NOON + 20) * 1000))
    assert [context.topic_exists("t", moment) for moment in moments] == [True, False, True]
    assert [line["topic"] for line in lines if line["event"] == "topic recreated"] == ["t"]
    ticks.poll(700)
    assert ID in ticks.poll(1400).topic_names
    ticks.read([(commit_key("g", "t", 1), None)], NOON + 1500)
    ticks.poll(2100)
    assert set(ticks.poll(2800).topic_names) == {OTHER_ID}


def test_retention_is_requested_every_ten_minutes_and_logged_when_it_changes(answers: Answers) -> None:
    """The first answer is logged, and an equal answer is not.

    If an answer is missing, the last one stays in use, and the next tick sends the request again.
    """
    ticks = Ticks()
    with structlog.testing.capture_logs() as lines:
        assert {ticks.poll(after).retention for after in (0, 10, 590, 601, 1300)} == {KEPT}
    assert answers.retentions == 3
    assert [line["event"] for line in lines] == ["offsets retention"]
    answers.retention = OffsetsRetention(None, None, "unknown")
    assert [ticks.poll(after).retention for after in (1901, 1911)] == [KEPT, KEPT]
    assert answers.retentions == 5
    answers.retention = OffsetsRetention(5000, 1000, "broker")
    assert ticks.poll(1921).retention == answers.retention


def test_a_described_rebalance_is_used_until_a_newer_record(answers: Answers) -> None:
    """Only described states that no record shows are used, and a newer record ends their use.

    The start of the rebalance is the first tick that saw it.
    """
    ticks, seen = Ticks(), {"g": int((NOON + 10) * 1000)}
    assert ticks.poll().described_states == {}, "Stable is what the log says"
    answers.states["g"] = "PreparingRebalance"
    context = ticks.poll(10)
    assert (context.described_states, context.rebalancing) == ({"g": "PreparingRebalance"}, frozenset({"g"}))
    assert context.rebalancing_since == ticks.poll(20).rebalancing_since == seen
    answers.states["g"] = "Stable"
    assert ticks.poll(30).rebalancing_since == {}
    answers.states["g"] = "PreparingRebalance"
    assert ticks.poll(40).described_states == {"g": "PreparingRebalance"}
    ticks.read([(group_key("g"), group_value(2, ["m"]))], NOON + 41)
    assert ticks.poll(42).described_states == {}


@pytest.mark.parametrize(("generation", "protocol_type"), [(0, ""), (7, "consumer")], ids=["new", "came back"])
def test_a_group_that_the_broker_cannot_store_is_not_an_empty_one(
    answers: Answers, generation: int, protocol_type: str
) -> None:
    """Members whose group record would be too large rebalance for ever; the log has what was before.

    That is the record of the first JoinGroup, or of the group when its members had left.
    """
    ticks = Ticks()
    value = group_value(generation, [], time=-1, protocol_type=protocol_type)
    ticks.read([(group_key("large"), value)], NOON - 3600)
    answers.states["large"] = "CompletingRebalance"
    for tick in range(9):
        facts = TickFacts(ticks.shard.driver_state.columns(), NO_ENDS, NOON + tick * 10, ticks.poll(tick * 10))
        rows = {row["group"]: row for row in build(derive(facts)).groups.to_pylist()}
        shown = rows["large"]
        assert (shown["kind"], shown["state"], shown["members"]) == ("classic", "CompletingRebalance", None)


def test_describe_requests_are_bounded(answers: Answers) -> None:
    """Each tick describes a limited number of groups in turn, but no groups without membership or of newer types."""
    ticks = Ticks(per_tick=2)
    ticks.read([(group_key(f"g{n}"), group_value(1, ["m"])) for n in range(4)], NOON - 60)
    ticks.read([(commit_key("simple", "t", 0), commit_value(1, 1))], NOON - 60)
    for tick in range(5):
        ticks.poll(tick * 10)
    assert len(answers.described) == 10
    assert set(answers.described) == {"g", "g0", "g1", "g2", "g3"}
