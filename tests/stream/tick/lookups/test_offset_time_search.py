"""The search for the write time of unread records: how often brokers are asked, and what the answers add."""

import bisect
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stream.cluster.offsets_for_times import OFFSETS_FOR_TIMES
from stream.cluster.transport.errors import Unreachable
from stream.health.features import window as windows
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window
from stream.health.limits import HealthLimits
from stream.tick.context import TickFacts, derive
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups import offset_time_search as lookup
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.offset_time_search import OffsetTimeSearch
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.health.simulator import HOUR, MINUTE, NOON, SECOND, TICK, Partition, Scene, by_list, evenly, look
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value
from tests.support.scripted_cluster import no_cluster

LIMITS = HealthLimits(tick=TICK)


def every(seconds: float, records: int) -> Callable[[int], int]:
    """Return the end of a partition that gets this many records at once in this interval, from 09:00 to noon."""
    return lambda t: int((t + 3 * HOUR) // (seconds * SECOND)) * records


class Brokers:
    """Brokers of the topic `orders`; each partition has a function from time to end offset."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *ends: Callable[[int], int], log_start: int = 0) -> None:
        self.sent = [_sent(end) for end in ends]
        self.log_start = log_start
        self.requests = 0
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
            self.requests += 1
            sent = self.sent[row["partition"]]
            offset = max(bisect.bisect_left(sent, row["time"]), self.log_start)
            found = {"offset": offset, "record_time": sent[offset]} if offset < len(sent) else {}
            rows.append({**row, **({"error": self.error} if self.error else found)})
        return pa.Table.from_pylist(rows, schema=OFFSETS_FOR_TIMES)


def _sent(end: Callable[[int], int]) -> list[int]:
    """Return the write time (ms) of every record, by sampling `end` every second up to noon."""
    sent: list[int] = []
    for t in range(-3 * HOUR, 1, SECOND):
        sent += [NOON + t] * (end(t) - len(sent))
    return sent


class Ticks:
    """Evaluates partitions tick after tick from noon on, with a search after each tick."""

    def __init__(self, parts: Sequence[Partition], **limits: Any) -> None:
        self.memory = PartitionHistory(tick=TICK)
        self.search = OffsetTimeSearch(no_cluster(), LookupLimits(**limits), lambda: 0.0)
        self.scene = Scene(parts)
        self.now = 0
        self.window = self._build()

    def _build(self) -> Window:
        inputs = look(self.scene, self.now)
        observation = self.memory.record(inputs, LIMITS.first_commit_grace)
        return windows.build(inputs, observation, self.memory, LIMITS)

    def tick(self, times: int = 1) -> list[int]:
        """Search, then evaluate the next tick; return the ages of the oldest unread records (ms)."""
        for _ in range(times):
            self.search.update(self.window, self.memory)
            self.now += TICK
            self.window = self._build()
        return cast("list[int]", self.window.time_lag.age.tolist())


def still(end: Callable[[int], int], offset: int, log_start: int = 0) -> Partition:
    """Return a partition whose group commits one offset at 10:00 and no other."""
    return Partition(lambda t: end(min(t, 0)), [(-2 * HOUR, offset)], log_start=lambda _: log_start)


@pytest.mark.parametrize(
    ("end", "offset"),
    [
        pytest.param(evenly(2), 3_000, id="steady"),
        pytest.param(every(600, 900), 4_500, id="the first of a burst"),
        pytest.param(every(600, 900), 5_000, id="within a burst"),
        pytest.param(lambda t: 9_000 if t >= -2_500 * SECOND else 5, 7, id="one burst long ago"),
        pytest.param(
            lambda t: 5_000 + max(0, (t + MINUTE) // SECOND), 4_000, id="at the start, and in the last minute"
        ),
    ],
)
def test_an_unknown_age_is_found_to_within_a_tick(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[int], int], offset: int
) -> None:
    """A process that has just started needs a few ticks, for any write pattern."""
    brokers = Brokers(monkeypatch, end)
    ticks = Ticks([still(end, offset)])
    (age,) = ticks.tick(8)
    assert abs(age - (NOON + ticks.now - brokers.sent[0][offset])) <= TICK
    assert ticks.window.time_lag.exact.tolist() == [True]
    before = brokers.requests
    ticks.tick(20)
    assert brokers.requests == before, "a known age is not searched again"


def test_partitions_without_known_unread_records_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is searched if all is read, the ends or the times are unknown, or the group has never committed."""
    brokers = Brokers(monkeypatch, *[evenly(2)] * 3)
    whole = evenly(2)(0)
    unknown = dataclasses.replace(still(evenly(2), 5), known=lambda _: False)
    never = dataclasses.replace(still(evenly(2), 5), commits=[])
    ticks = Ticks([still(evenly(2), whole), unknown, never, still(evenly(2), 5)])
    ticks.search.odd = frozenset({("orders", 3)})
    ticks.tick(3)
    assert brokers.requests == 0


def test_requests_per_tick_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every partition is searched within a bounded number of ticks."""
    ends = [evenly(2)] * 5
    brokers = Brokers(monkeypatch, *ends)
    ticks = Ticks([still(end, 3_000 + 100 * number) for number, end in enumerate(ends)], time_lookups=2)
    ticks.tick()
    assert brokers.requests == 2
    ages = ticks.tick(30)
    truth = [NOON + ticks.now - brokers.sent[number][3_000 + 100 * number] for number in range(5)]
    assert np.abs(np.array(ages) - truth).max() <= TICK


def test_records_between_the_same_points_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand groups that stand at the same place cost as many requests as one."""
    brokers, shard, evaluator = Brokers(monkeypatch, evenly(2)), ShardReader(), VerdictEvaluator()
    shard.read([(commit_key(group, "orders", 0), commit_value(at, NOON)) for group, at in (("a", 5), ("b", 6))], NOON)
    end = len(brokers.sent[0])
    ends = EndsIndex(ends_of([("orders", 0, end, end, 0, None)]))
    window = evaluator.evaluate(derive(TickFacts(shard.driver_state.columns(), ends, NOON / 1000))).evaluation.window
    search = OffsetTimeSearch(no_cluster(), LookupLimits(), lambda: 0.0)
    assert search.update(window, evaluator.end_history)
    assert brokers.requests == brokers.rounds > 1
    assert not search.update(window, evaluator.end_history)


@pytest.mark.parametrize("failure", ["unreachable", "denied"])
def test_without_an_answer_the_age_stays_a_lower_bound(monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    """The search raises no exception and makes up no age; it ends for a partition that never answers."""
    brokers = Brokers(monkeypatch, evenly(2))
    brokers.away, brokers.error = failure == "unreachable", "not_authorized"
    ticks = Ticks([still(evenly(2), 3_000)])
    ticks.tick(60)
    assert ticks.window.time_lag.exact.tolist() == [False]
    assert brokers.requests <= 32


def test_an_age_by_a_time_that_cannot_be_true_stays_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times near 1970, in seconds or microseconds, or ahead of now are no write times."""
    for written in (1, 5 * HOUR, NOON // 1_000, NOON * 1_000, NOON + HOUR):
        brokers = Brokers(monkeypatch, evenly(1), log_start=9_000)
        brokers.sent[0] = [written] * len(brokers.sent[0])
        ticks = Ticks([still(evenly(1), 10, log_start=9_000)])
        (age,) = ticks.tick(40)
        assert ticks.window.time_lag.exact.tolist() == [False]
        assert age < 3 * HOUR
        assert brokers.requests <= 32


def test_a_record_ahead_of_now_does_not_hide_when_the_one_before_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last two of ten records were written an hour ago, the very last one with a time ahead of now."""
    end = by_list([*range(-8 * MINUTE - HOUR, -HOUR, MINUTE), -HOUR, -HOUR])
    brokers = Brokers(monkeypatch, end)
    brokers.sent[0][-1] = NOON + 9 * HOUR
    ticks = Ticks([still(end, 8)])
    (age,) = ticks.tick(40)
    assert abs(age - HOUR - ticks.now) <= TICK


def test_times_that_cannot_be_true_do_not_move_a_record_between_observed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """All records seem to be older than any time, or newer: the ends that were observed say that neither is true."""
    for written in (1, NOON + HOUR):
        brokers = Brokers(monkeypatch, evenly(1))
        true_time = brokers.sent[0][9_000]
        brokers.sent[0] = [written] * len(brokers.sent[0])
        ticks = Ticks([Partition(evenly(1), [(-2 * HOUR, 9_000)])])
        ticks.memory.add_past_ends(np.array([0]), np.array([NOON - HOUR]), np.array([7_200]))
        ticks.now += TICK
        ticks.window = ticks._build()
        (age,) = ticks.tick(40)
        assert abs(NOON + ticks.now - age - true_time) <= TICK
