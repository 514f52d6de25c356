"""Blocked offsets partitions: when a partition is blocked, by which producer, and what is logged."""

import datetime as dt
import itertools
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pytest
import structlog

from stream.cluster.offsets_topic import NAME
from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.cluster.transport.errors import Unreachable
from stream.groups.placement import EVERY_GROUP, InstancePart
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.groups import BlockedPartitions
from stream.tick.hidden_commits.overlay import BlockedOffsetsPartition
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
from tests.stream.health.tables import wrong
from tests.support.driver_states import ends_of
from tests.support.scripted_cluster import no_cluster

NOON = 1_700_000_000_000
TICK = 10_000


class Leader:
    """A leader that answers with one open transaction per partition."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requested: list[tuple[str, list[int]]] = []
        self.row: dict[str, Any] | None = {"start_offset": 5, "producer_id": 7, "transactional_id": "tx"}
        self.away = False
        monkeypatch.setattr(lookup, "read_open_transactions", self._read)

    def _read(self, _: object, topic: str, partitions: Collection[int]) -> pa.Table:
        if self.away:
            raise Unreachable("away", "")
        self.requested.append((topic, list(partitions)))
        rows = [{"partition": partition, **(self.row or {"error": "no_leader"})} for partition in partitions]
        return pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> Leader:
    """Return a leader that answers with producer 7."""
    return Leader(monkeypatch)


class Ticks:
    """Updates offsets partitions 0 and 1 tick after tick."""

    def __init__(self, part: InstancePart = EVERY_GROUP) -> None:
        clock = itertools.count()
        limits = LookupLimits()
        transactions = OpenTransactionLookup(no_cluster(), limits, lambda: float(next(clock)))
        self.partitions = BlockedPartitions(limits, transactions, part)
        self.now = NOON - TICK

    def update(self, *stable: int | None, high: int = 100) -> tuple[BlockedOffsetsPartition, ...]:
        """Update once for each last stable offset of partition 0; return the partitions that are blocked at the end."""
        for each in stable:
            self.now += TICK
            ends = EndsIndex(ends_of([(NAME, 0, high, each, 0, None), (NAME, 1, high, high, 0, None)]))
            blocked = self.partitions.update(ends, self.now)
        return tuple(blocked.values())


def test_a_partition_is_blocked_after_the_grace_period(leader: Leader) -> None:
    """The last stable offset of a blocked partition is unchanged and below the high watermark."""
    stories: dict[str, tuple[list[int | None], list[int]]] = {
        "no gap": ([100, 100, 100], []),
        "a gap shorter than the grace period": ([50], []),
        "unchanged for longer than the grace period": ([50, 50], [0]),
        "transactions that end one after the other": ([50, 60, 70], []),
        "the transaction has ended": ([50, 50, 100], []),
        "ends not known for one tick": ([50, None, 50], [0]),
        "ends not known now: no change": ([50, 50, None], [0]),
    }
    assert wrong(stories, lambda stable: [each.offsets_partition for each in Ticks().update(*stable)]) == []
    assert all(topic == NAME and partitions == [0] for topic, partitions in leader.requested)


def test_a_blocked_partition_of_another_instance_is_not_looked_up(leader: Leader) -> None:
    """The hidden records of the partition belong to groups of the other instance."""
    assert Ticks(InstancePart(1, 2)).update(50, 50) == ()
    assert leader.requested == []
    assert len(Ticks(InstancePart(0, 2)).update(50, 50)) == 1


def test_a_blocked_partition_has_its_oldest_transaction(leader: Leader) -> None:
    """A partition is blocked since the transaction started, or since the gap was first seen if that is earlier.

    A hanging transaction counts from its last write.
    """
    before, after = (dt.datetime.fromtimestamp(NOON / 1000 + s, dt.UTC).replace(tzinfo=None) for s in (-3600, 3600))
    assert leader.row is not None
    leader.row |= {"start_time": before, "last_write_time": after, "hanging": False}
    assert Ticks().update(50, 50) == (BlockedOffsetsPartition(0, NOON - 3_600_000, 7, "tx", hanging=False),)
    leader.row |= {"hanging": True}
    assert Ticks().update(50, 50) == (BlockedOffsetsPartition(0, NOON, 7, "tx", hanging=True),)


@pytest.mark.parametrize("away", [True, False])
def test_a_partition_is_blocked_without_a_known_transaction(leader: Leader, *, away: bool) -> None:
    """No broker answers, or not the leader of the partition: the producer and the transactional id are unknown."""
    leader.away, leader.row = away, None
    assert Ticks().update(50, 50) == (BlockedOffsetsPartition(0, NOON),)


def test_start_and_end_are_logged_once(leader: Leader) -> None:
    """The first line names the transaction, the second line has the duration; the transaction is requested once."""
    ticks = Ticks()
    with structlog.testing.capture_logs() as lines:
        ticks.update(50, 50, 50, 50, 100, 100)
    assert [(line["log_level"], line["offsets_partition"]) for line in lines] == [("warning", 0), ("info", 0)]
    assert (lines[0]["producer_id"], lines[0]["transactional_id"]) == (7, "tx")
    assert lines[1]["seconds"] == 40
    assert len(leader.requested) == 1, "not requested at every tick"
