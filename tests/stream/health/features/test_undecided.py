"""Rows that cannot be evaluated yet."""

from __future__ import annotations

import numpy as np
import pytest

from stream.health.features import lag_trend
from stream.health.features.end_history import EndHistory
from stream.health.features.time_lag import TimeLag
from stream.health.features.undecided import (
    observed_since,
    outage_rows,
    undecided_rows,
    unheard_rows,
    young_rows,
    young_uncommitted_rows,
)
from tests.stream.health.columns import ints

NOW, TICK, PATIENCE = 1_000_000, 10_000, 60_000


def flags(*values: bool) -> np.ndarray:
    """Return a column of flags."""
    return np.array(values, np.bool_)


def test_observed_since() -> None:
    """A row is observed since its oldest known end; before any end is known, since now."""
    history = EndHistory()
    assert observed_since(history, ints(-1, -1), NOW).tolist() == [NOW, NOW]
    history.grow(2)
    history.observe(ints(1), NOW - 50, ints(7))
    assert observed_since(history, ints(0, 1), NOW).tolist() == [-1, NOW - 50]


@pytest.mark.parametrize(
    ("unread", "exact", "age", "trend", "observed", "young"),
    [
        pytest.param(True, False, 70_000, lag_trend.LEVEL, 101, True, id="the age is only a lower bound"),
        pytest.param(True, True, 70_000, lag_trend.TOO_SHORT, 101, True, id="late, with too few commits for a trend"),
        pytest.param(True, True, 70_000, lag_trend.LEVEL, 101, False, id="late, with a trend"),
        pytest.param(True, True, PATIENCE, lag_trend.TOO_SHORT, 101, False, id="not late"),
        pytest.param(True, False, 70_000, lag_trend.LEVEL, 100, False, id="observed for long enough"),
        pytest.param(False, False, 0, lag_trend.LEVEL, 101, False, id="nothing is unread"),
    ],
)
def test_young_rows(unread: bool, exact: bool, age: int, trend: int, observed: int, young: bool) -> None:  # noqa: FBT001, PLR0917 - a table
    """A row is young if the history needed (since 100) is not there and its age or trend depends on it."""
    time_lag = TimeLag(ints(age), flags(exact), ints(0))
    found = young_rows(flags(unread), time_lag, np.array([trend], np.int8), ints(PATIENCE), ints(100), ints(observed))
    assert found.tolist() == [young]


@pytest.mark.parametrize(
    ("uncommitted", "empty", "stuck", "observed", "young"),
    [
        pytest.param(True, False, False, 101, True, id="first observed after the group formed"),
        pytest.param(True, False, False, 100, False, id="observed when the group formed"),
        pytest.param(True, True, False, 101, False, id="the partition is empty"),
        pytest.param(True, False, True, 101, False, id="stuck"),
        pytest.param(False, False, False, 101, False, id="with a commit"),
    ],
)
def test_young_uncommitted_rows(uncommitted: bool, empty: bool, stuck: bool, observed: int, young: bool) -> None:  # noqa: FBT001 - a table
    """The records written between the forming of the group (at 100) and the first observation are not known."""
    found = young_uncommitted_rows(flags(uncommitted), flags(empty), flags(stuck), ints(100), ints(observed))
    assert found.tolist() == [young]


@pytest.mark.parametrize(
    ("outage_end", "age", "outage"),
    [
        pytest.param(501, 2 * TICK + 1, True, id="an outage within the commit window"),
        pytest.param(500, 2 * TICK + 1, False, id="an outage before it"),
        pytest.param(501, 2 * TICK, False, id="not late"),
        pytest.param(-1, 2 * TICK + 1, False, id="no outage"),
    ],
)
def test_outage_rows(outage_end: int, age: int, outage: bool) -> None:  # noqa: FBT001 - a table
    """A commit window (since 500) with an outage in it shows no usual pace."""
    assert outage_rows(ints(outage_end), ints(500), ints(age), TICK).tolist() == [outage]


@pytest.mark.parametrize(
    ("unread", "behind", "outage", "unheard"),
    [
        pytest.param(True, PATIENCE + 1, False, True, id="its commits are not known for longer than its patience"),
        pytest.param(True, PATIENCE, False, False, id="its commits are known"),
        pytest.param(True, 0, True, True, id="an outage"),
        pytest.param(False, PATIENCE + 1, True, False, id="nothing is unread"),
    ],
)
def test_unheard_rows(unread: bool, behind: int, outage: bool, unheard: bool) -> None:  # noqa: FBT001 - a table
    """The group may have read everything with the commits that are not known."""
    found = unheard_rows(flags(unread), ints(NOW - behind), ints(PATIENCE), flags(outage), NOW)
    assert found.tolist() == [unheard]


def test_undecided_rows() -> None:
    """Each of the four reasons is sufficient."""
    reasons = np.vstack([np.zeros((1, 4), np.bool_), np.eye(4, dtype=np.bool_)])
    assert undecided_rows(*reasons.T).tolist() == [False, True, True, True, True]
