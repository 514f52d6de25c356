"""Who holds places back: asked where it matters first, a few at a time, and again only after a while."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup, blocked_partitions, still_blocked
from tests.stream.health.panes import SECOND, Row, pane
from tests.support.fleets import ends_of

if TYPE_CHECKING:
    from collections.abc import Collection

NOON = 1_700_000_000_000
TICK = 10_000


class Leaders:
    """Name a producer whose number is that of the partition, and take their time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self.time = 0.0
        self.takes = 0.0
        monkeypatch.setattr(lookup, "read_open_transactions", self._read)

    def _read(self, _: object, topic: str, partitions: Collection[int]) -> pa.Table:
        self.time += self.takes
        self.asked.append((topic, tuple(partitions)))
        rows = [{"partition": partition, "start_offset": 1, "producer_id": partition} for partition in partitions]
        return pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)

    def culprits(self, **bounds: Any) -> OpenTransactionLookup:
        """Give one that asks these."""
        return OpenTransactionLookup(cast("Any", None), LookupLimits(**bounds), lambda: self.time)


@pytest.fixture
def leaders(monkeypatch: pytest.MonkeyPatch) -> Leaders:
    """Give leaders that answer at once."""
    return Leaders(monkeypatch)


def producers(tables: dict[str, pa.Table]) -> dict[str, list[int]]:
    """Give the producers that are named, by topic."""
    return {topic: table.column("producer_id").to_pylist() for topic, table in tables.items()}


def test_what_was_told_stands_while_nothing_moves(leaders: Leaders) -> None:
    """It is asked again after a minute, at once when the last stable offset has moved, and forgotten when it may go."""
    culprits = leaders.culprits()
    for tick in range(5):
        assert producers(culprits.update({("t", 1): 50, ("t", 2): 60}, NOON + tick * TICK)) == {"t": [1, 2]}
    assert leaders.asked == [("t", (1, 2))]
    culprits.update({("t", 1): 50, ("t", 2): 61}, NOON + 50_000)
    culprits.update({("t", 1): 50, ("t", 2): 61}, NOON + 60_000)
    assert leaders.asked[1:] == [("t", (2,)), ("t", (1,))]
    assert culprits.update({}, NOON + 70_000) == {}


def test_so_many_topics_and_partitions_at_a_tick(leaders: Leaders) -> None:
    """The most urgent come first, and each comes in its turn."""
    culprits = leaders.culprits(transaction_topics=2, transaction_partitions=3)
    held = {("b", 1): 5, ("a", 1): 5, ("c", 1): 5, ("b", 2): 5}
    culprits.update(held, NOON)
    assert leaders.asked == [("b", (1,)), ("a", (1,))]
    culprits.update(held, NOON + TICK)
    assert leaders.asked[2:] == [("c", (1,)), ("b", (2,))]


def test_time_is_bounded(leaders: Leaders) -> None:
    """Slow leaders make it fewer topics, but always one."""
    leaders.takes = 5.0
    culprits = leaders.culprits()
    for tick in range(3):
        culprits.update({("a", 1): 5, ("b", 1): 5, ("c", 1): 5}, NOON + tick * TICK)
    assert leaders.asked == [("a", (1,)), ("b", (1,)), ("c", (1,))]


def test_places_worth_asking_about() -> None:
    """Held back for long enough; first where a group has read all it may, then by how long it lasts."""
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


def test_a_place_of_many_groups_is_one() -> None:
    """Nobody is asked twice for it."""
    rows = [Row(group=name, stable=10_000, held_for=20 * SECOND, stable_lag=0) for name in "ab"]
    window = pane(*rows)
    window = dataclasses.replace(window, inputs=dataclasses.replace(window.inputs, partition=np.zeros(2, np.int32)))
    assert blocked_partitions(window, 8_000) == {("orders", 0): 10_000}


def test_places_that_are_free_by_now_are_not_asked_about() -> None:
    """The ends are younger than what was noted of them."""
    ends = [("a", 0, 9, 5, 0, None), ("b", 0, 9, 6, 0, None), ("c", 0, 5, 5, 0, None), ("d", 0, None, None, None, "x")]
    noted = {(topic, 0): 5 for topic in "abcde"}
    assert still_blocked(noted, EndsIndex(ends_of(ends))) == {("a", 0): 5}
