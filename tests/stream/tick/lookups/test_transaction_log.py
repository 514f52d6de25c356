"""The lookup in the transaction log: what it adds to the answers, and how often the log is read."""

import datetime as dt
from collections.abc import Collection
from typing import Any, cast

import pyarrow as pa
import pytest
import structlog

from decoders.log.batch import LogRecord
from stream.cluster.open_transactions import OPEN_TRANSACTIONS
from stream.cluster.transport.errors import ClusterError, NotAuthorised, Unreachable
from stream.tick.lookups import open_transactions as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup, TransactionLogLookup
from tests.stream.health.tables import wrong
from tests.support.scripted_cluster import no_cluster
from tests.support.transactions import COMPLETE_COMMIT, Log, record

NOON = 1_700_000_000_000
TICK = 10_000
HOUR = 3_600_000
PLACE = ("t", 0)
UNNAMED = {"start_offset": 4, "producer_id": 7, "producer_epoch": 3, "error": "not_found"}
REFUSED = {"error": "not_authorized"}


class Ticks:
    """Looks up one partition, whose leader answers `answer`, tick after tick."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *records: LogRecord, **limits: float) -> None:
        self.log = Log(monkeypatch, records)
        self.answer: dict[str, Any] = UNNAMED
        self.time = 0.0
        self.now = NOON
        lookup_limits, cluster = LookupLimits(**limits), no_cluster()  # type: ignore[arg-type]
        log_lookup = TransactionLogLookup(cluster, lookup_limits, self._clock)
        self._transactions = OpenTransactionLookup(cluster, lookup_limits, lambda: self.time, log_lookup)
        monkeypatch.setattr(lookup, "read_open_transactions", self._leader)

    def _clock(self) -> float:
        self.time += 1.0
        return self.time

    def _leader(self, _: object, topic: str, partitions: Collection[int]) -> pa.Table:
        assert topic == PLACE[0]
        return pa.Table.from_pylist([{"partition": each, **self.answer} for each in partitions], OPEN_TRANSACTIONS)

    def tick(self, times: int = 1) -> dict[str, Any]:
        """Update `times` times; return the row of the partition after the last one."""
        for _ in range(times):
            tables = self._transactions.update({PLACE: 4}, self.now)
            self.now += TICK
        (row,) = tables["t"].to_pylist()
        return cast("dict[str, Any]", row)


def test_a_producer_without_a_coordinator_answer_is_found_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is completed with all columns of a coordinator, by one scan."""
    ticks = Ticks(monkeypatch, record("secret", 7, began=NOON - HOUR, updated=NOON - HOUR))
    row = ticks.tick(5)
    assert (row["transactional_id"], row["state"], row["timeout_ms"]) == ("secret", "Ongoing", 60_000)
    assert row["start_time"] == dt.datetime(2023, 11, 14, 21, 13, 20)  # noqa: DTZ001 -- as the table has it
    assert (row["start_offset"], row["hanging"], row["error"]) == (4, False, None)
    assert ticks.log.begun == 1


HANGING: dict[str, tuple[Any, ...]] = {
    # Records of the log, and the expected transactional id and whether it hangs.
    "producer not in the log": ([], (None, True)),
    "ended long ago": ([record("id", 7, COMPLETE_COMMIT, updated=NOON - HOUR)], ("id", True)),
    "ended just now": ([record("id", 7, COMPLETE_COMMIT, updated=NOON)], ("id", None)),
    "it does not include the partition": ([record("id", 7, places=(("t", (1,)),))], ("id", True)),
    "the transactional id has another producer now": ([record("id", 7), record("id", 8)], ("id", True)),
    "the coordinator will end it": ([record("id", 7)], ("id", False)),
}
OLDEST: dict[str, tuple[Any, ...]] = {
    # Records of the log, and the expected producer.
    "oldest of two": ([record("young", 2, began=NOON - TICK), record("old", 1, began=NOON - HOUR)], 1),
    "transaction that started later": ([record("later", 2, began=NOON + HOUR)], None),
    "no transaction in this partition": ([record("elsewhere", 2, places=(("t", (1,)),))], None),
}


def test_a_transaction_hangs_if_no_coordinator_will_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction hangs if the log has no open transaction of its producer that includes the partition."""

    def hangs(records: list[LogRecord]) -> tuple[str | None, bool | None]:
        row = Ticks(monkeypatch, *records).tick()
        return row["transactional_id"], row["hanging"]

    assert wrong(HANGING, hangs) == []


def test_a_topic_without_read_permission_is_completed_from_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest open transaction of the partition in the log starts at the last stable offset."""
    for records, producer in OLDEST.values():
        ticks = Ticks(monkeypatch, *records)
        ticks.answer = REFUSED
        row = ticks.tick()
        assert row["producer_id"] == producer
        assert (row["start_offset"], row["error"]) == ((None, "not_authorized") if producer is None else (4, None))


def test_a_long_log_is_read_over_several_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the scan is complete, the leader's answer stays."""
    ticks = Ticks(monkeypatch, *(record(f"id-{number}", number) for number in range(5, 9)), request_seconds=0.5)
    assert [ticks.tick()["transactional_id"] for _ in range(4)] == [None, None, None, "id-7"]
    assert ticks.log.begun == 1


@pytest.mark.parametrize(
    ("fault", "begun"),
    [
        pytest.param(NotAuthorised("no right to Read the topic", "grant it"), 1, id="permission missing"),
        pytest.param(Unreachable("no broker answers", "wait"), 3, id="unreachable"),
    ],
)
def test_a_failed_scan_is_retried_later(monkeypatch: pytest.MonkeyPatch, fault: ClusterError, begun: int) -> None:
    """Each failure logs one line with the reason; the leader's answer stays."""
    ticks = Ticks(monkeypatch)
    ticks.log.fault = fault
    with structlog.testing.capture_logs() as lines:
        row = ticks.tick(13)
    assert (row["producer_id"], row["transactional_id"], row["hanging"]) == (7, None, None)
    assert ticks.log.begun == begun
    assert [line["reason"] for line in lines] == [fault.what] * begun
