"""The tables of the fleet's page: the stuck groups with their sentences, the living, the dead. Sorted by who calls."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.formatting import (
    badge,
    expiry,
    known,
    lasting,
    named,
    offsets,
    severity_class,
    since,
    state,
    text,
    time_lag,
)
from exporters.page.html_tree import Element, el
from exporters.wording import count, number, phrase, printable

if TYPE_CHECKING:
    from exporters.page.group_filter import GroupFilter
    from exporters.page.html_tree import Content

ROWS: Final = 200
"""How many living groups are shown at once, and how many dead."""
STUCK: Final = 50
"""How many groups are shown with their sentence."""
SICK: Final = ("warning", "critical")
"""The severities that want somebody."""

_HEADS: Final = (
    ("Group", ""), ("Verdict", ""), ("Lag", "number"), ("Time lag", "number"), ("State", ""),
    ("Last commit", "number"), ("Offsets expire", "number"), ("Members", "number"), ("Partitions", "number"),
    ("Lag unknown", "number"), ("Kind", ""),
)  # fmt: skip


def group_link(name: str, root: str = "") -> str:
    """Give the address of a group's page. In a query any name can stand, whatever proxies make of paths."""
    return f"{root}group?name={urllib.parse.quote(name, safe='')}"


def stuck_section(living: pa.Table, now: float, chosen: GroupFilter) -> Content:
    """Give the groups that somebody must look at, each with its sentence."""
    sick = living.filter(pc.is_in(living.column("severity").cast(pa.string()), pa.array(SICK)))
    if not len(sick):
        return None
    total, rows = len(sick), sick.slice(0, STUCK).to_pylist()
    note = number(total) if total <= STUCK else f"the worst {number(STUCK)} of {number(total)}"
    return el(
        "section",
        el("h2", "Need attention ", el("small", f"{note} of those chosen" if chosen else note)),
        el("ol", [_story(row, now) for row in rows], class_="stuck"),
        aria_label="Need attention",
    )


def _story(row: dict[str, Any], now: float) -> Element:
    facts = [
        ("lag", offsets(row["lag_sum"])),
        ("time lag", time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"])),
        ("members", known(row["members"])),
        ("with this verdict", _share(row)),
    ]
    return el(
        "li",
        el(
            "p",
            badge(row["verdict"], row["severity"]),
            " ",
            el("a", named(row["group"]), href=group_link(row["group"]), class_="name"),
            " ",
            el("small", _standing(row, now)),
        ),
        el("p", printable(row["sentence"]), class_="sentence") if row["sentence"] else None,
        el("p", [[el("span", name, " ", el("b", value)), " "] for name, value in facts], class_="facts"),
        class_=severity_class(row["severity"]),
        data_key=row["group"],
    )


def _standing(row: dict[str, Any], now: float) -> Content:
    """Say since when it has this verdict, and how bad that is for those to whom the colours say nothing."""
    begun = row["verdict_since"]
    return [[lasting(begun, now), " \N{MIDDLE DOT} "] if begun is not None else None, phrase(row["severity"])]


def _share(row: dict[str, Any]) -> Content:
    if row["verdict_partitions"] is None:
        return known(None)
    return f"{number(row['verdict_partitions'])} of {count(row['partitions'] or 0, 'partition')}"


def living_section(living: pa.Table, now: float, chosen: GroupFilter) -> Element:
    """Give the table of the groups, the worst first, a piece of it at a time."""
    total = len(living)
    if not total:
        said = "No living group is so." if chosen else "No group is alive."
        return el("section", el("h2", "Groups"), el("p", said, class_="note"), aria_label="Groups")
    start = min(chosen.start, (total - 1) // ROWS * ROWS)
    rows = living.slice(start, ROWS).to_pylist()
    note = number(total) if total <= ROWS else f"{number(start + 1)} to {number(start + len(rows))} of {number(total)}"
    steps = [
        el("a", words, href=chosen.but(start=at))
        for words, at in (("before", start - ROWS), ("after", start + ROWS))
        if 0 <= at < total
    ]
    return el(
        "section",
        el("h2", "Groups ", el("small", note)),
        table("Groups", _HEADS, [_row(row, now) for row in rows]),
        el("nav", [[step, " "] for step in steps], class_="steps", aria_label="More groups") if steps else None,
        aria_label="Groups",
    )


def table(title: str, heads: tuple[tuple[str, str], ...], rows: list[Element]) -> Element:
    """Give a table of rows under their heads: (words, class). Where it is wider than the window, it alone is moved."""
    head = el("tr", [el("th", words, scope="col", class_=class_ or None) for words, class_ in heads])
    whole = el("table", el("thead", head), el("tbody", rows))
    return el("div", whole, class_="wide", tabindex="0", role="group", aria_label=f"{title}, as a table")


def _row(row: dict[str, Any], now: float) -> Element:
    # What a person looks for comes first: on a phone the rest is a swipe away.
    after = (
        since(row["last_commit_time"], now),
        expiry(row["first_offset_expiry_time"], now),
        known(row["members"]),
        known(row["partitions"]),
        number(row["partitions_lag_unknown"]) if row["partitions_lag_unknown"] else "",
    )
    return el(
        "tr",
        el("th", el("a", named(row["group"]), href=group_link(row["group"])), scope="row"),
        el("td", badge(row["verdict"], row["severity"])),
        el("td", known(row["lag_sum"]), class_="number"),
        el("td", time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"]), class_="number"),
        el("td", _state(row, now)),
        [el("td", value, class_="number") for value in after],
        el("td", text(row["kind"])),
        data_key=row["group"],
    )


def _state(row: dict[str, Any], now: float) -> Content:
    shown = state(row["state"], asked=row["state_asked"])
    return shown if row["state_since"] is None else [shown, " ", el("small", lasting(row["state_since"], now))]


def gone_section(groups: pa.Table, now: float) -> Content:
    """Give the table of the dead, the latest death first."""
    total = len(groups)
    if not total:
        return None
    order = pc.sort_indices(groups, [("died_time", "descending", "at_end")])
    note = f"the latest {number(ROWS)} of {number(total)}" if total > ROWS else number(total)
    rows = [
        el(
            "tr",
            el("th", el("a", named(row["group"]), href=group_link(row["group"])), scope="row"),
            el("td", text(row["death_cause"])),
            el("td", since(row["died_time"], now)),
            el("td", text(row["kind"])),
            data_key=row["group"],
        )
        for row in groups.take(order[:ROWS]).to_pylist()
    ]
    heads = (("Group", ""), ("Cause", ""), ("Died", ""), ("Kind", ""))
    return el(
        "section",
        el("h2", "Died lately ", el("small", note)),
        table("Died lately", heads, rows),
        aria_label="Died lately",
    )
