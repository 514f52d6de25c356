"""A small chart of a group's lag in one row of a table, as SVG without a script."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from exporters.page.formatting import NONE
from exporters.page.html_tree import Element, el
from exporters.wording import duration, number

LagPoint: TypeAlias = tuple[float, int | None]
"""Unix seconds and lag; None: unknown."""
WIDTH: Final = 80
HEIGHT: Final = 18
GAP_SECONDS: Final = 90.0
"""Points further apart are not connected: the values in between are unknown."""


def sparkline(points: Sequence[LagPoint]) -> Element:
    """Return the lag over time; a dash if fewer than two lags are known. The level begins at 0."""
    known = [(at, lag) for at, lag in points if lag is not None]
    if len(known) < 2:
        return NONE
    begin, end = points[0][0], points[-1][0]
    most = max(lag for _, lag in known)

    def placed(point: tuple[float, int]) -> str:
        x = WIDTH * (point[0] - begin) / ((end - begin) or 1)
        y = (HEIGHT - 2) * (1 - point[1] / (most or 1)) + 1
        return f"{x:.1f},{y:.1f}"

    path = "".join(f"M{'L'.join(map(placed, run))}" for run in _connected(points))
    first, last = known[0][1], known[-1][1]
    words = f"lag over {duration(end - begin)}: from {number(first)} to {number(last)}, at most {number(most)}"
    return el(
        "svg",
        el("path", d=path),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=WIDTH,
        height=HEIGHT,
        role="img",
        aria_label=words,
        class_="sparkline",
    )


def _connected(points: Sequence[LagPoint]) -> Iterator[list[tuple[float, int]]]:
    """Yield the runs of known lags without a gap; a single point is a line of no length."""
    run = list[tuple[float, int]]()
    for at, lag in points:
        if run and (lag is None or at - run[-1][0] > GAP_SECONDS):
            yield _drawable(run)
            run = []
        if lag is not None:
            run.append((at, lag))
    if run:
        yield _drawable(run)


def _drawable(run: list[tuple[float, int]]) -> list[tuple[float, int]]:
    return run * 2 if len(run) == 1 else run
