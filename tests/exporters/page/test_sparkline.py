"""The small chart of a lag in a table."""

from exporters.page.html_tree import Element
from exporters.page.sparkline import HEIGHT, WIDTH, LagPoint, sparkline


def path(points: list[LagPoint]) -> str:
    """Return the drawing commands of the chart of these points."""
    (line,) = sparkline(points).children
    assert isinstance(line, Element)
    return line.attributes["d"]


def test_the_line_of_lags() -> None:
    """The line has the whole width from zero, gaps for unknown lags and pauses, and none for one lag."""
    assert path([(0.0, 0), (30.0, 10), (60.0, 5)]) == f"M0.0,{HEIGHT - 1:.1f}L40.0,1.0L{WIDTH:.1f},9.0"
    assert path([(0.0, 1), (30.0, None), (60.0, 1)]).count("M") == path([(0.0, 1), (91.0, 1)]).count("M") == 2
    assert {sparkline(points).tag for points in ([], [(0.0, 1)], [(0.0, 1), (30.0, None)])} == {"span"}
    assert path([(0.0, 0), (30.0, 0)]) == "M0.0,17.0L80.0,17.0"


def test_the_chart_has_its_numbers_as_text() -> None:
    """The chart has its numbers as text for readers who do not see it."""
    assert sparkline([(0.0, 4), (30.0, 10), (60.0, 5)]).attributes["aria-label"] == (
        "lag over 1 min: from 4 to 5, at most 10"
    )
