"""One of three brokers is killed: the common cause names it and the groups whose state it stores."""

import itertools
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sandbox.kafka.broker import Broker, create_topic_led_by
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.cluster.records.ranges import OffsetRange
from stream.cluster.transport.client import Cluster
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.placement import partition_for
from stream.tick import run_tick
from stream.tick.context_poller import ContextPoller
from stream.tick.publisher import Publisher
from tests.integration.folded_log import FoldedLog
from tests.integration.traffic import commit
from tests.support.processes import LIMIT, patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(patience(600))]

PARTITIONS: Final = 3
"""Partitions of the offsets topic: partition n is only on broker n + 1."""
KILLED: Final = 3
RECORDS: Final = 10
TICK: Final = 10.0
SINGLE: Final = {"offsets.topic.replication.factor": "1"}
LOST: Final = tuple(f"lost-{number}" for number in range(3))
"""Topics that only the killed broker has, and their groups below."""


def group_names(prefix: str, stored_by: set[int], count: int) -> list[str]:
    """Return names of groups whose coordinator is one of these brokers."""
    names = (f"{prefix}-{number}" for number in itertools.count())
    return list(itertools.islice((n for n in names if partition_for(n, PARTITIONS) + 1 in stored_by), count))


KEPT: Final = group_names("kept", {1, 2}, 4)
READERS: Final = dict(zip(group_names("reader", {1, 2}, 3), LOST, strict=True))
HIDDEN: Final = group_names("hidden", {KILLED}, 2)


@pytest.fixture
def brokers() -> Iterator[list[Broker]]:
    """Return three brokers of one cluster; the first controls it, and each stores a third of the groups."""
    with (
        Broker(offsets_partitions=PARTITIONS, properties=SINGLE) as one,
        Broker(offsets_partitions=PARTITIONS, properties=SINGLE, joins=one, node=2) as two,
        Broker(offsets_partitions=PARTITIONS, properties=SINGLE, joins=one, node=KILLED) as three,
    ):
        admin = AdminClient({"bootstrap.servers": one.bootstrap})
        wait_until(lambda: len(admin.list_topics(timeout=LIMIT).brokers) == 3, "three brokers")
        offsets = NewTopic(NAME, PARTITIONS, replica_assignment=[[1], [2], [3]], config={"cleanup.policy": "compact"})
        admin.create_topics([offsets])[NAME].result(LIMIT)
        create_topic_led_by(one.bootstrap, "kept", leader=1)
        for topic in LOST:
            create_topic_led_by(one.bootstrap, topic, leader=KILLED)
        producer = Producer({"bootstrap.servers": one.bootstrap, "log_level": 0})
        for topic in ("kept", *LOST):
            for number in range(RECORDS):
                producer.produce(topic, str(number), partition=0)
        assert producer.flush(LIMIT) == 0
        yield [one, two, three]


class Ticks:
    """Ticks of a publisher that are ten seconds apart by its clock, and read the log as far as its leaders answer."""

    def __init__(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.time()
        self._cluster = cluster
        self._publisher = Publisher()
        self._poller = ContextPoller(cluster, OffsetsRetention(None, None, "unknown"), 0, TICK)
        self._log = FoldedLog(cluster)
        monkeypatch.setattr(run_tick, "time", SimpleNamespace(time=lambda: self.now))

    def tick(self) -> Any:
        self.now += TICK
        self._read()
        return self._publisher.tick(self._cluster, self._poller, self._log.positions, current=True)

    def verdicts(self) -> dict[str, str]:
        """Return the verdict of each group at the last tick."""
        published = self._publisher.current()
        return {
            row["group"]: row["verdict"] for row in published.snapshot.groups.select(["group", "verdict"]).to_pylist()
        }

    def _read(self) -> None:
        ends = [row for row in read_ends(self._cluster, [NAME]).to_pylist() if row["error"] is None]
        wanted = [
            OffsetRange(row["partition"], self._log.positions.get(row["partition"], 0), row["last_stable_offset"])
            for row in ends
        ]
        for partition, change in self._log.read(wanted):
            self._publisher.apply([(partition, change)], catching_up=False)


def leaderless(bootstrap: str) -> int:
    """Return the number of partitions without a leader."""
    topics = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=LIMIT).topics.values()
    return sum(partition.leader < 0 for topic in topics for partition in topic.partitions.values())


def test_a_killed_broker_is_one_common_cause(brokers: list[Broker], monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause names the broker and its absence, and its groups are hidden. The broker's return ends both."""
    one, _, three = brokers
    for group, topic in {**dict.fromkeys((*KEPT, *HIDDEN), "kept"), **READERS}.items():
        commit(one.bootstrap, group, topic, {0: RECORDS})
    with Cluster([one.bootstrap]) as cluster:
        ticks = Ticks(cluster, monkeypatch)
        ticks.now = time.time() - 2 * TICK
        ticks.tick()
        before = ticks.tick()
        assert set(ticks.verdicts().values()) == {"caught_up"}
        assert len(before.published.snapshot.common_causes) == len(before.status.offsets_unavailable) == 0

        three.kill()
        wait_until(lambda: leaderless(one.bootstrap) == len(LOST) + 1, "the partitions of the broker to lose it")
        for group in KEPT:
            commit(one.bootstrap, group, "kept", {0: RECORDS})
        for _ in range(8):
            during = ticks.tick()
        verdicts = ticks.verdicts()
        assert {verdicts[group] for group in READERS} == {"no_leader"}
        assert {verdicts[group] for group in HIDDEN} == {"unknown"}
        assert {verdicts[group] for group in KEPT} == {"caught_up"}
        (cause,) = during.published.snapshot.common_causes.to_pylist()
        assert (cause["dimension"], cause["key"], cause["groups"]) == ("leader", str(KILLED), sorted(READERS))
        assert cause["sentence"].startswith(
            "3 of 3 groups reading partitions led by broker 3 lost the leader of a partition at the same time; broker 3"
            " left the cluster"
        )
        assert cause["next_step"] == "Bring back broker 3; its log says why it left."
        (hidden,) = during.status.offsets_unavailable.to_pylist()
        assert (hidden["offsets_partition"], hidden["reason"], hidden["groups"]) == (
            KILLED - 1,
            "no_leader",
            len(HIDDEN),
        )
        named = during.status.offsets_unavailable_groups.to_pylist()
        assert named == [{"offsets_partition": KILLED - 1, "group": group} for group in sorted(HIDDEN)]

        three.start()
        wait_until(lambda: leaderless(one.bootstrap) == 0, "the broker to lead its partitions again")
        for _ in range(6):
            after = ticks.tick()
        assert set(ticks.verdicts().values()) == {"caught_up"}
        assert len(after.published.snapshot.common_causes) == len(after.status.offsets_unavailable) == 0
