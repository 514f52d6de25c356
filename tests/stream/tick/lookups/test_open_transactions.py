"""The lookup of open transactions: most urgent partitions first, a few per tick, refreshed after a while."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pytest

from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
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
