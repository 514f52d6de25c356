"""Tests of the fetch loop: it returns every committed record once, in order, whatever the leaders answer."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log.errors import LogFault
from decoders.log.vectors import LogColumns
from sandbox.kafka import log_writer as write
from stream.cluster.records import ranges, read
from stream.cluster.records.ranges import OffsetRange, ReadTally, SkipReason, unread_ranges
from stream.cluster.records.read import FetchedRecords, read_records
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, LoginRefused, NotAuthorised, Unreachable, Unsupported
from tests.decoders.log.test_fuzz import mutate
from tests.stream.cluster.records.fake_leader import TOPIC, FakeLeader, Part, Reply, batch, in_transaction, only
from tests.support.driver_states import ends_of
from tests.support.scripted_cluster import AWAY


@dataclasses.dataclass
class Result:
    """The result of a read."""

    offsets: dict[int, list[int]]
    tally: ReadTally
    pieces: list[FetchedRecords]


def run(
    leader: FakeLeader,
    wanted: Mapping[int, tuple[int, int]] | None = None,
    *,
    rows: int = 0,
    ahead: bool = False,
    limit: float = 120.0,
    on_aborted: Callable[[int, int, LogColumns], None] | None = None,
) -> Result:
    """Read these ranges (partition 0 from 0 to 10 by default); all must be read to their ends."""
    asked = [OffsetRange(partition, *bounds) for partition, bounds in (wanted or {0: (0, 10)}).items()]
    result = Result({}, ReadTally(), [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "read_ends", leader.read_ends)
        for fetched in read_records(
            cast("Cluster", leader),
            TOPIC,
            asked,
            rows=rows,
            ahead=ahead,
            limit=limit,
            tally=result.tally,
            on_aborted=on_aborted,
            clock=leader.clock,
            sleep=leader.sleep,
        ):
            result.pieces.append(fetched)
            for partition, record in fetched.rows():
                assert record.value == b"%d" % record.offset
                result.offsets.setdefault(partition, []).append(record.offset)
            assert all(each.position <= each.end for each in asked)
    assert all(each.position == each.end for each in asked)
    return result


ALL = [*range(10)]


def mark(at: int, producer: int = 7, *, committed: bool = True) -> bytes:
    return write.marker(at, producer, committed=committed)


WHOLE, FIRST, SECOND = only(batch(0, 10)), only(batch(0, 5)), only(batch(5, 5))
OLD_CLIENTS = write.message(0, b"k", b"0", 0) + write.message(1, b"k", b"1", 1) + batch(2, 8)
ABORTED = only(in_transaction(0, 7, 3) + batch(3) + mark(4, committed=False), aborted=((7, 0),))
# Per row: the replies, the offsets of the returned records, and the position of each fetch.
READS: dict[str, tuple[list[Reply | ClusterError], list[int], list[int]]] = {
    "one answer": ([WHOLE], ALL, [0]),
    "two answers": ([only(batch(0, 4)), only(batch(4, 6))], ALL, [0, 4]),
    "an incomplete last batch": ([only(batch(0, 4) + batch(4, 6)[:-1]), only(batch(4, 6))], ALL, [0, 4]),
    "batch that extends beyond the end": ([only(batch(0, 20))], ALL, [0]),
    "gap across the end": ([only(batch(0, 4) + batch(14, 3))], [0, 1, 2, 3], [0]),
    "a tail removed by compaction": ([only(batch(2) + batch(7)), only()], [2, 7], [0, 8]),
    "all codecs": ([only(b"".join(batch(2 * n, 2, n) for n in range(5)))], ALL, [0]),
    "message sets of old clients": ([only(OLD_CLIENTS)], ALL, [0]),
    "a marker at the end": ([only(batch(0, 9) + mark(9))], ALL[:9], [0]),
    "only markers": ([only(mark(4)), SECOND], ALL[5:], [0, 5]),
    "an aborted transaction": ([ABORTED, SECOND], [3, 5, 6, 7, 8, 9], [0, 5]),
    "a committed one": ([only(in_transaction(0, 7, 3) + mark(3) + batch(4, 6))], [0, 1, 2, *range(4, 10)], [0]),
    "moved leader": ([only(error=6), WHOLE], ALL, [0, 0]),
    "outdated leader epoch": ([FIRST, only(error=74), SECOND], ALL, [0, 5, 5]),
    "a leader that is not ready": ([only(error=78), WHOLE], ALL, [0, 0]),
    "an unknown error of the broker": ([only(error=-1), WHOLE], ALL, [0, 0]),
    "a log that the broker cannot read": ([only(error=2), WHOLE], ALL, [0, 0]),
    "partition missing in the answer": ([Reply(), WHOLE], ALL, [0, 0]),
    "an error of the whole answer": ([Reply(error=6), WHOLE], ALL, [0, 0]),
    "a lost connection": ([AWAY, WHOLE], ALL, [0, 0]),
    "a leader that lags behind": ([only(last_stable=5), WHOLE], ALL, [0, 0]),
    "incomplete first batch": ([only(batch(0, 10)[:-1]), WHOLE], ALL, [0, 0]),
    "wrong checksum": ([only(batch(0, 2, max_timestamp=5)[:-1] + b"!"), WHOLE], ALL, [0, 0]),
    "damage after valid batches": ([only(batch(0, 5) + bytes(80)), SECOND], ALL, [0, 5]),
}


@pytest.mark.parametrize("ahead", [False, True])
def test_committed_records_are_returned_once_in_order(ahead: bool) -> None:  # noqa: FBT001
    """Transient errors are retried; the next fetch begins after the last valid batch."""
    found = {}
    for name, (replies, _, _) in READS.items():
        leader = FakeLeader(replies)
        result = run(leader, ahead=ahead)
        found[name] = result.offsets[0], [each[0] for each in leader.positions]
        assert (name, result.tally.faults, result.tally.skipped) == (name, {}, {})
    assert found == {name: row[1:] for name, row in READS.items()}


@pytest.mark.parametrize("ahead", [False, True])
def test_aborted_records_are_passed_to_the_callback_with_their_producer(ahead: bool) -> None:  # noqa: FBT001
    """Aborted records are not among the returned records; each is passed once to `on_aborted` with its producer."""
    first = in_transaction(0, 7, 3) + batch(3) + write.marker(4, 7, committed=False)
    second = in_transaction(5, 8, 2) + write.marker(7, 8, committed=False) + batch(8, 2)
    replies = [only(first, aborted=((7, 0),)), only(second, aborted=((8, 5),))]
    aborted: list[tuple[int, int, list[int]]] = []
    result = run(
        FakeLeader(replies), ahead=ahead, on_aborted=lambda *row: aborted.append((*row[:2], row[2].offset.tolist()))
    )
    assert result.offsets == {0: [3, 8, 9]}
    assert aborted == [(0, 7, [0, 1, 2]), (0, 8, [5, 6])]


# Many partitions.


def parts(**by_partition: bytes | Part) -> Reply:
    """Return a response; `p3=b""` is the part of partition 3."""
    return Reply({int(name[1:]): each if isinstance(each, Part) else Part(each) for name, each in by_partition.items()})


def test_partitions_without_a_leader_do_not_hold_up_the_others() -> None:
    """Partitions with a leader are read at once; a partition without a leader is read when it has one."""
    leader = FakeLeader(
        [parts(p1=batch(0, 5)), parts(p1=batch(5, 5)), parts(p0=batch(0, 10))],
        [{0: -1, 1: 1}, {0: -1, 1: 1}, {0: 2, 1: 1}],
    )
    result = run(leader, {0: (0, 10), 1: (0, 10)})
    assert result.offsets == {1: ALL, 0: ALL}
    assert [(each.node, each.positions) for each in leader.asked] == [(1, {1: 0}), (1, {1: 5}), (2, {0: 0})]
    assert [each.at for each in leader.asked][:2] == [0, 0]


def test_a_moved_partition_is_fetched_from_its_new_leader() -> None:
    """The leader of the partition is looked up again, and the fetch has the epoch of the new leader."""
    leader = FakeLeader(
        [parts(p0=Part(error=6), p1=batch(0, 5)), parts(p1=batch(5, 5)), parts(p0=batch(0, 10))],
        [{0: 1, 1: 1}, {0: 2, 1: 1}],
    )
    assert run(leader, {0: (0, 10), 1: (0, 10)}).offsets == {1: ALL, 0: ALL}
    assert (leader.asked[-1].node, leader.asked[-1].epochs, leader.lookups) == (2, {0: 102}, 2)


def test_throttling_is_obeyed() -> None:
    """The next request waits for the throttle time; a throttled answer without partitions is not a failure.

    After failures, the first pause is a quarter of a second, and the longest pause is a second.
    """
    leader = FakeLeader([Reply(throttle_ms=700), Reply({0: Part(batch(0, 4))}, throttle_ms=300), only(batch(4, 6))])
    assert run(leader).offsets == {0: ALL}
    assert [round(each.at, 3) for each in leader.asked] == [0, 0.7, 1.0]
    leader = FakeLeader([only(error=6)] * 5 + [WHOLE])
    run(leader)
    assert [each.at for each in leader.asked] == [0, 0.25, 0.75, 1.75, 2.75, 3.75]


def test_large_answers_are_returned_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of a response that expands are returned before all of them are decoded.

    Records of several answers are combined only up to a number of bytes.
    """
    with monkeypatch.context() as small:
        small.setattr(read, "ROWS", 5)
        small.setattr("decoders.log.columns.TARGET", 1)
        result = run(FakeLeader([only(batch(0, 5, write.GZIP) + batch(5, 5, write.GZIP))]))
    assert [each.positions for each in result.pieces if each.positions] == [{0: 5}, {0: 10}, {0: 10}]
    monkeypatch.setattr(read, "_LARGEST", 4)
    result = run(FakeLeader([only(batch(0, 4)), only(batch(4, 6))]), rows=1_000)
    assert [each.positions for each in result.pieces if each.positions] == [{0: 4}, {0: 10}, {0: 10}]


# Offsets that the log does not have.


def test_a_position_out_of_range_moves_to_the_log_start() -> None:
    """Records that retention deleted are counted, and the read continues."""
    rows: list[tuple[tuple[int, int], list[Reply], list[int], dict[SkipReason, int]]] = [
        ((5, 12), [SECOND], ALL[5:], {SkipReason.DELETED: 5}),
        ((12, 20), [], [], {SkipReason.DELETED: 10}),
        # Refused by a replica that lags behind.
        ((0, 10), [WHOLE], ALL, {}),
    ]
    for ends, replies, offsets, skipped in rows:
        result = run(FakeLeader([only(error=1), *replies], ends=[{0: ends}]))
        assert (result.offsets.get(0, []), result.tally.skipped) == (offsets, skipped)


def test_a_log_that_ends_below_the_position_ends_the_range() -> None:
    """The log was truncated, or the topic was created again: the rest of the range is counted.

    Unknown ends are requested again; the position moves when a broker returns the log start offset.
    """
    result = run(FakeLeader([only(error=1)], ends=[{0: (0, 3)}]), {0: (6, 10)})
    assert (result.offsets, result.tally.skipped) == ({}, {SkipReason.TRUNCATED: 4})
    leader = FakeLeader([only(error=1), SECOND], ends=[{0: "no_leader"}, {}, {0: (5, 12)}])
    assert run(leader).offsets == {0: ALL[5:]}


def test_a_log_that_ends_below_the_range_is_given_up_after_the_limit() -> None:
    """The read waits two minutes for the rest of the range, and then counts the rest as truncated."""
    leader = FakeLeader([only(batch(0, 4)), *[only(last_stable=4)] * 1000])
    result = run(leader)
    assert (result.offsets, result.tally.skipped) == ({0: ALL[:4]}, {SkipReason.TRUNCATED: 6})
    assert 120 <= leader.now < 123


# Damage.


def test_a_damaged_batch_is_skipped_after_three_attempts() -> None:
    """The fault and the offsets of the batch are counted, and the records after it are read."""
    damaged = batch(0, 3)[:-1] + bytes([batch(0, 3)[-1] ^ 1])
    leader = FakeLeader([*[only(damaged + batch(3, 7))] * 3, only(batch(3, 7))])
    result = run(leader)
    assert result.offsets == {0: ALL[3:]}
    assert (result.tally.faults, result.tally.skipped) == ({LogFault.BAD_CRC: 1}, {SkipReason.DAMAGED: 3})


def test_damage_without_a_valid_batch_after_it_is_skipped_in_growing_steps() -> None:
    """A log without a readable batch does not block a read forever."""
    leader = FakeLeader([only(bytes(100), last_stable=2_000)] * 100)
    result = run(leader, {0: (0, 1_000)})
    assert result.tally.skipped == {SkipReason.DAMAGED: 1_000}
    assert [each[0] for each in leader.positions][2:8] == [0, 1, 3, 7, 15, 31]


def test_records_below_the_position_are_no_progress() -> None:
    """A leader that returns the same batches again and again ends the read with its reason."""
    leader = FakeLeader([only(batch(0, 3)), *[only(batch(0, 3))] * 300])
    with pytest.raises(Unreachable, match="returns records below offset 3"):
        run(leader)


# Errors that end a read.


def test_permanent_errors_are_raised_at_once() -> None:
    """A retry cannot succeed, so the error is raised without a pause."""
    refused = LoginRefused("refused", "")
    denied_ends = FakeLeader([only(error=1)], ends=[{0: "not_authorized"}])
    rows: list[tuple[FakeLeader, type[ClusterError], str]] = [
        (FakeLeader([only(error=29)]), NotAuthorised, "no right to Read topic t"),
        (FakeLeader([only(error=87)]), Unreachable, "Kafka error 87"),
        (FakeLeader([only(error=76)]), Unsupported, "zstd"),
        (FakeLeader([refused]), LoginRefused, "refused"),
        (FakeLeader([], [refused]), LoginRefused, "refused"),
        (denied_ends, NotAuthorised, "no right"),
    ]
    for leader, error, reason in rows:
        with pytest.raises(error, match=reason):
            run(leader)
        assert leader.now == 0


def test_a_read_without_progress_ends_with_its_reason() -> None:
    """The read ends two minutes after its last progress, not earlier."""
    out_of_range = [only(error=1)] * 500
    rows = [
        (FakeLeader([only(error=56)] * 500), "partition 0 of t cannot be read: Kafka error 56"),
        (FakeLeader([], [{0: -1}]), "there is no leader"),
        (FakeLeader([], [{}]), r"there is no leader \(not_found\)"),
        (FakeLeader([], [AWAY]), "b:9092 is not reachable"),
        (FakeLeader([AWAY] * 500), "b:9092 is not reachable"),
        (FakeLeader([Reply()] * 500), "does not mention it"),
        (FakeLeader(out_of_range, ends=[{0: (0, 10)}] * 500), "refuses offset 0"),
        (FakeLeader(out_of_range, ends=[AWAY] * 500), "b:9092 is not reachable"),
    ]
    for leader, reason in rows:
        with pytest.raises(ClusterError, match=reason):
            run(leader)
        assert 120 <= leader.now < 123


def test_a_caller_continues_after_an_error() -> None:
    """The positions show which records were returned; no record is returned twice."""
    wanted = [OffsetRange(0, 0, 10)]
    seen: list[int] = []
    for leader in (FakeLeader([only(batch(0, 4)), only(error=29)]), FakeLeader([only(batch(0, 10))])):
        try:
            for fetched in read_records(cast("Cluster", leader), TOPIC, wanted):
                seen += fetched.offset.tolist()
        except NotAuthorised:
            assert wanted[0].position == 4
    assert seen == ALL


# Any log, and answers that end anywhere.


@given(data=st.data(), rng=st.randoms(use_true_random=True))
def test_any_answers_return_every_record_once(data: st.DataObject, rng: Random) -> None:
    """The read is complete although the broker cuts answers at a size limit and fails at random."""
    logs = {partition: data.draw(st.lists(st.integers(1, 4), max_size=6)) for partition in range(3)}
    leader = _Broker(logs, rng)
    wanted = {partition: (data.draw(st.integers(0, sum(sizes))), sum(sizes)) for partition, sizes in logs.items()}
    result = run(leader, wanted, rows=data.draw(st.sampled_from([0, 5])), ahead=data.draw(st.booleans()))
    expected = {partition: [*range(*bounds)] for partition, bounds in wanted.items() if bounds[0] < bounds[1]}
    assert result.offsets == expected
    assert (result.tally.faults, result.tally.skipped) == ({}, {})


class _Broker(FakeLeader):
    """Serves logs as a broker does: in the order of the request, with a whole first batch, then cut at a limit."""

    def __init__(self, logs: Mapping[int, Sequence[int]], rng: Random) -> None:
        super().__init__([], [dict.fromkeys(logs, 1)])
        self._rng = rng
        self._batches: dict[int, list[tuple[int, bytes]]] = {}
        for partition, sizes in logs.items():
            starts = [sum(sizes[:n]) for n in range(len(sizes))]
            self._batches[partition] = [
                (start + size, batch(start, size)) for start, size in zip(starts, sizes, strict=True)
            ]

    def damage(self) -> None:
        """Change some bytes of a batch for good, but not its base offset, which no checksum covers."""
        at = self._rng.randrange(len(self._batches[0]))
        end, raw = self._batches[0][at]
        self._batches[0][at] = end, raw[:8] + mutate(self._rng, raw[8:])

    def _answer(self, node: int, request: Any) -> Any:
        if self._rng.random() < 0.2:
            self._replies = [self._rng.choice([AWAY, Reply(throttle_ms=100), Reply()])]
            return super()._answer(node, request)
        left, found = self._rng.randint(1, 600), {}
        for each in request.topics[0].partitions:
            raw = b"".join(raw for end, raw in self._batches[each.partition] if end > each.fetch_offset)
            first = int.from_bytes(raw[8:12], "big") + 12 if raw else 0
            whole = max(left, first) if not any(part.raw for part in found.values()) else left
            part = raw[:whole] if whole >= first else b""
            left = max(0, left - len(part))
            found[each.partition] = Part(part)
        self._replies = [Reply(found)]
        return super()._answer(node, request)


@given(data=st.data(), rng=st.randoms(use_true_random=True))
def test_any_bytes_end_a_read(data: st.DataObject, rng: Random) -> None:
    """For any bytes of a leader, a read ends at the end of its range, or with a ClusterError after its limit."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    leader = _Broker({0: sizes}, rng)
    leader.damage()
    wanted = OffsetRange(0, 0, sum(sizes))
    tally = ReadTally()
    seen = 0
    try:
        for fetched in read_records(
            cast("Cluster", leader), TOPIC, [wanted], tally=tally, clock=leader.clock, sleep=leader.sleep
        ):
            seen += len(fetched.offset)
    except ClusterError:
        assert leader.now >= 120
    else:
        assert wanted.position == sum(sizes)
        assert seen <= sum(sizes)
        assert seen + tally.skipped.total() + 4 * tally.faults.total() >= sum(sizes)


# Ranges.


def test_ranges_end_at_the_last_stable_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges begin at the log start offset or after the last read offset.

    Unknown ends raise an error, because the read would be incomplete.
    """
    rows: list[tuple[Any, ...]] = [("t", 0, 20, 15, 3, None), ("t", 1, 9, 9, 0, None), ("t", 2, 4, 4, 0, None)]
    monkeypatch.setattr(ranges, "read_ends", lambda *_: ends_of(rows))
    expected = [OffsetRange(0, 3, 15), OffsetRange(1, 7, 9), OffsetRange(2, 0, 4)]
    assert unread_ranges(cast("Cluster", None), "t", {1: 6}) == expected
    for word, error in (("not_authorized", NotAuthorised), ("no_leader", Unreachable)):
        rows = [("t", 0, None, None, None, word)]
        with pytest.raises(error):
            unread_ranges(cast("Cluster", None), "t", {})


def test_errors_that_pass_are_waited_for_or_lead_to_the_new_leader() -> None:
    """After an error of the log itself the same leader is asked again, after all others the leader is looked up."""
    lookups: dict[int, int] = {}
    for code in (-1, 2, 3, 5, 6, 7, 9, 56, 74, 75, 78, 100, 103):
        leader = FakeLeader([only(error=code), only(batch(0, 10))])
        assert run(leader).offsets == {0: ALL}
        lookups[code] = leader.lookups
    assert {code for code, count in lookups.items() if count == 1} == {-1, 2, 7, 78}
