"""Tests of end offsets: one row per partition, and each error only in its rows."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kafka.broker import Broker, create_topics
from sandbox.waiting import wait_until
from stream.cluster.partition_offsets import ENDS, read_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, TimedOut, Unreachable
from tests.support.scripted_cluster import ScriptedCluster, says


class FakeCluster(ScriptedCluster):
    """A cluster with a table (topic, partition) -> (leader, start, stable, end, error code of the offsets).

    `forgets` has the partitions that a broker leaves out of its answer. All answers are in reverse order.
    """

    def __init__(
        self,
        partitions: dict[tuple[str, int], tuple[int, int, int, int, int]],
        topic_errors: dict[str, int] | None = None,
        away: dict[int, ClusterError] | None = None,
        forgets: Collection[tuple[str, int]] = (),
    ) -> None:
        self.partitions, self.topic_errors, self.forgets = partitions, topic_errors or {}, forgets
        failures = away or {}

        def offsets(node: int | None, request: Any) -> Any:
            return failures.get(node or 0) or says(
                topics=[*map(self._offsets(node, request), reversed(request.topics))]
            )

        topics = lambda _, names: says(topics=[*map(self._topic, reversed(names))])  # noqa: E731 -- like the other answer
        super().__init__({"Metadata": topics, "ListOffsetsRequest": offsets})

    def _topic(self, name: str) -> Any:
        leaders = {p: row[0] for (topic, p), row in self.partitions.items() if topic == name}
        usual = {p: {"leader_id": leader, "leader_epoch": p + 5, "error_code": 0} for p, leader in leaders.items()}
        code = self.topic_errors.get(name, 0 if leaders else 3)
        return says(name=name, error_code=code, partitions=[says(partition_index=p, **usual[p]) for p in usual])

    def _offsets(self, node: int | None, request: Any) -> Callable[[Any], Any]:
        column = 1 if request.topics[0].partitions[0].timestamp == -2 else 2 if request.isolation_level else 3

        def answer(topic: Any) -> Any:
            partitions = []
            for p in reversed(topic.partitions):
                row = self.partitions[topic.name, p.partition_index]
                assert (row[0], p.current_leader_epoch) == (node, p.partition_index + 5)
                offset = -1 if row[4] else row[column]
                partitions.append(says(partition_index=p.partition_index, offset=offset, error_code=row[4]))
            kept = [each for each in partitions if (topic.name, each.partition_index) not in self.forgets]
            return says(name=topic.name, partitions=kept)

        return answer

    @property
    def requests(self) -> int:
        return self.count("ListOffsetsRequest")


def rows(cluster: Any, topics: list[str]) -> list[tuple[Any, ...]]:
    """Read the ends as tuples, without the leaders and their epochs."""
    table = read_ends(cluster, topics)
    assert table.schema == ENDS
    table.validate(full=True)
    return [tuple(row.values()) for row in table.drop_columns(["leader", "leader_epoch"]).to_pylist()]


def test_a_row_has_the_leader_of_its_partition() -> None:
    """A row has its leader even if the leader does not answer; without a leader or a known topic it has null.

    The epoch is that of the last leader.
    """
    cluster = FakeCluster(
        {("t", 0): (2, 0, 5, 9, 0), ("t", 1): (-1, 0, 5, 9, 0), ("t", 2): (3, 0, 5, 9, 0)}, away={3: TimedOut("x", "y")}
    )
    ends = read_ends(cluster, ["t", "none"])
    assert ends["leader"].to_pylist() == [None, 2, None, 3]
    assert ends["leader_epoch"].to_pylist() == [None, 5, 6, 7]


CAUSES = {0: None, 3: "not_found", 6: "leader_changed", 29: "not_authorized", 74: "leader_changed", 999: "other"}
PARTITION = st.tuples(
    st.integers(-1, 3),
    st.integers(0, 10),
    st.integers(10, 20),
    st.integers(20, 2**62),
    st.sampled_from([0, 0, 0, 6, 29, 74, 999]),
)
TABLE = st.dictionaries(st.tuples(st.sampled_from(["a", "b", "b-c", "é"]), st.integers(0, 6)), PARTITION, max_size=20)


@given(TABLE, st.lists(st.sampled_from(["a", "b", "b-c", "é", "none"]), max_size=6), st.sets(st.integers(0, 3)))
def test_each_partition_has_one_row_with_all_or_a_reason(
    partitions: dict[tuple[str, int], tuple[int, int, int, int, int]], asked: list[str], away: set[int]
) -> None:
    """Each partition has one sorted row with three offsets, or with the error of its cause.

    The first cause counts: no such topic, no leader, a leader that does not answer, the error code of the offsets.
    """
    cluster = FakeCluster(partitions, away={node: TimedOut("x", "y") for node in away})
    found = rows(cluster, asked)
    known = {topic for topic, _ in partitions}
    wanted = [key for key in partitions if key[0] in asked] + [(name, -1) for name in set(asked) - known]
    assert [row[:2] for row in found] == sorted(wanted)
    for topic, partition, high, stable, start, error in found:
        leader, *offsets, code = partitions.get((topic, partition), (9, 0, 0, 0, 3))
        cause = "no_leader" if leader < 0 else "timed_out" if leader in away else CAUSES[code]
        assert error == cause
        assert [start, stable, high] == (offsets if cause is None else [None] * 3)


ERROR_CODES = {
    "not_found": (3, 100),
    "no_leader": (5,),
    "leader_changed": (6, 74, 75),
    "timed_out": (7,),
    "unreachable": (13,),
    "not_authorized": (29,),
    "storage_failed": (56,),
    "not_available": (78,),
    "unsupported": (35,),
    "other": (-1, 32767),
}


def test_each_error_code_has_a_reason() -> None:
    """An unknown code is the reason `other`, as is a partition that is missing in an answer."""
    for error, codes in ERROR_CODES.items():
        for code in codes:
            cluster = FakeCluster({("t", 0): (1, 0, 5, 9, code), ("t", 1): (1, 0, 5, 9, 0)})
            assert rows(cluster, ["t"]) == [("t", 0, None, None, None, error), ("t", 1, 9, 5, 0, None)]
    cluster = FakeCluster({("t", 0): (1, 0, 1, 2, 0), ("t", 1): (1, 0, 1, 2, 0)}, forgets={("t", 1)})
    assert rows(cluster, ["t"])[1] == ("t", 1, None, None, None, "other")


def test_an_unreachable_broker_affects_only_its_partitions() -> None:
    """One of two brokers does not answer; the rows of the other broker are complete."""
    for failure, error in ((TimedOut("x", "y"), "timed_out"), (Unreachable("x", "y"), "unreachable")):
        cluster = FakeCluster({("t", 0): (1, 0, 1, 2, 0), ("t", 1): (2, 0, 1, 2, 0)}, away={2: failure})
        assert [(row[1], row[2], row[5]) for row in rows(cluster, ["t"])] == [(0, 2, None), (1, None, error)]


def test_the_number_of_requests_depends_on_brokers_only() -> None:
    """Each broker that leads a partition gets three requests; without topics, the table is empty."""
    cluster = FakeCluster({("t", p): (p % 3, 0, 0, p, 0) for p in range(3000)})
    assert [row[2] for row in rows(cluster, ["t"])] == list(range(3000))
    assert cluster.requests == 9
    cluster = FakeCluster({})
    assert (rows(cluster, []), cluster.requests) == ([], 0)


@pytest.mark.kafka
class TestBroker:
    """Tests with real brokers."""

    def test_offsets_are_those_of_the_log(self, broker: Broker) -> None:
        """The offsets reflect records, deleted records and an open transaction."""
        create_topics(broker.bootstrap, {"ends-a": 3, "ends-b": 1})
        plain = Producer({"bootstrap.servers": broker.bootstrap})
        for _ in range(5):
            plain.produce("ends-a", b"x", partition=1)
        plain.flush(30)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        beginning = TopicPartition("ends-a", 1, 2)
        admin.delete_records([beginning])[beginning].result(30)
        held = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "ends-held"})
        held.init_transactions(30)
        held.begin_transaction()
        held.produce("ends-a", b"x", partition=1)
        held.flush(30)
        with Cluster([broker.bootstrap]) as cluster:
            found = rows(cluster, ["ends-b", "ends-a", "ends-none", "bad name!"])
            held.abort_transaction(30)
            # The marker that ends the transaction takes an offset; the coordinator writes it asynchronously.
            wait_until(lambda: rows(cluster, ["ends-a"])[1] == ("ends-a", 1, 7, 7, 2, None), "the marker")
        assert found == [
            ("bad name!", -1, None, None, None, "invalid"),
            ("ends-a", 0, 0, 0, 0, None),
            ("ends-a", 1, 6, 5, 2, None),
            ("ends-a", 2, 0, 0, 0, None),
            ("ends-b", 0, 0, 0, 0, None),
            ("ends-none", -1, None, None, None, "not_found"),
        ]
