"""Commit intervals, unread shares and hot partitions."""

import base64

import numpy as np
import pytest

from sandbox.recorded_clients.observed import ClientCapture
from stream.groups.commits.slots import Slots
from stream.tick.snapshot.build import build, build_evaluated
from stream.tick.snapshot.owned_rows import OwnedRows
from stream.tick.snapshot.throughput import commit_intervals, hot_ratios, longest_catch_up
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.health.tables import wrong
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value

NAN = float("nan")


def slots(*rows: tuple[int, int, int]) -> Slots:
    """Return slots from row, time of the last commit (ms) and number of commits."""
    row, time, commits = np.array(rows, np.int64).reshape(-1, 3).T
    return Slots(row, time // 1000, time, time, commits)


def test_the_mean_time_between_commits() -> None:
    """The mean is over the time from the last commit of the first slot to the last commit of the last slot."""
    stories = {
        "one commit after that of the first slot": ([(0, 1000, 9), (0, 6000, 1)], [5000]),
        "ten commits in ten seconds": ([(0, 1000, 1), (0, 6000, 5), (0, 11_000, 5)], [1000]),
        "one slot only": ([(0, 1000, 7)], [-1]),
        "no commit": ([], [-1]),
    }
    assert wrong(stories, lambda rows: commit_intervals(slots(*rows), 1).tolist()) == []


def test_a_group_has_the_shortest_interval_and_the_greatest_unread_share() -> None:
    """Both are over the partitions of an evaluated tick where they are known; a group without any has neither."""
    shard = ShardReader()
    shard.read([(commit_key("a", "t", at), commit_value(10, 1000)) for at in (0, 1)])
    shard.read([(commit_key("a", "t", 0), commit_value(20, 40_000))])
    shard.read(
        [(commit_key("a", "t", 1), commit_value(30, 61_000)), (commit_key("b", "gone", 0), commit_value(1, 1000))]
    )
    state = shard.driver_state.columns()
    ends = ends_of([("t", 0, 50, 50, 10, None), ("t", 1, 40, 40, 0, None)])
    groups = build_evaluated(VerdictEvaluator().evaluate(derived(state, ends, 62.0))).groups
    columns = ("commit_interval", "unread_ratio", "catch_up_seconds")
    found = {row["group"]: tuple(row[column] for column in columns) for row in groups.to_pylist()}
    assert found == {"a": (39.0, 0.75, None), "b": (None, None, None)}


@pytest.mark.parametrize("name", ["streams-classic", "streams", "franz-go"])
def test_the_stream_time_of_kafka_streams_is_a_time_lag(name: str) -> None:
    """Real commits of both protocols hold it: 0 if all is read, else the time since. Other groups have none.

    Metadata that cannot be read count as an odd time of the commit.
    """
    capture = ClientCapture.read(name)
    until = capture.ended["stopped both"]
    rows = [row for row in capture.rows if (row.timestamp or 0) <= until]
    shard = ShardReader()
    shard.read([(row.key, row.value) for row in rows], until)
    shard.read([(commit_key(name, "odd", 0), commit_value(5, until, metadata="kgo-1"))], until)
    last = [each for each in capture.commits if each["commit_timestamp"] <= until][-1]
    partition = last["partition"]

    def shown(end: int) -> list[tuple[float | None, bool]]:
        ends = ends_of([(name, partition, end, end, 0, None), ("odd", 0, 9, 9, 0, None)])
        rows = build(derived(shard.driver_state.columns(), ends, until / 1000)).partitions.to_pylist()
        found = {(row["topic"], row["partition"]): (row["stream_time_lag"], row["odd_time"]) for row in rows}
        return [found[name, partition], found["odd", 0]]

    stream_time = 0 if name == "franz-go" else int.from_bytes(base64.b64decode(last["metadata"])[1:9])
    is_streams = 0 < stream_time < until
    assert is_streams is (name != "franz-go")
    assert shown(99) == [((until - stream_time) / 1000 if is_streams else None, False), (None, is_streams)]
    assert shown(last["offset"])[0] == (0.0 if is_streams else None, False)


def test_a_group_has_caught_up_when_its_last_partition_has() -> None:
    """If one of its partitions does not catch up, the group does not either; without partitions it is not known."""
    stories = {
        "the slowest decides": ([(0, 1000), (0, 5500)], [5.5, None]),
        "caught up": ([(0, 0), (1, 0)], [0.0, 0.0]),
        "one does not catch up": ([(0, 1000), (0, -1), (1, 0)], [None, 0.0]),
    }

    def times(rows: list[tuple[int, int]]) -> list[float | None]:
        group, time = np.array(rows, np.int64).T
        by_group, counts = OwnedRows(group, 2), np.ones(len(time), np.bool_)
        return longest_catch_up(time, counts, by_group).to_pylist()  # type: ignore[no-any-return]

    assert wrong(stories, times) == []


def test_hot_partitions() -> None:
    """A hot partition grows at least three times as fast as the mean of the other partitions of its topic."""
    stories = {
        "far above the others": ([90.0, 10.0, 20.0, 30.0], [4.5, None, None, None]),
        "less than three times the mean": ([59.0, 10.0, 20.0, 30.0], [None] * 4),
        "one other partition only": ([90.0, 10.0], [None] * 2),
        "unknown rates of other partitions": ([90.0, NAN, NAN, 1.0], [None] * 4),
        "idle partitions count as one record per second": ([90.0, 0.0, 0.0], [90.0, None, None]),
        "too few records to compare": ([2.0, 0.1, 0.1], [None] * 3),
        "no partition": ([], []),
    }

    def ratios(rates: list[float]) -> list[float | None]:
        return hot_ratios(np.zeros(len(rates), np.int64), np.array(rates, np.float64)).to_pylist()  # type: ignore[no-any-return]

    assert wrong(stories, ratios) == []
