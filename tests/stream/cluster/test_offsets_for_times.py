"""Tests of offsets for timestamps: each requested row has one answer, in order, whatever the brokers do."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.offsets_for_times import OFFSETS_FOR_TIMES, WANTED, read_offsets_for_times
from stream.cluster.transport.requests import LATEST
from tests.support.scripted_cluster import AWAY, ScriptedCluster, says

LIST = "ListOffsetsRequest"


def node_of(topic: str, partition: int) -> int:
    """Return the leader of a partition of the scripted cluster; partition 5 has none."""
    return -1 if partition == 5 else (ord(topic[0]) + partition) % 3


def metadata(_: int | None, names: list[str]) -> Any:
    """Describe topics `a` to `c` with six partitions each, in no useful order; others are denied or do not exist."""
    topics = []
    for name in reversed(names):
        partitions = [
            says(partition_index=p, leader_id=node_of(name, p), leader_epoch=p + 5) for p in (5, 1, 0, 4, 3, 2)
        ]
        code = 0 if name in {"a", "b", "c"} else 29 if name == "denied" else 3
        topics.append(says(name=name, error_code=code, partitions=[] if code else partitions))
    return says(topics=topics)


def offset_at(topic: str, partition: int, time: int) -> tuple[int, int, int]:
    """Return offset, record time and error code of an answer; a time after 1,000 has no record."""
    if time > 1_000:
        return -1, -1, 0
    if (topic, partition) == ("c", 3):
        return -1, -1, 74
    return time * 10 + partition, -1 if time == LATEST else time + 1, 0


def leader(node: int | None, request: Any) -> Any:
    """Answer as the leader of the requested partitions, and check the request."""
    topics = []
    for topic in reversed(request.topics):
        asked = [p.partition_index for p in topic.partitions]
        assert len(asked) == len(set(asked)), "a broker refuses a partition that occurs twice"
        partitions = []
        for p in topic.partitions:
            assert (node, p.current_leader_epoch) == (node_of(topic.name, p.partition_index), p.partition_index + 5)
            answer = offset_at(topic.name, p.partition_index, p.timestamp)
            fields = dict(zip(("offset", "timestamp", "error_code"), answer, strict=True))
            partitions.append(says(partition_index=p.partition_index, **fields))
        topics.append(says(name=topic.name, partitions=partitions))
    return says(topics=topics)


def wanted(rows: list[tuple[str, int, int]]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return pa.table([pa.array(values, field.type) for values, field in zip(columns, WANTED, strict=True)], WANTED)


def read(cluster: ScriptedCluster, rows: list[tuple[str, int, int]]) -> list[tuple[Any, ...]]:
    """Read the answers as tuples."""
    table = read_offsets_for_times(cluster, wanted(rows))  # type: ignore[arg-type]
    assert table.schema == OFFSETS_FOR_TIMES
    table.validate(full=True)
    return [tuple(row.values()) for row in table.to_pylist()]


def expected(topic: str, partition: int, time: int, away: set[int]) -> tuple[Any, ...]:
    nothing: tuple[Any, ...] = (topic, partition, time, None, None)
    if topic in {"denied", "none"}:
        return *nothing, "not_authorized" if topic == "denied" else "not_found"
    if partition > 5:
        return *nothing, "not_found"
    if partition == 5:
        return *nothing, "no_leader"
    if node_of(topic, partition) in away:
        return *nothing, "unreachable"
    if time <= 1_000 and (topic, partition) == ("c", 3):
        return *nothing, "leader_changed"
    values = offset_at(topic, partition, time)[:2]
    return topic, partition, time, *(value if value >= 0 else None for value in values), None


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "denied", "none"]),
        st.integers(0, 6),
        st.one_of(st.integers(0, 1_010), st.just(2**50)),
    ),
    max_size=40,
)


@given(ROWS, st.sets(st.integers(0, 2)), st.integers(1, 4))
def test_each_row_has_its_answer(rows: list[tuple[str, int, int]], away: set[int], at_once: int) -> None:
    """Answers have the order of the rows, also for repeated partitions; a failure affects only its own rows."""
    answers = {"Metadata": metadata, LIST: lambda node, request: AWAY if node in away else leader(node, request)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stream.cluster.offsets_for_times._PARTITIONS_AT_ONCE", at_once)
        assert read(ScriptedCluster(answers), rows) == [expected(*row, away) for row in rows]


def test_one_request_at_a_time_for_each_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker gets its next request after the previous answer, so that the time limit of a request has no wait."""
    monkeypatch.setattr("stream.cluster.offsets_for_times._PARTITIONS_AT_ONCE", 1)
    turns = []

    class Turns(ScriptedCluster):
        def call_all(self, calls: list[tuple[int, Any]]) -> list[Any]:
            turns.append(sorted(node for node, _ in calls))
            return super().call_all(calls)

    read(Turns({"Metadata": metadata, LIST: leader}), [("a", p, 7) for p in range(5)])
    assert turns == [[0, 1, 2], [1, 2]]
