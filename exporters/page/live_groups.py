"""The table of live groups on the overview page: one line per group, sortable, one page of rows."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from exporters.group_query import SortKey
from exporters.page import ui
from exporters.page.group_filter import GroupFilter
from exporters.page.html_tree import Content, Element, el
from exporters.page.overview_tables import alert_note
from exporters.wording import duration, number, printable, rate

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
        return ui.NONE
    begin, end = points[0][0], points[-1][0]
    most = max(lag for _, lag in known)

    def placed(point: tuple[float, int]) -> str:
        x = WIDTH * (point[0] - begin) / ((end - begin) or 1)
        y = (HEIGHT - 2) * (1 - point[1] / (most or 1)) + 1
        return f"{x:.1f},{y:.1f}"

    # A single point is a line of no length.
    path = "".join(f"M{'L'.join(map(placed, run if len(run) > 1 else run * 2))}" for run in _connected(points))
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
    """Yield the runs of known lags without a gap."""
    run = list[tuple[float, int]]()
    for at, lag in points:
        if run and (lag is None or at - run[-1][0] > GAP_SECONDS):
            yield run
            run = []
        if lag is not None:
            run.append((at, lag))
    if run:
        yield run


ROWS: Final = 100
"""Limit of the rows of live groups on one page."""

Trends: TypeAlias = Callable[[Sequence[str]], Mapping[str, Sequence[LagPoint]]]
"""Returns the latest lags of groups by their names, the oldest first."""
RATES: Final = ("produce_rate", "consume_rate")
"""Offsets per second that are produced and consumed; null: unknown."""

_SORTED_BY: Final = {
    "Group": SortKey.NAME,
    "Verdict": SortKey.WORST,
    "Lag": SortKey.LAG,
    "Time lag": SortKey.TIME_LAG,
    "Members": SortKey.MEMBERS,
    "Last commit": SortKey.LAST_COMMIT,
}
"""The key by which the table can be sorted, by head."""
_OPTIONAL: Final = {"Offsets expire": "first_offset_expiry_time", "Owner": "team"}
"""Heads and columns that are omitted if no group has a value."""


def with_rates(groups: pa.Table, partitions: pa.Table) -> pa.Table:
    """Return groups with their rates, each the sum over the partitions where it is known; null if none is."""
    names = groups.column("group").cast(pa.string()).combine_chunks()
    rows = partitions.select(RATES).append_column("group", partitions.column("group").cast(pa.string()))
    rows = rows.filter(pc.is_in(rows.column("group"), value_set=names))
    sums = rows.group_by("group").aggregate([(column, "sum") for column in RATES])
    at = pc.index_in(names, value_set=sums.column("group").combine_chunks())
    for column in RATES:
        groups = groups.append_column(column, sums.column(f"{column}_sum").take(at))
    return groups


def live_section(
    live: pa.Table, partitions: pa.Table, now: float, group_filter: GroupFilter, trends: Trends
) -> Element:
    """Return one page of the table of live groups, from the first row of the filter; the last page if that is none."""
    total = len(live)
    if not total:
        active = ", ".join(f"{name} {printable(value)}" for name, value in group_filter.conditions())
        words = f"No live group matches the filter: {active}." if active else "There are no live groups."
        return ui.titled("Groups", ui.note(words))
    start = min(group_filter.start, (total - 1) // ROWS * ROWS)
    rows = with_rates(live.slice(start, ROWS), partitions).to_pylist()
    omitted = {head for head, column in _OPTIONAL.items() if live.column(column).null_count == total}
    if not pc.any(pc.greater(live.column("partitions_lag_unknown"), 0)).as_py():
        omitted.add("Lag unknown")
    lags = trends([row["group"] for row in rows])
    columns = [
        each._replace(head=_head(each, group_filter)) for each in _columns(now, lags) if each.head not in omitted
    ]
    shown = number(total) if total <= ROWS else f"{number(start + 1)} to {number(start + len(rows))} of {number(total)}"
    steps = [
        el("a", words, href=group_filter.url_with(start=at))
        for words, at in (("previous", start - ROWS), ("next", start + ROWS))
        if 0 <= at < total
    ]
    return ui.titled(
        "Groups",
        ui.table("Groups", columns, rows, operator.itemgetter("group"), "lines groups"),
        el("nav", [[step, " "] for step in steps], class_="steps", aria_label="More groups") if steps else None,
        shown=shown,
    )


def _columns(now: float, lags: Mapping[str, Sequence[LagPoint]]) -> tuple[ui.PageColumn, ...]:
    """Return the columns.

    A class `from-PIXELS` hides the column in a narrower window (style.css); the page of a group has all of them.
    """
    return (
        ui.PageColumn("Group", lambda row: ui.group_link(row["group"], title=printable(row["group"]))),
        ui.PageColumn("Verdict", lambda row: [ui.badge(row["verdict"], row["severity"]), alert_note(row)]),
        ui.PageColumn("Lag", lambda row: ui.known(row["lag_sum"]), "number lag"),
        ui.LAG_COLUMNS[2]._replace(class_="number time-lag"),
        ui.PageColumn("Trend", lambda row: sparkline(lags.get(row["group"], ())), "from-900"),
        ui.PageColumn("Members", lambda row: ui.known(row["members"]), "number from-900"),
        ui.PageColumn("Produced", lambda row: ui.known(row["produce_rate"], rate), "number from-1280"),
        ui.PageColumn("Consumed", lambda row: ui.known(row["consume_rate"], rate), "number from-1280"),
        ui.PageColumn("State", lambda row: _state(row, now), "from-1280"),
        ui.PageColumn("Last commit", lambda row: ui.since(row["last_commit_time"], now), "number from-1280"),
        ui.PageColumn("Owner", lambda row: ui.owner_link(row["team"]), "cut from-1440"),
        ui.PageColumn(
            "Offsets expire", lambda row: ui.expiry(row["first_offset_expiry_time"], now), "number from-1600"
        ),
        ui.PageColumn("Partitions", lambda row: ui.known(row["partitions"]), "number from-1910"),
        ui.PageColumn("Lag unknown", _lag_unknown, "number from-1910"),
        ui.PageColumn("Kind", lambda row: ui.known(row["kind"], printable), "from-1910"),
    )


def _head(column: ui.PageColumn, group_filter: GroupFilter) -> Element:
    """Return a head; with a key it is a link that sorts by the column, or reverses its order."""
    words, key, order = column.head, _SORTED_BY.get(str(column.head)), None
    if key is not None:
        words = el("a", words, href=group_filter.sorted_url(key))
        if group_filter.sort is key:
            order = "descending" if group_filter.query().descending else "ascending"
    return el("th", words, scope="col", class_=column.class_ or None, aria_sort=order)


def _lag_unknown(row: dict[str, Any]) -> Content:
    return number(row["partitions_lag_unknown"]) if row["partitions_lag_unknown"] else None


def _state(row: dict[str, Any], now: float) -> Content:
    shown = ui.state(row["state"], described=row["state_described"])
    return shown if row["state_since"] is None else [shown, " ", el("small", ui.lasting(row["state_since"], now))]
