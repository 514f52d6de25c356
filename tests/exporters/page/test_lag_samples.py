"""What the pages remember of the latest snapshots."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from exporters.page.lag_samples import SAMPLES, LagSamples
from tests.exporters.snapshots import NOON, snapshot

if TYPE_CHECKING:
    from exporters.readmodel import Snapshot


def world(second: int, *names: str, lag: int | None = 7) -> Snapshot:
    """Make a snapshot so many seconds past noon, of groups with this lag."""
    groups = [{"group": name, "lag_sum": lag, "time_lag_max": 2.5, "time_lag_max_exact": False} for name in names]
    return dataclasses.replace(snapshot(groups=groups), taken_at=NOON / 1000 + second)


def test_a_group_is_followed_through_the_snapshots() -> None:
    """Oldest first, unknown as unknown; where the group was not there is nothing."""
    trail = LagSamples()
    for seen in (world(0, "a", "b"), world(10, "b"), world(20, "a", "b", lag=None)):
        trail.record(seen)
    begin = NOON / 1000
    assert trail.of_group("a") == [(begin, 7, 2.5, False), (begin + 20, None, 2.5, False)]
    assert [moment - begin for moment, *_ in trail.of_group("b")] == [0, 10, 20]
    assert trail.of_group("c") == []


def test_a_snapshot_is_noted_once() -> None:
    """However many read it; and one that is older than the newest is not put behind it."""
    trail = LagSamples()
    for second in (0, 10, 10, 0, 10):
        trail.record(world(second, "a"))
    assert len(trail.of_group("a")) == 2


def test_it_keeps_within_its_limits() -> None:
    """The oldest go first, by number and by size; the newest stays however large it is."""
    trail = LagSamples()
    for second in range(SAMPLES + 5):
        trail.record(world(second, "a"))
    assert [len(trail.of_group("a")), trail.of_group("a")[0][0]] == [SAMPLES, NOON / 1000 + 5]
    small = LagSamples(limit=1)
    for second in range(3):
        small.record(world(second, "a"))
    assert [moment for moment, *_ in small.of_group("a")] == [NOON / 1000 + 2]
