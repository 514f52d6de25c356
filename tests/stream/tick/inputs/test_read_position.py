"""How far the log is read, per group: what is not read is not missed, and who cannot commit is not silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import ENDS
from stream.groups.placement import partition_for
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.read_position import NEVER, ReadPositionTracker, ReadUntil
from stream.tick.inputs.rows import InputRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TICK: Final = 10_000
NOW: Final = 1_000_000
GROUPS: Final = ("a", "b", "c", "d")
PARTITIONS: Final = 2


def ends(high: Mapping[int, int | None]) -> EndsIndex:
    """Give what the poll of the ends answered for the offsets partitions."""
    rows = [{"topic": NAME, "partition": number, "high_watermark": end} for number, end in high.items()]
    rows.append({"topic": "orders", "partition": 0, "high_watermark": 5})
    return EndsIndex(pa.Table.from_pylist(rows, ENDS))


def reach(
    reading: ReadPositionTracker, now: int, commits: Sequence[int] = (0, 0, 0, 0), asked: Sequence[str] = ()
) -> ReadUntil:
    """Ask for four groups with a row each."""
    column = np.arange(4)
    rows = InputRows(GROUPS, ("orders",), column, np.zeros(4, np.int64), np.zeros(4, np.int32), column)
    told = np.array([name in asked for name in GROUPS])
    return reading.reach(rows, np.array(commits), told, now)


def of(column: Any, partition: int) -> set[int]:
    """Give what the groups of one offsets partition have."""
    return {int(value) for name, value in zip(GROUPS, column, strict=True) if home(name) == partition}


def home(name: str) -> int:
    """Give the offsets partition of a group."""
    return partition_for(name, PARTITIONS)


def test_the_groups_stand_in_both_partitions() -> None:
    """Else the tests below would say less than they seem to."""
    assert {home(name) for name in GROUPS} == {0, 1}


def test_what_is_read_to_its_end_is_read_until_now() -> None:
    """The other partition, of which ten offsets are unread, is read until the tick whose end has been reached."""
    reading = ReadPositionTracker(TICK)
    reading.look(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW)
    reading.look(ends({0: 100, 1: 110}), {0: 100, 1: 105}, NOW + TICK)
    found = reach(reading, NOW + TICK)
    assert of(found.read_until, 0) == {NOW + TICK}
    assert of(found.read_until, 1) == {NOW}


def test_a_reader_that_catches_up_reaches_the_ticks_in_their_order() -> None:
    """Three ticks behind, then one, then none."""
    reading, until = ReadPositionTracker(TICK), []
    for number, position in enumerate((10, 10, 10, 10, 32, 50)):
        now = NOW + number * TICK
        reading.look(ends({0: 10 * (number + 1), 1: 0}), {0: position, 1: 0}, now)
        until.append((now - min(of(reach(reading, now).read_until, 0))) // TICK)
    assert until == [0, 1, 2, 3, 2, 1]


def test_the_newest_commit_of_a_partition_dates_what_is_read() -> None:
    """The log is in order: whoever committed before it has been heard."""
    reading = ReadPositionTracker(TICK)
    reading.look(ends({0: 100, 1: 100}), {0: 50, 1: 50}, NOW)
    times = [NOW - 5_000 if name == GROUPS[0] else 0 for name in GROUPS]
    found = reach(reading, NOW, times)
    assert of(found.read_until, home(GROUPS[0])) == {NOW - 5_000}


def test_whoever_was_asked_is_of_now_and_dates_nobody_else() -> None:
    """The coordinator's answer says nothing of what the log hides of others."""
    reading = ReadPositionTracker(TICK)
    reading.look(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW)
    reading.look(ends({0: 200, 1: 200}), {0: 100, 1: 100}, NOW + TICK)
    found = reach(reading, NOW + TICK, [NOW + TICK, 0, 0, 0], asked=GROUPS[:1])
    assert found.read_until.tolist() == [NOW + TICK, NOW, NOW, NOW]


@pytest.mark.parametrize(
    ("pause", "unanswered", "since"),
    [
        pytest.param(TICK, False, NEVER, id="tick after tick"),
        pytest.param(3 * TICK, False, NEVER, id="a late tick"),
        pytest.param(4 * TICK, False, NOW + 4 * TICK, id="a long pause"),
        pytest.param(2 * TICK, True, NOW + 2 * TICK, id="no leader in between"),
    ],
)
def test_a_coordinator_that_was_away_is_dated(pause: int, since: int, *, unanswered: bool) -> None:
    """From the first answer after a tick without one, or after a pause of the whole cluster."""
    reading = ReadPositionTracker(TICK)
    reading.look(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW)
    if unanswered:
        reading.look(ends({0: None, 1: 100}), {0: 100, 1: 100}, NOW + TICK)
    reading.look(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW + pause)
    found = reach(reading, NOW + pause)
    assert of(found.answered_since, 0) == {since}
    assert of(found.answered_since, 1) == {NEVER if unanswered else since}


def test_a_tick_that_nobody_answered_is_a_pause_for_all() -> None:
    """However short."""
    reading = ReadPositionTracker(TICK)
    reading.look(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW)
    reading.miss()
    reading.look(ends({0: 100, 1: 100}), {0: 100, 1: 100}, NOW + TICK)
    assert set(reach(reading, NOW + TICK).answered_since.tolist()) == {NOW + TICK}


def test_without_any_answer_silence_is_taken_for_the_groups_own() -> None:
    """As where nobody knows the offsets topic: in a replay."""
    assert reach(ReadPositionTracker(TICK), NOW).read_until.tolist() == [NOW] * 4
