"""The lags and rates of the latest snapshots, kept for the charts."""

import dataclasses

from exporters.http.openapi.small_world import NOON
from exporters.page.lag_samples import SAMPLES, TREND_POINTS, LagSamples
from exporters.readmodel import Snapshot
from tests.exporters.snapshots import snapshot


def lag_snapshot(second: int, *names: str, lag: int | None = 7) -> Snapshot:
    """Return a snapshot, `second` seconds after NOON, of groups with this lag."""
    groups = [{"group": name, "lag_sum": lag, "time_lag_max": 2.5, "time_lag_max_exact": False} for name in names]
    return dataclasses.replace(snapshot(groups=groups), taken_at=NOON / 1000 + second)


def test_the_samples_of_a_group_are_in_order() -> None:
    """The oldest sample is first, and an unknown lag is None; a snapshot without the group has no sample."""
    samples = LagSamples()
    for each in (lag_snapshot(0, "a", "b"), lag_snapshot(10, "b"), lag_snapshot(20, "a", "b", lag=None)):
        samples.record(each)
    begin = NOON / 1000
    assert samples.of_group("a") == [(begin, 7, 2.5, False, None, None), (begin + 20, None, 2.5, False, None, None)]
    assert [at - begin for at, *_ in samples.of_group("b")] == [0, 10, 20]
    assert samples.of_group("c") == []


def test_a_snapshot_is_recorded_once() -> None:
    """Again, or an older one, has no effect. Number and size are limited; the newest is kept whatever its size."""
    samples = LagSamples()
    for second in (0, 10, 10, 0, 10):
        samples.record(lag_snapshot(second, "a"))
    assert len(samples.of_group("a")) == 2
    samples = LagSamples()
    for second in range(SAMPLES + 5):
        samples.record(lag_snapshot(second, "a"))
    assert [len(samples.of_group("a")), samples.of_group("a")[0][0]] == [SAMPLES, NOON / 1000 + 5]
    small = LagSamples(limit=1)
    for second in range(3):
        small.record(lag_snapshot(second, "a"))
    assert [at for at, *_ in small.of_group("a")] == [NOON / 1000 + 2]


def test_trends_are_the_lags_of_several_groups() -> None:
    """A lag is unknown without its group. Of many snapshots every n-th is used, counted from the newest."""
    samples = LagSamples()
    for each in (lag_snapshot(0, "a", "b"), lag_snapshot(10, "b", lag=9), lag_snapshot(20, "a", "b", lag=None)):
        samples.record(each)
    begin = NOON / 1000
    assert samples.trends(["b", "a", "c"]) == {
        "b": [(begin, 7), (begin + 10, 9), (begin + 20, None)],
        "a": [(begin, 7), (begin + 10, None), (begin + 20, None)],
        "c": [(begin, None), (begin + 10, None), (begin + 20, None)],
    }
    assert samples.trends([]) == {}
    samples = LagSamples()
    for second in range(TREND_POINTS * 2 + 1):
        samples.record(lag_snapshot(second, "a", lag=second))
    lags = [lag for _, lag in samples.trends(["a"])["a"]]
    assert len(lags) <= TREND_POINTS
    assert lags[-2:] == [TREND_POINTS * 2 - 3, TREND_POINTS * 2]
