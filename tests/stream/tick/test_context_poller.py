"""The survey: what is asked at a tick, how seldom, and what of the answers is believed."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
import structlog

from stream.cluster.describe_groups import DescribedGroup
from stream.cluster.topology import TOPICS
from stream.cluster.transport.errors import Unreachable
from stream.groups.expiry.predict import OffsetsRetention
from stream.tick import context_poller as survey
from stream.tick.context_poller import ContextPoller
from tests.support.fleets import World
from tests.support.raw import commit_key, commit_value, group_key, group_value

if TYPE_CHECKING:
    from stream.cluster.transport.client import Cluster
    from stream.tick.context import ClusterContext

NOON = 1_700_000_000.0
ID, OTHER_ID = bytes(15) + b"\1", bytes(15) + b"\2"
KEPT = OffsetsRetention(60_000, 1000, "broker")


class Answers:
    """A cluster that answers from attributes, and counts what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.topics: dict[str, tuple[bytes, int]] = {"t": (ID, 3)}
        self.away = False
        self.states: dict[str, str] = {}
        self.described: list[str] = []
        self.retentions = 0
        self.retention = KEPT
        for name in ("read_topology", "describe_groups", "read_retention"):
            monkeypatch.setattr(survey, name, getattr(self, name))

    def read_topology(self, _: Cluster, names: set[str], *, brief: bool) -> Any:
        """Answer like the cluster: what is not there is not found."""
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
        return types.SimpleNamespace(topics=table, ids=lambda: ids, absent=lambda: absent)

    def describe_groups(self, _: Cluster, __: object, groups: list[str]) -> dict[str, DescribedGroup]:
        """Tell the states that are set."""
        self.described += groups
        return {group: DescribedGroup(group, self.states.get(group, "Stable")) for group in groups}

    def read_retention(self, _: Cluster, *_configured: int | None) -> OffsetsRetention:
        """Count."""
        self.retentions += 1
        return self.retention


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Give a cluster with one topic of three partitions."""
    return Answers(monkeypatch)


class Ticks:
    """A survey and a world with one classic group of one member, looked at tick by tick."""

    def __init__(self, per_tick: int = 10) -> None:
        self.world = World()
        self.survey = ContextPoller(cast("Cluster", object()), OffsetsRetention(None, None, "unknown"), per_tick, 10.0)
        self.read([(commit_key("g", "t", 0), commit_value(1, 1)), (group_key("g"), group_value(1, ["m"]))], NOON - 60)

    def read(self, records: list[Any], at: float) -> None:
        """Let a batch happen at this time (seconds)."""
        self.world.read(records, time=int(at * 1000))

    def look(self, after: float = 0.0, topics: set[str] | None = None) -> ClusterContext:
        """Look so many seconds after noon."""
        return self.survey.poll(self.world.fleet.columns(), topics or {"t"}, NOON + after)


def test_topics_are_there_gone_or_not_known(answers: Answers) -> None:
    """A topic the cluster does not know has no partition; while the cluster is away, nothing is said of any."""
    ticks = Ticks()
    around = ticks.look(topics={"t", "gone"})
    assert [around.topic_exists(topic) for topic in ("t", "gone", "never asked")] == [True, False, None]
    assert (around.topic_ids, around.topic_names) == ({"t": ID}, {ID: "t"})
    answers.away = True
    around = ticks.look(10)
    assert around.topic_exists("t") is None
    assert around.topic_names == {ID: "t"}, "what an id stands for does not change"


def test_topic_made_anew_is_told_and_its_old_name_kept_while_something_refers_to_it(answers: Answers) -> None:
    """One line when the id changes; the old id keeps its name while a commit carries it, and then goes."""
    ticks = Ticks()
    ticks.read([(commit_key("g", "t", 1), commit_value(1, 1, version=4, topic_id=ID))], NOON)
    ticks.look()
    answers.topics["t"] = (OTHER_ID, 3)
    with structlog.testing.capture_logs() as lines:
        around = ticks.look(10)
    assert around.topic_names == {ID: "t", OTHER_ID: "t"}
    moments = (None, int(NOON * 1000), int((NOON + 20) * 1000))
    assert [around.topic_exists("t", moment) for moment in moments] == [True, False, True]
    assert [line["topic"] for line in lines if line["event"] == "topic recreated"] == ["t"]
    ticks.look(700)
    assert ID in ticks.look(1400).topic_names
    ticks.read([(commit_key("g", "t", 1), None)], NOON + 1500)
    ticks.look(2100)
    assert set(ticks.look(2800).topic_names) == {OTHER_ID}


def test_retention_is_asked_seldom_and_told_when_it_changes(answers: Answers) -> None:
    """Every ten minutes; a line at the first answer and none while it stays the same."""
    ticks = Ticks()
    with structlog.testing.capture_logs() as lines:
        assert {ticks.look(after).retention for after in (0, 10, 590, 601, 1300)} == {KEPT}
    assert answers.retentions == 3
    assert [line["event"] for line in lines] == ["offsets retention"]


def test_retention_that_is_not_told_this_time_stays(answers: Answers) -> None:
    """A broker that is away changes no setting, and is asked again at the next tick."""
    ticks = Ticks()
    ticks.look()
    answers.retention = OffsetsRetention(None, None, "unknown")
    assert [ticks.look(after).retention for after in (601, 611)] == [KEPT, KEPT]
    assert answers.retentions == 3
    answers.retention = OffsetsRetention(5000, 1000, "broker")
    assert ticks.look(621).retention == answers.retention


def test_rebalance_is_believed_until_a_record_tells_more(answers: Answers) -> None:
    """Only states that no record shows are taken from the answer, and a younger record ends them."""
    ticks = Ticks()
    assert ticks.look().described_states == {}, "Stable is what the log says"
    answers.states["g"] = "PreparingRebalance"
    around = ticks.look(10)
    assert (around.described_states, around.rebalancing) == ({"g": "PreparingRebalance"}, frozenset({"g"}))
    ticks.read([(group_key("g"), group_value(2, ["m"]))], NOON + 11)
    assert ticks.look(12).described_states == {}


def test_the_start_of_a_rebalance_is_the_first_tick_that_saw_it(answers: Answers) -> None:
    """It stays the same until the group no longer rebalances."""
    ticks = Ticks()
    answers.states["g"] = "PreparingRebalance"
    assert ticks.look(10).rebalancing_since == {"g": int((NOON + 10) * 1000)}
    assert ticks.look(20).rebalancing_since == {"g": int((NOON + 10) * 1000)}
    answers.states["g"] = "Stable"
    assert ticks.look(30).rebalancing_since == {}


def test_asking_is_bounded(answers: Answers) -> None:
    """So many groups per tick, each in its turn; groups without membership and those of newer kinds never."""
    ticks = Ticks(per_tick=2)
    ticks.read([(group_key(f"g{n}"), group_value(1, ["m"])) for n in range(4)], NOON - 60)
    ticks.read([(commit_key("simple", "t", 0), commit_value(1, 1))], NOON - 60)
    for tick in range(5):
        ticks.look(tick * 10)
    assert len(answers.described) == 10
    assert set(answers.described) == {"g", "g0", "g1", "g2", "g3"}


def test_asking_can_be_turned_off(answers: Answers) -> None:
    """Zero groups per tick asks for none."""
    assert Ticks(per_tick=0).look().described_states == {}
    assert answers.described == []
