"""Gaps of the offsets topic: what is one, whose it is, and what is said about it."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
import structlog

from stream.cluster.offsets_topic import NAME
from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.cluster.transport.errors import Unreachable
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.blocked_partitions import BlockedPartitions
from stream.tick.hidden_commits.model import BlockedOffsetsPartition
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
from tests.support.fleets import ends_of

if TYPE_CHECKING:
    from collections.abc import Collection

NOON = 1_700_000_000_000
TICK = 10_000


class Leader:
    """Names one transaction per partition."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, list[int]]] = []
        self.row: dict[str, Any] | None = {"start_offset": 5, "producer_id": 7, "transactional_id": "tx"}
        self.away = False
        monkeypatch.setattr(lookup, "read_open_transactions", self._read)

    def _read(self, _: object, topic: str, partitions: Collection[int]) -> pa.Table:
        if self.away:
            raise Unreachable("away", "")
        self.asked.append((topic, list(partitions)))
        rows = [{"partition": partition, **(self.row or {"error": "no_leader"})} for partition in partitions]
        return pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> Leader:
    """Give a leader that names producer 7."""
    return Leader(monkeypatch)


class Ticks:
    """Looks at partition 0 tick by tick."""

    def __init__(self) -> None:
        clock = itertools.count()
        allowances = LookupLimits()
        self.gaps = BlockedPartitions(
            allowances, OpenTransactionLookup(cast("Any", None), allowances, lambda: float(next(clock)))
        )
        self.now = NOON - TICK

    def look(self, *stable: int | None, high: int = 100) -> tuple[BlockedOffsetsPartition, ...]:
        """Look once for each place of the last stable offset; give what is held back at the end."""
        for each in stable:
            self.now += TICK
            ends = EndsIndex(ends_of([(NAME, 0, high, each, 0, None), (NAME, 1, high, high, 0, None)]))
            found = self.gaps.update(ends, self.now)
            assert tuple(found.values()) == self.gaps.blocked
        return self.gaps.blocked


@pytest.mark.parametrize(
    ("stable", "held"),
    [
        pytest.param([100, 100, 100], False, id="no gap"),
        pytest.param([50], False, id="it may be a transaction like any other"),
        pytest.param([50, 50], True, id="it stands where it stood"),
        pytest.param([50, 60, 70], False, id="one transaction after the other"),
        pytest.param([50, 50, 100], False, id="it has ended"),
        pytest.param([50, None, 50], True, id="the ends were not known for a tick"),
        pytest.param([50, 50, None], True, id="they are not known now: nothing has changed"),
    ],
)
def test_what_is_a_gap(leader: Leader, stable: list[int | None], *, held: bool) -> None:
    """A last stable offset that stands still below the end for longer than the grace."""
    assert [each.offsets_partition for each in Ticks().look(*stable)] == [0] * held
    assert all(topic == NAME and partitions == [0] for topic, partitions in leader.asked)


def test_the_culprit_is_named(leader: Leader) -> None:
    """With its transactional id, and since when: its start, if that was before the gap was seen."""
    before, after = (dt.datetime.fromtimestamp(NOON / 1000 + s, dt.UTC).replace(tzinfo=None) for s in (-3600, 3600))
    assert leader.row is not None
    leader.row |= {"start_time": before, "last_write_time": after, "hanging": False}
    assert Ticks().look(50, 50) == (BlockedOffsetsPartition(0, NOON - 3_600_000, 7, "tx", hanging=False),)
    leader.row |= {"hanging": True}
    assert Ticks().look(50, 50) == (BlockedOffsetsPartition(0, NOON, 7, "tx", hanging=True),)


@pytest.mark.parametrize("away", [True, False], ids=["nobody answers", "the partition's leader does not"])
def test_a_culprit_that_cannot_be_named(leader: Leader, *, away: bool) -> None:
    """The gap is told all the same."""
    leader.away, leader.row = away, None
    assert Ticks().look(50, 50) == (BlockedOffsetsPartition(0, NOON),)


def test_it_is_said_once_when_it_begins_and_once_when_it_ends(leader: Leader) -> None:
    """With what a person needs to end it."""
    ticks = Ticks()
    with structlog.testing.capture_logs() as lines:
        ticks.look(50, 50, 50, 50, 100, 100)
    assert [(line["log_level"], line["offsets_partition"]) for line in lines] == [("warning", 0), ("info", 0)]
    assert (lines[0]["producer_id"], lines[0]["transactional_id"]) == (7, "tx")
    assert lines[1]["seconds"] == 40
    assert len(leader.asked) == 1, "not asked again every tick"
