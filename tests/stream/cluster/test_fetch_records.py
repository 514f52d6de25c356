"""Tests of fetching records: committed records are returned once, and errors are retried or raised."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.kafka import log_writer as write
from stream.cluster import fetch_records as records
from stream.cluster.fetch_records import OffsetRange, read_records, unread_ranges
from stream.cluster.transport.errors import NotAuthorised, Unreachable
from tests.support.driver_states import ends_of

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSACTIONAL = 0x10


@dataclasses.dataclass(frozen=True)
class Answer:
    """The leader's answer to one fetch."""

    raw: bytes = b""
    error: int = 0
    aborted: tuple[tuple[int, int], ...] = ()


class FakeCluster:
    """A cluster whose leader returns scripted answers; records the fetched positions."""

    def __init__(self, answers: list[Answer], leaders: list[int] | None = None) -> None:
        self.asked: list[int] = []
        self._answers = answers
        self._leaders = leaders or [1]

    def metadata(self, _: object) -> Any:
        """Return the next leader; the last one is kept."""
        leader = self._leaders.pop(0) if len(self._leaders) > 1 else self._leaders[0]
        return SimpleNamespace(
            topics=[SimpleNamespace(partitions=[SimpleNamespace(partition_index=0, leader_id=leader)])]
        )

    def call(self, request: Any, _: int) -> Any:
        """Return the next answer."""
        self.asked.append(request.topics[0].partitions[0].fetch_offset)
        answer = self._answers.pop(0)
        aborted = [SimpleNamespace(producer_id=producer, first_offset=first) for producer, first in answer.aborted]
        part = SimpleNamespace(error_code=answer.error, records=answer.raw, aborted_transactions=aborted)
        return SimpleNamespace(error_code=0, responses=[SimpleNamespace(partitions=[part])])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait between attempts."""
    monkeypatch.setattr(records, "_PAUSE_SECONDS", 0)


def _batch(at: int, count: int = 1, **options: int) -> bytes:
    return write.batch(at, [write.Rec(n, n, b"k", b"%d" % (at + n)) for n in range(count)], **options)


def _read(cluster: FakeCluster, start: int = 0, end: int = 10) -> list[int]:
    stretch = OffsetRange(0, start, end)
    found = [record.offset for fetched in read_records(cluster, "t", [stretch]) for record in fetched.records]  # type: ignore[arg-type]
    assert stretch.position == end
    return found


def _in_transaction(at: int, producer: int, count: int = 1) -> bytes:
    return _batch(at, count, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)


@pytest.mark.parametrize(
    ("answers", "offsets", "asked"),
    [
        pytest.param([Answer(_batch(0, 10))], [*range(10)], [0], id="one answer"),
        pytest.param([Answer(_batch(0, 4)), Answer(_batch(4, 6))], [*range(10)], [0, 4], id="two answers"),
        pytest.param(
            [Answer(_batch(0, 4) + _batch(4, 6)[:-1]), Answer(_batch(4, 6))],
            [*range(10)],
            [0, 4],
            id="a truncated batch",
        ),
        pytest.param([Answer(_batch(0, 20))], [*range(10)], [0], id="not beyond the end at the start"),
        pytest.param(
            [Answer(_batch(2) + _batch(7)), Answer()], [2, 7], [0, 8], id="gaps and a tail removed by compaction"
        ),
        pytest.param([Answer(error=6), Answer(_batch(0, 10))], [*range(10)], [0, 0], id="the leader has moved"),
        pytest.param(
            [
                Answer(_in_transaction(0, 7, 3) + _batch(3) + write.marker(4, 7, committed=False), aborted=((7, 0),)),
                Answer(),
            ],
            [3],
            [0, 5],
            id="an aborted transaction",
        ),
        pytest.param(
            [Answer(_in_transaction(0, 7, 3) + write.marker(3, 7, committed=True) + _batch(4)), Answer()],
            [0, 1, 2, 4],
            [0, 5],
            id="a committed transaction, without its marker",
        ),
        pytest.param(
            [
                Answer(
                    _in_transaction(0, 7)
                    + write.marker(1, 7, committed=False)
                    + _in_transaction(2, 7)
                    + write.marker(3, 7, committed=True),
                    aborted=((7, 0),),
                ),
                Answer(),
            ],
            [2],
            [0, 4],
            id="aborted, then committed by the same producer",
        ),
    ],
)
def test_committed_records_are_returned_once_in_order(
    answers: list[Answer], offsets: list[int], asked: list[int]
) -> None:
    """The next fetch begins after the last complete batch."""
    cluster = FakeCluster(answers)
    assert _read(cluster) == offsets
    assert cluster.asked == asked


def test_a_read_can_start_inside_a_batch() -> None:
    """Records before the position are not returned again."""
    assert _read(FakeCluster([Answer(_batch(0, 10))]), start=6) == [6, 7, 8, 9]


def test_deleted_records_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The read continues at the new log start offset."""
    monkeypatch.setattr(records, "read_ends", lambda *_: ends_of([("t", 0, 12, 12, 5, None)]))
    cluster = FakeCluster([Answer(error=1), Answer(_batch(5, 5))])
    assert _read(cluster) == [5, 6, 7, 8, 9]
    assert cluster.asked == [0, 5]


def test_a_truncated_log_ends_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that ends before the position has no further records."""
    monkeypatch.setattr(records, "read_ends", lambda *_: ends_of([("t", 0, 3, 3, 0, None)]))
    assert _read(FakeCluster([Answer(error=1)]), start=6) == []


@pytest.mark.parametrize(
    ("make", "error"),
    [
        pytest.param(lambda: FakeCluster([Answer(error=29)]), NotAuthorised, id="denied"),
        pytest.param(lambda: FakeCluster([Answer(error=56)] * 50), Unreachable, id="only errors"),
        pytest.param(lambda: FakeCluster([], leaders=[-1]), Unreachable, id="no leader"),
        pytest.param(lambda: FakeCluster([Answer(error=87)]), Unreachable, id="a permanent error"),
    ],
)
def test_a_permanent_error_is_raised(make: Callable[[], FakeCluster], error: type[Exception]) -> None:
    """The read ends with the cause instead of missing records."""
    with pytest.raises(error):
        _read(make())


def test_ranges_end_at_the_last_stable_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    """They begin at the log start offset or after the last read offset."""
    rows = [("t", 0, 20, 15, 3, None), ("t", 1, 9, 9, 0, None)]
    monkeypatch.setattr(records, "read_ends", lambda *_: ends_of(rows))
    assert unread_ranges(FakeCluster([]), "t", {1: 6}) == [OffsetRange(0, 3, 15), OffsetRange(1, 7, 9)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("word", "error"), [("not_authorized", NotAuthorised), ("no_leader", Unreachable)])
def test_a_partition_with_unknown_ends_is_refused(
    monkeypatch: pytest.MonkeyPatch, word: str, error: type[Exception]
) -> None:
    """The read would be incomplete without an error."""
    monkeypatch.setattr(records, "read_ends", lambda *_: ends_of([("t", 0, None, None, None, word)]))
    with pytest.raises(error):
        unread_ranges(FakeCluster([]), "t", {})  # type: ignore[arg-type]
