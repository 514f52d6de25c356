"""The lookup of log tails: which tails are read when, and how long the results stay valid."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stream.cluster.log_tails import TailRead, TailRequest
from stream.cluster.transport.errors import ErrorReason, Unreachable
from stream.health.features.window import Window
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups import log_tails as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.log_tails import KnownTails, LogTailLookup
from tests.stream.health.panes import Row, pane
from tests.support.driver_states import ends_of
from tests.support.scripted_cluster import no_cluster

TOPICS = ["orders", "payments"]


class Brokers:
    """Brokers that answer tail reads with a data end or an error, and record the requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: list[TailRequest] = []
        self.data_end: int | None = 10_001
        self.reason: ErrorReason | None = None
        self.away = False
        self.transactions = True
        monkeypatch.setattr(lookup, "read_tails", self._read)
        monkeypatch.setattr(lookup, "has_transactions", lambda _: self.transactions)

    def _read(self, _: object, wanted: Sequence[TailRequest], **__: Any) -> list[TailRead]:
        if self.away:
            raise Unreachable("away", "")
        self.requests += wanted
        return [TailRead(each, self.data_end, self.reason) for each in wanted]


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Return brokers that find one data record, then markers."""
    return Brokers(monkeypatch)


def new_lookup(limits: LookupLimits | None = None) -> LogTailLookup:
    ticks = itertools.count()
    return LogTailLookup(no_cluster(), limits or LookupLimits(), lambda: float(next(ticks)))


def window(*rows: Row) -> Window:
    """Return a window in which every tail is wanted."""
    made = pane(*rows)
    return dataclasses.replace(made, tail=dataclasses.replace(made.tail, wanted=np.ones(len(rows), np.bool_)))


def ends(**high: int) -> EndsIndex:
    """Return the end offsets of partition 0 of each topic."""
    return EndsIndex(ends_of([(topic, 0, end, end, 0, None) for topic, end in high.items()]))


ROW = Row(committed=10_000, end=10_003, lag=3)


def rows_of(known: KnownTails, topics: Sequence[str] = TOPICS) -> list[tuple[int, ...]]:
    """Return tails as tuples (place, data_from, data_end, end)."""
    tails = known.numbered(topics)
    columns = (tails.place, tails.data_from, tails.data_end, tails.end)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_tail_is_read_once_while_the_end_is_unchanged(brokers: Brokers) -> None:
    """The result is cached, and dropped when the end moves."""
    tails = new_lookup()
    assert rows_of(tails.update(ends(orders=10_003))) == []
    tails.schedule(window(ROW))
    for _ in range(3):
        assert rows_of(tails.update(ends(orders=10_003))) == [(0, 10_000, 10_001, 10_003)]
    assert brokers.requests == [TailRequest("orders", 0, 10_000, 10_003)]
    assert rows_of(tails.update(ends(orders=10_004))) == []


def test_an_unknown_end_keeps_the_result_and_a_moved_end_causes_no_read(brokers: Brokers) -> None:
    """A tail is not read again after two ticks without the end of its partition. Only tails at rest are read."""
    tails = new_lookup()
    tails.schedule(window(ROW))
    tails.update(ends(orders=10_003))
    tails.update(EndsIndex(ends_of([("orders", 0, None, None, None, "no_leader")])))
    tails.update(EndsIndex(ends_of([("orders", -1, None, None, None, "not_found")])))
    assert len(rows_of(tails.update(ends(orders=10_003)))) == 1
    moved = new_lookup()
    moved.schedule(window(ROW))
    assert rows_of(moved.update(ends(orders=10_009))) == []
    assert len(brokers.requests) == 1


def test_the_shortest_tails_are_read_first_up_to_the_limit(brokers: Brokers) -> None:
    """With a limit of one tail, the tail with the smaller lag is read, and at the next tick the other one."""
    tails = new_lookup(LookupLimits(tails=1))
    both = window(Row(committed=9_000, end=10_003, lag=1_003), Row(topic="payments", end=10_003, lag=1))
    tails.schedule(both)
    assert [row[0] for row in rows_of(tails.update(ends(orders=10_003, payments=10_003)))] == [1 << 32]
    tails.schedule(dataclasses.replace(both, tail=dataclasses.replace(both.tail, wanted=np.array([True, False]))))
    found = tails.update(ends(orders=10_003, payments=10_003))
    assert [row[0] for row in rows_of(found)] == [0, 1 << 32]
    assert [each.topic for each in brokers.requests] == ["payments", "orders"]


UNREADABLE: dict[tuple[ErrorReason | None, str], int] = {
    # The reason, the word for it, and the number of attempts.
    (ErrorReason.NOT_AUTHORIZED, "not_authorized"): 1,
    (ErrorReason.UNSUPPORTED, "unsupported"): 1,
    (ErrorReason.TIMED_OUT, "timed_out"): 3,
    (ErrorReason.NO_LEADER, "no_leader"): 3,
    (None, "timed_out"): 3,  # not read to its end in time
}


@pytest.mark.parametrize("transactions", [True, False])
def test_a_tail_that_cannot_be_read_has_a_reason(monkeypatch: pytest.MonkeyPatch, *, transactions: bool) -> None:
    """A tail has no result and a reason after its last attempt, and is not requested again.

    In a cluster without transactions an unreadable tail is data, because only transactions write control records.
    """
    for (reason, word), attempts in UNREADABLE.items():
        brokers, tails = Brokers(monkeypatch), new_lookup()
        brokers.data_end, brokers.reason, brokers.transactions = None, reason, transactions
        for attempt in range(1, attempts + 1 + transactions):
            tails.schedule(window(ROW))
            found = tails.update(ends(orders=10_003))
            is_last = attempt >= attempts
            assert rows_of(found) == ([(0, 10_000, 10_003, 10_003)] if is_last and not transactions else [])
            numbered = found.numbered(TOPICS)
            unreadable = list(zip(numbered.unreadable.tolist(), numbered.reasons.tolist(), strict=True))
            assert unreadable == ([(0, word)] if is_last and transactions else [])
        assert len(brokers.requests) == attempts
        moved = tails.update(ends(orders=10_003)).numbered(["another", *TOPICS])
        assert moved.unreadable.tolist() == ([1 << 32] if transactions else [])


def in_use(made: Window) -> Window:
    """Return the window with the tail of every row in use."""
    return dataclasses.replace(made, tail=dataclasses.replace(made.tail, in_use=np.ones(len(made), np.bool_)))


def test_a_tail_of_markers_stays_valid_while_it_is_in_use(brokers: Brokers) -> None:
    """Records after the markers are unread; the markers do not make them older.

    A tail above the end is dropped: the log was truncated and may have other records at these offsets now.
    """
    brokers.data_end = 10_000
    for later, is_valid in ((10_009, True), (10_002, False)):
        tails = new_lookup()
        tails.schedule(window(ROW))
        tails.update(ends(orders=10_003))
        tails.schedule(in_use(pane(ROW)))
        assert rows_of(tails.update(ends(orders=later))) == [(0, 10_000, 10_000, 10_003)] * is_valid
        tails.schedule(pane(ROW))
        assert rows_of(tails.update(ends(orders=later))) == []


def test_an_unreachable_cluster_makes_no_tail_unreadable(brokers: Brokers) -> None:
    """A tail can be read after any number of attempts on an unreachable cluster."""
    brokers.away = True
    tails = new_lookup()
    for _ in range(5):
        tails.schedule(window(ROW))
        assert rows_of(tails.update(ends(orders=10_003))) == []
    brokers.away = False
    tails.schedule(window(ROW))
    assert rows_of(tails.update(ends(orders=10_003))) == [(0, 10_000, 10_001, 10_003)]


def test_an_unreadable_tail_of_a_second_topic_waits_for_its_retry(brokers: Brokers) -> None:
    """A tail that cannot be read is not requested again at the next tick, whichever topic it belongs to."""
    tails, at_rest = new_lookup(), ends(orders=10_003, payments=10_003)
    tails.schedule(window(ROW))
    tails.update(at_rest)
    brokers.data_end, brokers.reason = None, ErrorReason.NOT_AUTHORIZED
    for _ in range(3):
        tails.schedule(window(dataclasses.replace(ROW, topic="payments")))
        tails.update(at_rest)
    assert [each.topic for each in brokers.requests] == ["orders", "payments"]


def test_names_of_deleted_topics_are_dropped(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of stored names is bounded, also with many short-lived topics."""
    monkeypatch.setattr(lookup, "_SPARE_NAMES", 5)
    tails = new_lookup()
    for number in range(40):
        name = f"t{number}"
        tails.schedule(window(Row(topic=name, committed=10_000, end=10_003, lag=3)))
        assert rows_of(tails.update(ends(**{name: 10_003})), [name]) == [(0, 10_000, 10_001, 10_003)]
    assert len(tails._names) < 10
    assert len(brokers.requests) == 40
