"""Tests of the transaction log: open transactions, producers, and scans over several ticks."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from decoders.log.batch import LogRecord
from stream.cluster.open_transactions import OngoingTransactionsByProducer, TransactionLogScan
from tests.support.transactions import COMPLETE_COMMIT, ONGOING, PREPARE_ABORT, Log, record


def read(
    monkeypatch: pytest.MonkeyPatch, records: Sequence[LogRecord], *producers: int
) -> OngoingTransactionsByProducer:
    Log(monkeypatch, records)
    found = TransactionLogScan(cast("Any", None), producers).resume(lambda: 0.0, 1.0)
    assert found is not None
    return found


def test_the_newest_record_decides_if_a_transaction_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last record of a transactional id determines its state; a state of a newer version is not open."""
    statuses: dict[str, list[int | None]] = {
        "begun": [ONGOING],
        "markers not yet written": [ONGOING, PREPARE_ABORT],
        "ended": [ONGOING, COMPLETE_COMMIT],
        "begun again": [ONGOING, COMPLETE_COMMIT, ONGOING],
        "transactional id expired": [ONGOING, None],
        "a state of a newer version": [42],
    }
    found = read(monkeypatch, [record(name, status=status) for name, each in statuses.items() for status in each])
    open_ids = {each.transactional_id for each in found.on("t", 0)}
    assert open_ids == {"begun", "markers not yet written", "begun again"}


def test_a_producer_is_identified_by_any_of_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer is found even if its transactional id has a newer producer or has expired."""
    moved, gone = (
        (record("moved", 7), record("moved", 8, COMPLETE_COMMIT)),
        (record("gone", 9), record("gone", status=None)),
    )
    found = read(monkeypatch, [*moved, *gone], 7, 9, 10)
    assert {producer: each.transactional_id for producer, each in found.producers.items()} == {7: "moved", 9: "gone"}
    assert found.asked == {7, 9, 10}


def test_a_long_log_is_scanned_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call does at least one fetch; records are not read twice."""
    log = Log(monkeypatch, [record(f"id-{number}") for number in range(3)])
    reading = TransactionLogScan(cast("Any", None), ())
    assert [reading.resume(lambda: 2.0, 1.0) is None for _ in range(3)] == [True, True, False]
    assert (log.begun, log.fetched) == (1, 3)


def test_undecodable_records_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undecodable records raise no exception."""
    spoiled = [LogRecord(0, 0, None, b""), LogRecord(0, 0, b"\0\7", b"x"), LogRecord(0, 0, b"\0\0\0\1x", b"\0\0\1")]
    found = read(monkeypatch, [*spoiled, record("id")])
    assert (found.undecoded, list(found.open)) == (3, ["id"])
