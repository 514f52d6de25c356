"""The small chart of a lag in a table."""

from exporters.page.html_tree import Element
from exporters.page.sparkline import HEIGHT, WIDTH, LagPoint, sparkline


def path(points: list[LagPoint]) -> str:
    """Return the drawing commands of the chart of these points."""
    (line,) = sparkline(points).children
    assert isinstance(line, Element)
    return line.attributes["d"]


def test_the_line_uses_the_whole_width_and_begins_at_zero() -> None:
    """The greatest lag is at the top, and a lag of 0 is at the bottom."""
    assert path([(0.0, 0), (30.0, 10), (60.0, 5)]) == f"M0.0,{HEIGHT - 1:.1f}L40.0,1.0L{WIDTH:.1f},9.0"


def test_unknown_lags_and_pauses_are_gaps() -> None:
    """The points on both sides of an unknown lag, or of a pause between snapshots, are not connected."""
    assert path([(0.0, 1), (30.0, None), (60.0, 1)]).count("M") == path([(0.0, 1), (91.0, 1)]).count("M") == 2


def test_a_single_lag_is_no_trend() -> None:
    """A dash stands for fewer than two known lags."""
    assert {sparkline(points).tag for points in ([], [(0.0, 1)], [(0.0, 1), (30.0, None)])} == {"span"}


def test_a_group_without_lag_has_a_line_at_the_bottom() -> None:
    """A lag of 0 is a known value, not a missing one."""
    assert path([(0.0, 0), (30.0, 0)]) == "M0.0,17.0L80.0,17.0"


def test_the_chart_has_its_numbers_as_text() -> None:
    """The chart has its numbers as text for readers who do not see it."""
    assert sparkline([(0.0, 4), (30.0, 10), (60.0, 5)]).attributes["aria-label"] == (
        "lag over 1 min: from 4 to 5, at most 10"
    )
