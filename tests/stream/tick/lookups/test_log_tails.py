"""Which tails are read when: once, while nothing moves, and never so often that a broker would notice."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from stream.cluster.log_tails import TailRead, TailRequest
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import Unreachable
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups import log_tails as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.log_tails import LogTailLookup
from tests.stream.health.panes import Row, pane
from tests.support.fleets import ends_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.health.features.window import Window

TOPICS = ["orders", "payments"]


class Brokers:
    """Answers reads of tails: markers behind an offset, or a reason; keeps what was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[TailRequest] = []
        self.data_end: int | None = 10_001
        self.reason: ErrorReason | None = None
        self.away = False
        self.transactions = True
        monkeypatch.setattr(lookup, "read_tails", self._read)
        monkeypatch.setattr(lookup, "has_transactions", lambda _: self.transactions)

    def _read(self, _: object, wanted: Sequence[TailRequest], **__: Any) -> list[TailRead]:
        if self.away:
            raise Unreachable("away", "")
        self.asked += wanted
        return [TailRead(each, self.data_end, self.reason) for each in wanted]


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Give brokers that find markers only."""
    return Brokers(monkeypatch)


def watch(allowances: LookupLimits | None = None) -> LogTailLookup:
    """Give a watch of its own."""
    ticks = itertools.count()
    return LogTailLookup(cast("Any", None), allowances or LookupLimits(), lambda: float(next(ticks)))


def window(*rows: Row) -> Window:
    """Give a window in which every tail is worth reading."""
    made = pane(*rows)
    return dataclasses.replace(made, tail=dataclasses.replace(made.tail, wanted=np.ones(len(rows), np.bool_)))


def ends(**high: int) -> EndsIndex:
    """Give ends: of partition 0 of each topic."""
    return EndsIndex(ends_of([(topic, 0, end, end, 0, None) for topic, end in high.items()]))


ROW = Row(committed=10_000, end=10_003, lag=3)


def rows_of(tails: Any) -> list[tuple[int, ...]]:
    """Give tails as tuples of place, data_from, data_end and end."""
    columns = (tails.place, tails.data_from, tails.data_end, tails.end)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_tail_is_read_once_for_as_long_as_it_stands(brokers: Brokers) -> None:
    """What was found stays known without another question, and is forgotten when the end moves."""
    tails = watch()
    assert rows_of(tails.update(TOPICS, ends(orders=10_003))) == []
    tails.schedule(window(ROW))
    for _ in range(3):
        assert rows_of(tails.update(TOPICS, ends(orders=10_003))) == [(0, 10_000, 10_001, 10_003)]
    assert brokers.asked == [TailRequest("orders", 0, 10_000, 10_003)]
    assert rows_of(tails.update(TOPICS, ends(orders=10_004))) == []


def test_an_end_that_is_not_known_forgets_nothing(brokers: Brokers) -> None:
    """A leader that is away for a tick costs no second reading."""
    tails = watch()
    tails.schedule(window(ROW))
    tails.update(TOPICS, ends(orders=10_003))
    tails.update(TOPICS, EndsIndex(ends_of([("orders", 0, None, None, None, "no_leader")])))
    tails.update(TOPICS, EndsIndex(ends_of([("orders", -1, None, None, None, "unknown_topic")])))
    assert len(rows_of(tails.update(TOPICS, ends(orders=10_003)))) == 1
    assert len(brokers.asked) == 1


def test_a_tail_that_moved_since_it_was_noted_is_not_read(brokers: Brokers) -> None:
    """It is none of those that stand still."""
    tails = watch()
    tails.schedule(window(ROW))
    assert rows_of(tails.update(TOPICS, ends(orders=10_009))) == []
    assert brokers.asked == []


def test_one_reading_for_all_groups_before_a_tail(brokers: Brokers) -> None:
    """The one that is furthest from the end counts; one further still has it read again."""
    tails = watch()
    tails.schedule(window(ROW, Row(group="other", committed=9_998, end=10_003, lag=5)))
    tails.update(TOPICS, ends(orders=10_003))
    assert brokers.asked == [TailRequest("orders", 0, 9_998, 10_003)]
    tails.schedule(window(Row(group="third", committed=9_000, end=10_003, lag=1_003)))
    assert rows_of(tails.update(TOPICS, ends(orders=10_003))) == [(0, 9_000, 10_001, 10_003)]


def test_places_are_numbered_by_the_topics_given(brokers: Brokers) -> None:
    """Topics come and go between ticks; the tails of one that is not among them are left out."""
    tails = watch()
    tails.schedule(window(ROW, Row(topic="payments", committed=10_000, end=10_003, lag=3)))
    at_rest = ends(orders=10_003, payments=10_003)
    assert [row[0] for row in rows_of(tails.update(TOPICS, at_rest))] == [0, 1 << 32]
    assert [row[0] for row in rows_of(tails.update(["a", "orders", "payments"], at_rest))] == [1 << 32, 2 << 32]
    assert [row[0] for row in rows_of(tails.update(["payments"], at_rest))] == [0]
    assert len(brokers.asked) == 2


def test_the_shortest_first_and_so_many_at_a_tick(brokers: Brokers) -> None:
    """Those that are left are noted again by whoever still wants them."""
    tails = watch(LookupLimits(tails=1))
    tails.schedule(window(Row(committed=9_000, end=10_003, lag=1_003), Row(topic="payments", end=10_003, lag=1)))
    tails.update(TOPICS, ends(orders=10_003, payments=10_003))
    assert [each.topic for each in brokers.asked] == ["payments"]


UNREADABLE = pytest.mark.parametrize(
    ("reason", "attempts", "word"),
    [
        pytest.param(ErrorReason.NOT_AUTHORIZED, 1, "not_authorized", id="denied: that will not be otherwise"),
        pytest.param(ErrorReason.UNSUPPORTED, 1, "unsupported", id="the broker is too old"),
        pytest.param(ErrorReason.TIMED_OUT, 3, "timed_out", id="it may go better the next time, but not for ever"),
        pytest.param(ErrorReason.NO_LEADER, 3, "no_leader", id="the leader is away"),
        pytest.param(None, 3, "timed_out", id="not read to its end in time"),
    ],
)


@UNREADABLE
def test_a_tail_that_cannot_be_read_is_told_with_its_reason(
    brokers: Brokers, reason: ErrorReason | None, attempts: int, word: str
) -> None:
    """Nothing is claimed of what it holds."""
    brokers.data_end, brokers.reason = None, reason
    tails = watch()
    for attempt in range(1, attempts + 2):
        tails.schedule(window(ROW))
        found = tails.update(TOPICS, ends(orders=10_003))
        assert rows_of(found) == []
        told = list(zip(found.unreadable.tolist(), found.reasons.tolist(), strict=True))
        assert told == ([(0, word)] if attempt >= attempts else [])
    assert len(brokers.asked) == attempts
    assert tails.update(["another", *TOPICS], ends(orders=10_003)).unreadable.tolist() == [1 << 32]


@UNREADABLE
def test_without_any_transaction_a_tail_that_cannot_be_read_holds_records(
    brokers: Brokers, reason: ErrorReason | None, attempts: int, word: str
) -> None:
    """Markers are written by transactions alone."""
    brokers.data_end, brokers.reason, brokers.transactions = None, reason, False
    tails = watch()
    found = []
    for _ in range(attempts):
        tails.schedule(window(ROW))
        found.append(tails.update(TOPICS, ends(orders=10_003)))
    assert [rows_of(each) for each in found] == [[]] * (attempts - 1) + [[(0, 10_000, 10_003, 10_003)]]
    assert word not in found[-1].reasons


def kept(made: Window) -> Window:
    """Return the window with every row judged by what is known of its tail."""
    return dataclasses.replace(made, tail=dataclasses.replace(made.tail, in_use=np.ones(len(made), np.bool_)))


def test_a_tail_that_cannot_be_read_is_tried_again_later(brokers: Brokers) -> None:
    """A right may be granted while the monitor runs; until then the reason stays, and the brokers are spared."""
    brokers.data_end, brokers.reason = None, ErrorReason.NOT_AUTHORIZED
    clock = [0.0]
    tails = LogTailLookup(cast("Any", None), LookupLimits(slow_refresh=600), lambda: clock[0])
    unreadable = []
    for clock[0] in (10, 20, 300, 600, 620):
        tails.schedule(kept(window(ROW)))
        unreadable.append(len(tails.update(TOPICS, ends(orders=10_003)).unreadable))
    assert (unreadable, len(brokers.asked)) == ([1] * 5, 2)
    brokers.data_end, brokers.reason = 10_000, None
    clock[0] = 1_230
    tails.schedule(kept(window(ROW)))
    found = tails.update(TOPICS, ends(orders=10_003))
    assert (rows_of(found), len(found.unreadable)) == ([(0, 10_000, 10_000, 10_003)], 0)


def test_the_reason_does_not_go_when_the_partition_grows(brokers: Brokers) -> None:
    """Else a group without the right would look stuck at the tick at which a record comes."""
    brokers.data_end, brokers.reason = None, ErrorReason.NOT_AUTHORIZED
    tails = watch()
    tails.schedule(window(ROW))
    assert len(tails.update(TOPICS, ends(orders=10_003)).unreadable) == 1
    assert len(tails.update(TOPICS, ends(orders=10_008)).unreadable) == 1


def test_an_unreadable_tail_that_nobody_waits_before_is_let_go(brokers: Brokers) -> None:
    """The groups have read on, and nothing will ask for it again."""
    brokers.data_end, brokers.reason = None, ErrorReason.NOT_AUTHORIZED
    clock = [0.0]
    tails = LogTailLookup(cast("Any", None), LookupLimits(slow_refresh=600), lambda: clock[0])
    tails.schedule(window(ROW))
    assert len(tails.update(TOPICS, ends(orders=10_003)).unreadable) == 1
    tails.schedule(pane(ROW))
    clock[0] = 601
    assert len(tails.update(TOPICS, ends(orders=10_003)).unreadable) == 0


def test_a_tail_of_markers_is_remembered_while_a_group_stands_before_it(brokers: Brokers) -> None:
    """What has come behind the markers is what the group has not read; they do not make it older."""
    brokers.data_end = 10_000
    tails = watch()
    tails.schedule(window(ROW))
    tails.update(TOPICS, ends(orders=10_003))
    tails.schedule(kept(pane(ROW)))
    assert rows_of(tails.update(TOPICS, ends(orders=10_009))) == [(0, 10_000, 10_000, 10_003)]
    tails.schedule(pane(ROW))
    assert rows_of(tails.update(TOPICS, ends(orders=10_009))) == []


def test_a_tail_above_the_end_is_forgotten_at_once(brokers: Brokers) -> None:
    """The log was cut, and other records may stand there now."""
    brokers.data_end = 10_000
    tails = watch()
    tails.schedule(window(ROW))
    tails.update(TOPICS, ends(orders=10_003))
    tails.schedule(kept(pane(ROW)))
    assert rows_of(tails.update(TOPICS, ends(orders=10_002))) == []


def test_while_nobody_answers_no_tail_is_to_blame(brokers: Brokers) -> None:
    """However often it is tried."""
    brokers.away = True
    tails = watch()
    for _ in range(5):
        tails.schedule(window(ROW))
        assert rows_of(tails.update(TOPICS, ends(orders=10_003))) == []
    brokers.away = False
    tails.schedule(window(ROW))
    assert rows_of(tails.update(TOPICS, ends(orders=10_003))) == [(0, 10_000, 10_001, 10_003)]


def test_names_of_topics_that_came_and_went_are_let_go(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that makes topics for minutes only must not fill the memory over years."""
    monkeypatch.setattr(lookup, "_SPARE_NAMES", 5)
    tails = watch()
    for number in range(40):
        name = f"t{number}"
        tails.schedule(window(Row(topic=name, committed=10_000, end=10_003, lag=3)))
        assert rows_of(tails.update([name], ends(**{name: 10_003}))) == [(0, 10_000, 10_001, 10_003)]
    assert len(tails._names) < 10
    assert len(brokers.asked) == 40
