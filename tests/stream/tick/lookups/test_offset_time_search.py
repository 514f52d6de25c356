"""The age of an unread record to the tick: how often brokers are asked for it, and what becomes of the answers."""

from __future__ import annotations

import bisect
import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.offsets_for_times import OFFSETS_FOR_TIMES
from stream.cluster.transport.errors import Unreachable
from stream.health.features import window as windows
from stream.health.features.partition_history import PartitionHistory
from stream.health.limits import HealthLimits
from stream.tick.lookups import offset_time_search as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.offset_time_search import OffsetTimeSearch
from tests.stream.health.simulator import HOUR, MINUTE, NOON, SECOND, TICK, Partition, Scene, evenly, look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream.health.features.window import Window

LIMITS = HealthLimits(tick=TICK)


def every(seconds: float, records: int) -> Callable[[int], int]:
    """Write so many records at once every so many seconds, since three hours before noon."""
    return lambda t: int((t + 3 * HOUR) // (seconds * SECOND)) * records


class Brokers:
    """Answer for partitions of the topic `orders` by the function of their ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *ends: Callable[[int], int], log_start: int = 0) -> None:
        self.sent = [_sent(end) for end in ends]
        self.log_start = log_start
        self.asked = 0
        self.rounds = 0
        self.away = False
        self.error: str | None = None
        monkeypatch.setattr(lookup, "read_offsets_for_times", self._read)

    def _read(self, _: object, wanted: pa.Table) -> pa.Table:
        if self.away:
            raise Unreachable("away", "")
        self.rounds += 1
        rows = []
        for row in wanted.to_pylist():
            self.asked += 1
            sent = self.sent[row["partition"]]
            offset = max(bisect.bisect_left(sent, row["time"]), self.log_start)
            told = {"offset": offset, "record_time": sent[offset]} if offset < len(sent) else {}
            rows.append({**row, **({"error": self.error} if self.error else told)})
        return pa.Table.from_pylist(rows, schema=OFFSETS_FOR_TIMES)


def _sent(end: Callable[[int], int]) -> list[int]:
    """Give the time of every record (ms), by trying every second up to noon."""
    sent: list[int] = []
    for t in range(-3 * HOUR, 1, SECOND):
        sent += [NOON + t] * (end(t) - len(sent))
    return sent


class Ticks:
    """Watches groups that stand still at some offsets, a tick at a time from noon on."""

    def __init__(self, parts: Sequence[Partition], **bounds: Any) -> None:
        self.memory = PartitionHistory(tick=TICK)
        self.search = OffsetTimeSearch(cast("Any", None), LookupLimits(**bounds), lambda: 0.0)
        self.scene = Scene(parts)
        self.now = 0
        self.window = self._build()

    def _build(self) -> Window:
        return windows.build(look(self.scene, self.now), self.memory, LIMITS)

    def tick(self, times: int = 1) -> list[int]:
        """Ask after the last window, and look again; gives the ages of the oldest unread records (ms)."""
        for _ in range(times):
            self.search.update(self.window, self.memory)
            self.now += TICK
            self.window = self._build()
        return cast("list[int]", self.window.time_lag.age.tolist())


def still(end: Callable[[int], int], offset: int, log_start: int = 0) -> Partition:
    """Commit an offset once, and nothing after."""
    return Partition(lambda t: end(min(t, 0)), [(-2 * HOUR, offset)], log_start=lambda _: log_start)


@pytest.mark.parametrize(
    ("end", "offset"),
    [
        pytest.param(evenly(2), 3_000, id="steady"),
        pytest.param(every(600, 900), 4_500, id="the first of a burst"),
        pytest.param(every(600, 900), 5_000, id="within a burst"),
        pytest.param(lambda t: 9_000 if t >= -2_500 * SECOND else 5, 7, id="one burst long ago"),
        pytest.param(lambda t: 5_000 + max(0, (t + MINUTE) // SECOND), 4_000, id="all at the start, and again of late"),
    ],
)
def test_an_age_that_nothing_was_known_of_is_right_to_the_tick(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[int], int], offset: int
) -> None:
    """After a few ticks, of a process that has just begun, whatever the writing was like."""
    brokers = Brokers(monkeypatch, end)
    ticks = Ticks([still(end, offset)])
    (age,) = ticks.tick(8)
    assert abs(age - (NOON + ticks.now - brokers.sent[0][offset])) <= TICK
    assert ticks.window.time_lag.exact.tolist() == [True]
    before = brokers.asked
    ticks.tick(20)
    assert brokers.asked == before, "what is known is not asked for again"


def test_a_log_that_retention_has_cut_has_its_first_record_for_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was before it is gone, so nothing is claimed of the time before."""
    brokers = Brokers(monkeypatch, evenly(1), log_start=9_000)
    ticks = Ticks([still(evenly(1), 10, log_start=9_000)])
    (age,) = ticks.tick(6)
    assert abs(age - (NOON + ticks.now - brokers.sent[0][9_000])) <= TICK
    times, ends = ticks.memory.high_watermark.points(0)
    assert (times[0], ends[0]) == (brokers.sent[0][9_000], 9_000)


def test_a_group_that_moves_is_asked_about_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next record is another at every tick."""
    brokers = Brokers(monkeypatch, evenly(2))
    commits = [(t, 1_000 + t // SECOND) for t in range(0, 5 * MINUTE, TICK)]
    ticks = Ticks([Partition(lambda t: evenly(2)(min(t, 0)), commits)])
    asked = []
    for _ in range(18):
        before = brokers.asked
        ticks.tick()
        asked.append(brokers.asked > before)
    assert 0 < sum(asked) < 9, asked


def test_what_is_read_up_or_not_known_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a partition that its group never committed."""
    brokers = Brokers(monkeypatch, *[evenly(2)] * 3)
    whole = evenly(2)(0)
    unknown = dataclasses.replace(still(evenly(2), 5), known=lambda _: False)
    never = dataclasses.replace(still(evenly(2), 5), commits=[])
    Ticks([still(evenly(2), whole), unknown, never]).tick(3)
    assert brokers.asked == 0


def test_so_many_at_a_tick_and_the_most_doubtful_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """All come in their turn."""
    ends = [evenly(2)] * 5
    brokers = Brokers(monkeypatch, *ends)
    ticks = Ticks([still(end, 3_000 + 100 * number) for number, end in enumerate(ends)], time_lookups=2)
    ticks.tick()
    assert brokers.asked == 2
    ages = ticks.tick(30)
    truth = [NOON + ticks.now - brokers.sent[number][3_000 + 100 * number] for number in range(5)]
    assert np.abs(np.array(ages) - truth).max() <= TICK


@pytest.mark.parametrize("trouble", ["away", "refused"])
def test_without_an_answer_it_stays_a_lower_bound(monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    """Nothing raises, and nothing is made up; a partition that never answers is let go."""
    brokers = Brokers(monkeypatch, evenly(2))
    brokers.away, brokers.error = trouble == "away", "not_authorized"
    ticks = Ticks([still(evenly(2), 3_000)])
    ticks.tick(60)
    assert ticks.window.time_lag.exact.tolist() == [False]
    assert brokers.asked <= 32


def test_timestamps_that_lead_nowhere_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers may write any time; no search goes on for ever, and ends never fall."""
    brokers = Brokers(monkeypatch, evenly(2))
    brokers.sent[0] = [NOON - HOUR + (number * 7_919) % 100_000 for number in range(len(brokers.sent[0]))]
    ticks = Ticks([still(evenly(2), 3_000)])
    ticks.tick(50)
    assert brokers.asked <= 32
    times, ends = ticks.memory.high_watermark.points(0)
    assert times == sorted(times)
    assert ends == sorted(ends)
