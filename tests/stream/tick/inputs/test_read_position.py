"""Tests of the read position of the offsets topic, per row, and of the time since which its partitions answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import ENDS
from stream.groups.placement import partition_for
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.rows import InputRows
from stream.tick.inputs.times import NEVER, ReadPositionTracker, ReadUntil

TICK: Final = 10_000
NOW: Final = 1_000_000
GROUPS: Final = ("a", "b", "c", "d")
PARTITIONS: Final = 2


def ends(high: Mapping[int, int | None]) -> EndsIndex:
    rows = [
        {"topic": NAME, "partition": number, "high_watermark": end, "error": None if end is not None else "no_leader"}
        for number, end in high.items()
    ]
    rows.append({"topic": "orders", "partition": 0, "high_watermark": 5})
    return EndsIndex(pa.Table.from_pylist(rows, ENDS))


def reach(
    tracker: ReadPositionTracker, now: int, commits: Sequence[int] = (0, 0, 0, 0), fetched: Sequence[str] = ()
) -> ReadUntil:
    column = np.arange(4)
    rows = InputRows(GROUPS, ("orders",), column, np.zeros(4, np.int64), np.zeros(4, np.int32), column)
    is_fetched = np.array([name in fetched for name in GROUPS])
    return tracker.read_until(rows, np.array(commits), is_fetched, now)


def values_in(column: Any, partition: int) -> set[int]:
    return {int(value) for name, value in zip(GROUPS, column, strict=True) if offsets_partition(name) == partition}


def offsets_partition(name: str) -> int:
    return partition_for(name, PARTITIONS)


def test_a_partition_read_to_its_end_is_read_until_now() -> None:
    """A partition with unread offsets is read until the last tick whose end offset has been reached."""
    tracker = ReadPositionTracker(TICK)
    tracker.update(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW)
    tracker.update(ends({0: 100, 1: 110}), {0: 100, 1: 105}, NOW + TICK)
    found = reach(tracker, NOW + TICK)
    assert values_in(found.read_until, 0) == {NOW + TICK}
    assert values_in(found.read_until, 1) == {NOW}


def test_a_reader_that_catches_up_is_dated_by_ticks() -> None:
    """The position falls back to three ticks behind the end, then catches up to one tick behind it."""
    tracker, until = ReadPositionTracker(TICK), []
    for number, position in enumerate((10, 10, 10, 10, 32, 50)):
        now = NOW + number * TICK
        tracker.update(ends({0: 10 * (number + 1), 1: 0}), {0: position, 1: 0}, now)
        until.append((now - min(values_in(reach(tracker, now).read_until, 0))) // TICK)
    assert until == [0, 1, 2, 3, 2, 1]


def test_the_newest_commit_of_a_partition_is_a_lower_bound() -> None:
    """A partition is read in order, so all earlier commits have been read."""
    tracker = ReadPositionTracker(TICK)
    tracker.update(ends({0: 100, 1: 100}), {0: 50, 1: 50}, NOW)
    times = [NOW - 5_000 if name == GROUPS[0] else 0 for name in GROUPS]
    found = reach(tracker, NOW, times)
    assert values_in(found.read_until, offsets_partition(GROUPS[0])) == {NOW - 5_000}


@pytest.mark.parametrize(
    ("pause", "unanswered", "since"),
    [
        pytest.param(TICK, False, NEVER, id="a tick later"),
        pytest.param(3 * TICK, False, NEVER, id="a late tick"),
        pytest.param(4 * TICK, False, NOW + 4 * TICK, id="a long pause"),
        pytest.param(2 * TICK, True, NOW + 2 * TICK, id="no leader for one tick"),
    ],
)
def test_an_interruption_ends_with_the_first_answer(pause: int, since: int, *, unanswered: bool) -> None:
    """An interruption is a tick without an end offset of the partition, or a pause of more than three ticks."""
    tracker = ReadPositionTracker(TICK)
    tracker.update(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW)
    if unanswered:
        tracker.update(ends({0: None, 1: 100}), {0: 100, 1: 100}, NOW + TICK)
    tracker.update(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW + pause)
    found = reach(tracker, NOW + pause)
    assert values_in(found.answered_since, 0) == {since}
    assert values_in(found.answered_since, 1) == {NEVER if unanswered else since}


def test_a_partition_without_an_end_has_an_outage_since_the_first_tick_without_it() -> None:
    """Groups of the partition have the time and the reason, other groups have none; the outage ends with an answer."""
    tracker = ReadPositionTracker(TICK)
    for number, end in enumerate((100, None, None, 100)):
        now = NOW + number * TICK
        tracker.update(ends({0: end, 1: 100}), {0: 100, 1: 100}, now)
        outage = reach(tracker, now).outage
        if end is not None:
            assert outage is None
            continue
        assert outage is not None
        assert values_in(outage.since, 0) == {NOW + TICK}
        assert values_in(outage.since, 1) == {NEVER}
        assert values_in(outage.partition, 0) == {0}
        assert outage.reasons == {0: "no_leader"}


def test_a_topic_that_cannot_be_described_is_an_outage_of_all_its_partitions() -> None:
    """A broker that has just started may not know the topic; all groups have an outage until the next answer."""
    tracker = ReadPositionTracker(TICK)
    tracker.update(ends({0: 5, 1: 5}), {0: 5, 1: 5}, NOW)
    lost = EndsIndex(pa.Table.from_pylist([{"topic": NAME, "partition": -1, "error": "not_found"}], ENDS))
    tracker.update(lost, {0: 5, 1: 5}, NOW + TICK)
    outage = reach(tracker, NOW + TICK).outage
    assert outage is not None
    assert (set(outage.since.tolist()), set(outage.reasons.values())) == ({NOW + TICK}, {"not_found"})
    tracker.update(ends({0: 5, 1: 5}), {0: 5, 1: 5}, NOW + 2 * TICK)
    found = reach(tracker, NOW + 2 * TICK)
    assert (found.outage, set(found.answered_since.tolist())) == (None, {NOW + 2 * TICK})
