"""The forecast of when retention reaches the next record of a group."""

import dataclasses

import numpy as np
import pytest

from stream.health.features.end_history import EndHistory
from stream.health.features.lag import OffsetDistances
from stream.health.features.time_lag import Rates, TimeLag
from stream.health.features.window import forecast
from stream.health.limits import HealthLimits
from tests.stream.health.panes import MINUTE, NOW, SECOND, Row, pane

ROW = np.zeros(1, np.int64)


def column(value: float, kind: type = np.int64) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value], kind)


def forecast_of(
    *,
    pace: int = 100,
    moves: int = 10,
    consume: float = 50.0,
    margin: int = 30_000,
    age: int = 5 * MINUTE,
    trend: int = 0,
    retention: int = -1,
    deletes_own: bool = False,
) -> tuple[int, bool]:
    """Return the forecast for one row whose log start moved `moves` times, once a minute, until now."""
    history = EndHistory(12)
    history.grow(1)
    for minute in range(10, -1, -1):
        start = pace * 60 * max(10 - minute - (10 - moves), 0)
        history.observe(ROW, NOW - minute * MINUTE, column(100_000 + start))
    none = column(0)
    ends = OffsetDistances(none, none, none, none, none, column(margin))
    rates = Rates(column(100.0, float), column(consume, float), column(-1), column(False, bool))
    time_lag = TimeLag(column(age), np.array([True]), column(NOW - age))
    seen = dataclasses.replace(pane(Row()).inputs, retention=column(retention))
    own = np.array([deletes_own])
    soon, near = forecast(seen, history, ROW, ends, time_lag, rates, column(trend), own, HealthLimits())
    return int(soon[0]), bool(near[0])


CASES = {
    "half the pace: margin by the difference": (forecast_of(), (10 * MINUTE, False)),
    "less margin: near": (forecast_of(margin=15_000), (5 * MINUTE, True)),
    "no consumption": (forecast_of(consume=0.0), (5 * MINUTE, True)),
    "unknown consume rate": (forecast_of(consume=float("nan")), (5 * MINUTE, True)),
    "as fast as retention": (forecast_of(consume=100.0), (-1, False)),
    "faster than retention": (forecast_of(consume=400.0), (-1, False)),
    "lag falls": (forecast_of(trend=-1), (-1, False)),
    "young unread records": (forecast_of(age=15 * SECOND), (-1, False)),
    "a log start that never moved": (forecast_of(moves=0), (-1, False)),
    "a log start that moved in one half only": (forecast_of(moves=3, consume=0.0), (-1, False)),
    "the retention time is known, and far": (forecast_of(moves=0, retention=60 * MINUTE), (55 * MINUTE, False)),
    "the retention time is known, and near": (forecast_of(moves=0, retention=6 * MINUTE), (MINUTE, True)),
    "a log start that follows the group itself": (forecast_of(margin=15_000, deletes_own=True), (-1, False)),
    "the retention time, where the group deletes": (
        forecast_of(margin=15_000, deletes_own=True, retention=6 * MINUTE),
        (MINUTE, True),
    ),
    "older than the retention time": (forecast_of(moves=0, retention=4 * MINUTE), (0, True)),
    "the earlier of two estimates": (forecast_of(consume=0.0, retention=6 * MINUTE), (MINUTE, True)),
}


def test_a_loss_is_forecast_from_the_rate_of_the_log_start_and_from_age() -> None:
    """The earlier estimate counts, and no loss is near that is further away than the length of the history."""
    for story, ((soon, near), wanted) in CASES.items():
        assert (story, soon, near) == (story, pytest.approx(wanted[0], rel=0.01), wanted[1])
