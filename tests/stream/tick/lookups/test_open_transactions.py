"""The lookup of open transactions: most urgent partitions first, a few per tick, refreshed after a while."""

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup, blocked_partitions, still_blocked
from tests.stream.health.panes import SECOND, Row, pane
from tests.support.driver_states import ends_of
from tests.support.scripted_cluster import no_cluster

NOON = 1_700_000_000_000
TICK = 10_000


class Leaders:
    """Leaders that answer with a producer whose id is the number of the partition, after `takes` seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requested: list[tuple[str, tuple[int, ...]]] = []
        self.time = 0.0
        self.takes = 0.0
        monkeypatch.setattr(lookup, "read_open_transactions", self._read)

    def _read(self, _: object, topic: str, partitions: Collection[int]) -> pa.Table:
        self.time += self.takes
        self.requested.append((topic, tuple(partitions)))
        rows = [{"partition": partition, "start_offset": 1, "producer_id": partition} for partition in partitions]
        return pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)

    def new_lookup(self, **limits: Any) -> OpenTransactionLookup:
        """Return a lookup with these limits that sends its requests to these leaders."""
        return OpenTransactionLookup(no_cluster(), LookupLimits(**limits), lambda: self.time)


@pytest.fixture
def leaders(monkeypatch: pytest.MonkeyPatch) -> Leaders:
    """Return leaders that answer immediately."""
    return Leaders(monkeypatch)


def producers(tables: dict[str, pa.Table]) -> dict[str, list[int]]:
    """Return the producer ids by topic."""
    return {topic: table.column("producer_id").to_pylist() for topic, table in tables.items()}


def test_a_result_is_cached_while_the_last_stable_offset_stays(leaders: Leaders) -> None:
    """A result is refreshed after a minute or a new offset, and dropped when the partition is no longer blocked."""
    transactions = leaders.new_lookup()
    for tick in range(5):
        assert producers(transactions.update({("t", 1): 50, ("t", 2): 60}, NOON + tick * TICK)) == {"t": [1, 2]}
    assert leaders.requested == [("t", (1, 2))]
    transactions.update({("t", 1): 50, ("t", 2): 61}, NOON + 50_000)
    transactions.update({("t", 1): 50, ("t", 2): 61}, NOON + 60_000)
    assert leaders.requested[1:] == [("t", (2,)), ("t", (1,))]
    assert transactions.update({}, NOON + 70_000) == {}


def test_topics_and_partitions_per_tick_are_limited(leaders: Leaders) -> None:
    """The most urgent partitions come first, and every partition is requested in the end."""
    transactions = leaders.new_lookup(transaction_topics=2, transaction_partitions=3)
    blocked = {("b", 1): 5, ("a", 1): 5, ("c", 1): 5, ("b", 2): 5}
    transactions.update(blocked, NOON)
    assert leaders.requested == [("b", (1,)), ("a", (1,))]
    transactions.update(blocked, NOON + TICK)
    assert leaders.requested[2:] == [("c", (1,)), ("b", (2,))]


def test_the_time_per_tick_is_limited(leaders: Leaders) -> None:
    """With slow leaders, a tick requests fewer topics, but at least one."""
    leaders.takes = 5.0
    transactions = leaders.new_lookup()
    for tick in range(3):
        transactions.update({("a", 1): 5, ("b", 1): 5, ("c", 1): 5}, NOON + tick * TICK)
    assert leaders.requested == [("a", (1,)), ("b", (1,)), ("c", (1,))]


def test_blocked_partitions_are_sorted_by_urgency() -> None:
    """Partitions whose group has read up to the last stable offset come first, then those that are blocked longest."""
    window = pane(
        Row(topic="busy", stable=10_390, held_for=5 * SECOND, stable_lag=0),
        Row(topic="free"),
        Row(topic="long", stable=10_000, held_for=90 * SECOND, stable_lag=100),
        Row(topic="longer", stable=10_000, held_for=99 * SECOND, stable_lag=100),
        Row(topic="waiting", stable=10_000, held_for=20 * SECOND, stable_lag=0),
    )
    assert list(blocked_partitions(window, 8_000).items()) == [
        (("waiting", 0), 10_000),
        (("longer", 0), 10_000),
        (("long", 0), 10_000),
    ]


def test_a_partition_of_several_groups_occurs_once() -> None:
    """Two groups that read the partition give one entry."""
    rows = [Row(group=name, stable=10_000, held_for=20 * SECOND, stable_lag=0) for name in "ab"]
    window = pane(*rows)
    window = dataclasses.replace(window, inputs=dataclasses.replace(window.inputs, partition=np.zeros(2, np.int32)))
    assert blocked_partitions(window, 8_000) == {("orders", 0): 10_000}


def test_only_partitions_with_an_unchanged_gap_are_still_blocked() -> None:
    """A partition is not blocked if its last stable offset has changed, its gap is closed, or its end is unknown."""
    ends = [("a", 0, 9, 5, 0, None), ("b", 0, 9, 6, 0, None), ("c", 0, 5, 5, 0, None), ("d", 0, None, None, None, "x")]
    blocked = {(topic, 0): 5 for topic in "abcde"}
    assert still_blocked(blocked, EndsIndex(ends_of(ends))) == {("a", 0): 5}
