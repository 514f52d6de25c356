"""Who holds places back by the log of the transactions: what it adds to the answers, and how often it is read."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
import structlog

from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.cluster.transport.errors import NotAuthorised, Unreachable
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
from stream.tick.lookups.transaction_log import TransactionLogLookup
from tests.support.transactions import COMPLETE_COMMIT, Log, record

if TYPE_CHECKING:
    from collections.abc import Collection

    from decoders.log.batch import LogRecord
    from stream.cluster.transport.errors import ClusterError

NOON = 1_700_000_000_000
TICK = 10_000
HOUR = 3_600_000
PLACE = ("t", 0)
STRANGER = {"start_offset": 4, "producer_id": 7, "producer_epoch": 3, "error": "not_found"}
NAMED = {"start_offset": 4, "producer_id": 7, "transactional_id": "told", "hanging": False}
REFUSED = {"error": "not_authorized"}


class Ticks:
    """Asks for one place, whose leader says what is set, tick after tick."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *records: LogRecord, **allowances: float) -> None:
        self.log = Log(monkeypatch, records)
        self.answer: dict[str, Any] = STRANGER
        self.time = 0.0
        self.now = NOON
        bounds = LookupLimits(**allowances)  # type: ignore[arg-type]
        nobody = cast("Any", None)
        of_log = TransactionLogLookup(nobody, bounds, self._clock)
        self._culprits = OpenTransactionLookup(nobody, bounds, lambda: self.time, of_log)
        monkeypatch.setattr(lookup, "read_open_transactions", self._leader)

    def _clock(self) -> float:
        self.time += 1.0
        return self.time

    def _leader(self, _: object, topic: str, partitions: Collection[int]) -> pa.Table:
        assert topic == PLACE[0]
        return pa.Table.from_pylist([{"partition": each, **self.answer} for each in partitions], OPEN_TRANSACTIONS)

    def look(self, times: int = 1) -> dict[str, Any]:
        """Look so many times; give what is known of the place at the end."""
        for _ in range(times):
            tables = self._culprits.update({PLACE: 4}, self.now)
            self.now += TICK
        (row,) = tables["t"].to_pylist()
        return cast("dict[str, Any]", row)


def test_what_is_told_by_leader_and_coordinator_needs_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not even begun."""
    ticks = Ticks(monkeypatch, record("other"))
    ticks.answer = NAMED
    assert ticks.look(3)["transactional_id"] == "told"
    assert ticks.log.begun == 0


def test_a_producer_that_no_coordinator_names_is_named_by_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that a person needs, once, and without reading again."""
    ticks = Ticks(monkeypatch, record("secret", 7, began=NOON - HOUR, updated=NOON - HOUR))
    row = ticks.look(5)
    assert (row["transactional_id"], row["state"], row["timeout_ms"]) == ("secret", "Ongoing", 60_000)
    assert row["start_time"] == dt.datetime(2023, 11, 14, 21, 13, 20)  # noqa: DTZ001 -- as the table gives it
    assert (row["start_offset"], row["hanging"], row["error"]) == (4, False, None)
    assert ticks.log.begun == 1


@pytest.mark.parametrize(
    ("records", "name", "hanging"),
    [
        pytest.param([], None, True, id="the log does not know the producer"),
        pytest.param([record("id", 7, COMPLETE_COMMIT, updated=NOON - HOUR)], "id", True, id="ended long ago"),
        pytest.param([record("id", 7, COMPLETE_COMMIT, updated=NOON)], "id", None, id="ended only now"),
        pytest.param([record("id", 7, places=(("t", (1,)),))], "id", True, id="it does not count the place"),
        pytest.param([record("id", 7), record("id", 8)], "id", True, id="the id has gone on to another producer"),
        pytest.param([record("id", 7)], "id", False, id="its coordinator is going to end it"),
    ],
)
def test_whether_it_hangs(
    monkeypatch: pytest.MonkeyPatch, records: list[LogRecord], name: str | None, *, hanging: bool | None
) -> None:
    """It does when no transaction in the log is going to end it."""
    row = Ticks(monkeypatch, *records).look()
    assert (row["transactional_id"], row["hanging"]) == (name, hanging)


@pytest.mark.parametrize(
    ("records", "producer"),
    [
        pytest.param([record("young", 2, began=NOON - TICK), record("old", 1, began=NOON - HOUR)], 1, id="the oldest"),
        pytest.param([record("later", 2, began=NOON + HOUR)], None, id="one that began later does not hold it"),
        pytest.param([record("elsewhere", 2, places=(("t", (1,)),))], None, id="nobody"),
    ],
)
def test_a_topic_that_may_not_be_read(
    monkeypatch: pytest.MonkeyPatch, records: list[LogRecord], producer: int | None
) -> None:
    """Its leader does not tell, but the log which open transaction writes to it; that begins where the place stands."""
    ticks = Ticks(monkeypatch, *records)
    ticks.answer = REFUSED
    row = ticks.look()
    assert row["producer_id"] == producer
    assert (row["start_offset"], row["error"]) == ((None, "not_authorized") if producer is None else (4, None))


def test_a_long_log_is_read_over_several_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it has been read, what the leader said stands."""
    ticks = Ticks(monkeypatch, *(record(f"id-{number}", number) for number in range(5, 9)), request_seconds=0.5)
    assert [ticks.look()["transactional_id"] for _ in range(4)] == [None, None, None, "id-7"]
    assert ticks.log.begun == 1


def test_when_the_leader_is_asked_again_so_is_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of both are as old."""
    ticks = Ticks(monkeypatch, record("id", 7))
    assert ticks.look()["hanging"] is False
    ticks.log.records.append(record("id", 8))
    assert [ticks.look()["hanging"] for _ in range(6)] == [False] * 5 + [True]
    assert ticks.log.begun == 2


@pytest.mark.parametrize(
    ("fault", "begun"),
    [
        pytest.param(NotAuthorised("no right to Read the topic", "grant it"), 1, id="a right is missing"),
        pytest.param(Unreachable("nobody answers", "wait"), 3, id="away for now"),
    ],
)
def test_a_log_that_cannot_be_read_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch, fault: ClusterError, begun: int
) -> None:
    """Each time there is one line with the reason; what the leader said stands."""
    ticks = Ticks(monkeypatch)
    ticks.log.fault = fault
    with structlog.testing.capture_logs() as lines:
        row = ticks.look(13)
    assert (row["producer_id"], row["transactional_id"], row["hanging"]) == (7, None, None)
    assert ticks.log.begun == begun
    assert [line["reason"] for line in lines] == [fault.what] * begun
