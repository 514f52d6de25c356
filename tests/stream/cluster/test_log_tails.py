"""Tests of tails: data is distinguished from markers and aborted records under all limits and errors."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sandbox.kafka import log_writer as write
from stream.cluster.log_tails import TailRead, TailRequest, read_tails
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

TRANSACTIONAL = 0x10
Piece = tuple[int, bytes]
"""The offset after a batch, and the batch."""


def plain(at: int, count: int = 1, size: int = 1) -> Piece:
    return at + count, write.batch(at, [write.Rec(n, n, b"k", b"v" * size) for n in range(count)])


def pending(at: int, producer: int, count: int = 1) -> Piece:
    records = [write.Rec(n, n, b"k", b"v") for n in range(count)]
    return at + count, write.batch(at, records, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)


def committed(at: int, producer: int = 7) -> Piece:
    return at + 1, write.marker(at, producer, committed=True)


def aborted(at: int, producer: int = 7) -> Piece:
    return at + 1, write.marker(at, producer, committed=False)


def compacted(at: int, kept: Sequence[int], count: int) -> Piece:
    """Write a batch in which compaction has left only some records."""
    return at + count, write.batch(at, [write.Rec(n, n, b"k", b"v") for n in kept], last_offset_delta=count - 1)


class Leader(ScriptedCluster):
    """One broker that leads all partitions of the topics, and fetches as brokers do.

    An answer has at least one batch of the first partition with records, whole batches up to the limits, and then a
    piece of the next batch.
    """

    def __init__(
        self, logs: dict[tuple[str, int], list[Piece]], errors: dict[tuple[str, int], Any] | None = None
    ) -> None:
        self.logs = logs
        self.errors = errors or {}
        self.refusal: Any = None
        super().__init__({"Metadata": self._metadata, "FetchRequest": self._fetch})

    def _metadata(self, _: int | None, names: Sequence[str]) -> Any:
        described = []
        for name in names:
            partitions = [
                says(partition_index=p, leader_id=-1 if self.errors.get((name, p)) == "none" else 1, leader_epoch=4)
                for topic, p in self.logs
                if topic == name
            ]
            described.append(says(name=name, error_code=0 if partitions else 3, partitions=partitions))
        return says(topics=described)

    def _fetch(self, node: int | None, request: Any) -> Any:
        if self.refusal is not None:
            return self.refusal
        assert (node, request.isolation_level, request.max_wait_ms) == (1, 0, 0)
        left, first, topics = request.max_bytes, True, []
        for topic in request.topics:
            parts = []
            for p in topic.partitions:
                assert p.current_leader_epoch == 4
                code = self.errors.get((topic.topic, p.partition), 0)
                raw = b"" if code else self._read(topic.topic, p, min(left, p.partition_max_bytes), whole=first)
                first, left = first and not raw, max(left - len(raw), 0)
                parts.append(says(partition_index=p.partition, error_code=code, records=raw))
            topics.append(says(topic=topic.topic, partitions=parts))
        return says(error_code=0, responses=topics)

    def _read(self, topic: str, p: Any, most: int, *, whole: bool) -> bytes:
        batches = [raw for after, raw in self.logs[topic, p.partition] if after > p.fetch_offset]
        if not batches:
            return b""
        most = max(most, len(batches[0])) if whole else most
        cut = b"".join(batches)[:most]
        return cut if len(cut) >= len(batches[0]) else b""


def read(leader: Leader, *wanted: TailRequest, **bounds: Any) -> list[TailRead]:
    return read_tails(leader, wanted, **bounds)  # type: ignore[arg-type]


# Per row: the log, where the tail begins, and where its data ends.
TAILS: dict[str, tuple[list[Piece], int, int]] = {
    "records only": ([plain(0, 3)], 0, 3),
    "only a commit marker": ([plain(0, 2), pending(2, 7), committed(3)], 3, 3),
    "a committed transaction": ([pending(0, 7, 2), committed(2)], 0, 2),
    "start inside a committed batch": ([pending(0, 7, 2), committed(2)], 1, 2),
    "an aborted transaction": ([plain(0), pending(1, 7, 2), aborted(3)], 1, 1),
    "record before an aborted transaction": ([plain(0), pending(1, 7, 2), aborted(3)], 0, 1),
    "open transaction": ([plain(0), pending(1, 7, 2)], 1, 3),
    "two concurrent, one aborted": ([pending(0, 7), pending(1, 8), committed(2, 7), aborted(3, 8)], 0, 1),
    "aborted, then committed": ([pending(0, 7), aborted(1), pending(2, 7), committed(3)], 0, 3),
    "markers of earlier transactions": ([aborted(4), committed(5)], 4, 4),
    "last records of a batch removed by compaction": ([compacted(0, [0, 1], 5)], 0, 2),
    "all requested records removed by compaction": ([compacted(0, [0, 1], 5)], 3, 3),
    "an empty batch before a record": ([compacted(0, [], 5), plain(5)], 0, 6),
    "no records up to the end": ([plain(0, 2)], 2, 2),
}


def test_data_ends_with_the_last_readable_record() -> None:
    """Data ends with the last record that a read_committed consumer receives or may receive.

    Records that were appended after the end was read are not part of the tail.
    """
    found = {}
    for name, (log, data_from, _) in TAILS.items():
        wanted = TailRequest("t", 0, data_from, max(log[-1][0], data_from + 1))
        (found[name],) = read(Leader({("t", 0): log}), wanted)
    assert {name: (tail.data_end, tail.reason) for name, tail in found.items()} == {
        name: (data_end, None) for name, (_, _, data_end) in TAILS.items()
    }
    (tail,) = read(Leader({("t", 0): [plain(0, 2), committed(2), plain(3)]}), TailRequest("t", 0, 2, 3))
    assert tail.data_end == 2


def test_the_times_of_the_first_records_of_a_tail() -> None:
    """A record that compaction has removed, and a marker, have none."""
    log = [plain(0, 4), committed(4), compacted(5, [1], 3)]
    wanted = [TailRequest("t", 0, start, start + 1, with_times=True) for start in (2, 4, 5, 7)]
    tails = [read(Leader({("t", 0): log}), each)[0] for each in wanted]
    assert [each.times.T.tolist() for each in tails] == [
        [[2, 1_002], [3, 1_003], [6, 1_001]],
        [[6, 1_001]],
        [[6, 1_001]],
        [],
    ]


@given(
    st.lists(st.sampled_from(["plain", "large", "aborted", "committed"]), min_size=1, max_size=8),
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
)
def test_limits_of_a_request_do_not_change_the_answers(kinds: list[str], starts: list[int]) -> None:
    """The data ends are correct for any mix of small and large batches, although answers have size limits."""
    log: list[Piece] = []
    at = 0
    for number, kind in enumerate(kinds):
        if kind in {"plain", "large"}:
            log.append(plain(at, 2, size=40_000 if kind == "large" else 1))
        else:
            log += [pending(at, number), (committed if kind == "committed" else aborted)(at + 1, number)]
        at += 2
    data = max(
        (n * 2 + (1 if kind == "committed" else 2) for n, kind in enumerate(kinds) if kind != "aborted"), default=0
    )
    wanted = [TailRequest("t", p, min(start, at), at) for p, start in enumerate(starts)]
    found = read(Leader({("t", p): log for p in range(len(starts))}), *wanted)
    assert [each.data_end for each in found] == [max(data, each.data_from) for each in wanted]


def test_a_tail_that_is_too_large() -> None:
    """A tail that is not read to its end has data if a record was seen; if only markers were seen, that is unknown."""
    log = [plain(n, 1, size=1_200_000) for n in range(20)]
    markers = [committed(n) for n in range(600)]
    leader = Leader({("t", 0): log, ("t", 1): markers})
    found = read(leader, TailRequest("t", 0, 1, 20), TailRequest("t", 1, 0, 600), most_bytes=1)
    assert [(each.data_end, each.reason) for each in found] == [(20, None), (None, None)]
    assert leader.count("FetchRequest") == 1


def test_one_partition_that_fails() -> None:
    """The partition has no data end, and a reason if its error is a failure; the other partitions are read."""
    errors = {29: ErrorReason.NOT_AUTHORIZED, 6: ErrorReason.LEADER_CHANGED, "none": ErrorReason.NO_LEADER, 1: None}
    logs = {("t", p): [plain(0), committed(1)] for p in range(3)}
    wanted = [TailRequest("t", p, 1, 2) for p in range(3)]
    for error, reason in errors.items():
        found = read(Leader(logs, {("t", 1): error}), *wanted, TailRequest("gone", 0, 0, 1))
        assert [each.data_end for each in found] == [1, None, 1, None]
        assert [each.reason for each in found] == [None, reason, None, ErrorReason.NOT_FOUND]


def test_a_leader_that_does_not_answer() -> None:
    """A failure is returned as a reason; no exception is raised."""
    leader = Leader({("t", 0): [plain(0)]})
    for leader.refusal, reason in ((AWAY, ErrorReason.UNREACHABLE), (TOO_OLD, ErrorReason.UNSUPPORTED)):
        assert [each.reason for each in read(leader, TailRequest("t", 0, 0, 1))] == [reason]


def test_a_batch_that_cannot_be_read() -> None:
    """A damaged batch raises no exception; the data of its tail is unknown."""
    after, raw = compacted(0, [0], 3)
    damaged = raw[:-1] + bytes([raw[-1] ^ 0x7F])
    (found,) = read(Leader({("t", 0): [(after, damaged)]}), TailRequest("t", 0, 0, 3))
    assert (found.data_end, found.reason) == (None, ErrorReason.OTHER)
