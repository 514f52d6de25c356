"""Executors that register, are lost and are replaced: each change is counted and logged."""

from typing import Any

import pytest
import structlog

from exporters.readmodel import ExecutorCount
from stream.spark.executors.watch import ExecutorWatch


class Clock:
    """A clock that a test sets, at 1,000 s."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock at 1,000 s."""
    return Clock()


def logged(watch: ExecutorWatch, clock: Clock, at: float, *ids: str) -> list[Any]:
    """Record the executors at a time; return events with their executors and the number that runs."""
    clock.now = at
    with structlog.testing.capture_logs() as lines:
        watch.record(frozenset(ids))
    return [(line["event"], line.get("executors"), line["running"]) for line in lines]


def test_executors_that_never_register_are_logged_once(clock: Clock) -> None:
    """The event is logged half a minute after the start, and not again."""
    watch = ExecutorWatch(2, clock)
    assert logged(watch, clock, 1_029) == []
    assert logged(watch, clock, 1_030) == [("executors missing", None, 0)]
    assert logged(watch, clock, 1_900) == []
    assert watch.count == ExecutorCount(expected=2, running=0, none_since=1_000)


def test_lost_executor_is_logged_and_its_replacement_has_half_a_minute(clock: Clock) -> None:
    """Executors that are not replaced within half a minute are logged as missing."""
    watch = ExecutorWatch(2, clock)
    logged(watch, clock, 1_998, "0", "1")
    lost = "executors lost; their tasks run again elsewhere"
    assert logged(watch, clock, 2_000, "1") == [(lost, ["0"], 1)]
    assert logged(watch, clock, 2_020, "1", "2") == [("executors registered", ["2"], 2)]
    assert logged(watch, clock, 2_022) == [(lost, ["1", "2"], 0)]
    assert watch.count == ExecutorCount(expected=2, running=0, none_since=2_022)
    assert logged(watch, clock, 2_049) == []
    assert logged(watch, clock, 2_050) == [("executors missing", None, 0)]
    assert watch.count.none_since == 2_022
