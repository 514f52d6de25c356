"""Tests of sizes on disk: a row per replica, and a reason per broker or log directory without an answer."""

from typing import Any

from stream.cluster.configs import REPLICA_SIZES, failed_directories, read_replica_sizes, size_per_broker
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

TOPIC = "__consumer_offsets"


def disk(log_dir: str, sizes: dict[int, int], *, future: bool = False, error: int = 0) -> Any:
    partitions = [
        says(partition_index=p, partition_size=size, offset_lag=0, is_future_key=future)
        for p, size in reversed(sizes.items())
    ]
    return says(error_code=error, log_dir=log_dir, topics=[says(name=TOPIC, partitions=partitions)] if sizes else [])


def read(answers: dict[int, Any]) -> tuple[list[tuple[Any, ...]], dict[int, int | None]]:
    """Return the sizes as tuples without the lag, and their sums."""
    cluster = ScriptedCluster({"DescribeLogDirsRequest": lambda node, _: answers[node or 0]}, nodes=list(answers))
    table = read_replica_sizes(cluster, {TOPIC: [0, 1]})  # type: ignore[arg-type]
    assert table.schema == REPLICA_SIZES
    table.validate(full=True)
    return [tuple(row.values()) for row in table.drop_columns(["offset_lag"]).to_pylist()], size_per_broker(table)


def test_every_replica_has_a_row() -> None:
    """Replicas on several disks, and a copy that is being moved to another disk, have a row each."""
    one = says(error_code=0, results=[disk("/b", {1: 20}), disk("/a", {0: 10}), disk("/c", {0: 4}, future=True)])
    rows, sums = read({2: says(error_code=0, results=[disk("/a", {1: 21, 0: 0})]), 1: one})
    assert rows == [
        (1, TOPIC, 0, "/a", 10, False, None),
        (1, TOPIC, 0, "/c", 4, True, None),
        (1, TOPIC, 1, "/b", 20, False, None),
        (2, TOPIC, 0, "/a", 0, False, None),
        (2, TOPIC, 1, "/a", 21, False, None),
    ]
    assert sums == {1: 34, 2: 21}


def test_a_broker_without_an_answer() -> None:
    """The size of a broker without an answer is None, not 0; the other brokers have sizes.

    An older broker that denies the request answers without an error and without log directories.
    """
    denied, denied_by_older = says(error_code=31, results=[]), says(error_code=0, results=[])
    reasons: dict[str, list[Any]] = {
        "unreachable": [AWAY],
        "unsupported": [TOO_OLD],
        "not_authorized": [denied, denied_by_older],
    }
    for reason, answers in reasons.items():
        for answer in answers:
            rows, sums = read({1: answer, 2: says(error_code=0, results=[disk("/a", {0: 5})])})
            assert rows == [(1, None, None, None, None, None, reason), (2, TOPIC, 0, "/a", 5, False, None)]
            assert sums == {1: None, 2: 5}


def test_a_failed_disk_is_named_and_makes_the_sum_unknown() -> None:
    """The other log directories have rows, but the sum is None; a broker without replicas has no row."""
    failed = {1: says(error_code=0, results=[disk("/a", {0: 5}), disk("/bad", {}, error=56)])}
    rows, sums = read(failed)
    assert rows == [(1, None, None, "/bad", None, None, "storage_failed"), (1, TOPIC, 0, "/a", 5, False, None)]
    assert sums == {1: None}
    assert read({1: says(error_code=0, results=[disk("/a", {})])}) == ([], {})
    cluster = ScriptedCluster({"DescribeLogDirsRequest": lambda node, _: (failed | {2: AWAY})[node or 0]}, nodes=[1, 2])
    assert failed_directories(read_replica_sizes(cluster, None)) == ((1, "/bad"),)  # type: ignore[arg-type]
