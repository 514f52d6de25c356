"""The sections of the overview page beside the live groups: common causes, groups that need attention, dead groups."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.formatting import (
    badge,
    known,
    lasting,
    named,
    offsets,
    severity_class,
    since,
    text,
    time_lag,
)
from exporters.page.html_tree import Element, el
from exporters.wording import ATTENTION, number, phrase, printable, utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporters.page.group_filter import GroupFilter
    from exporters.page.html_tree import Content

ROWS: Final = 200
"""Limit of the rows per table of live and dead groups."""
ATTENTION_ROWS: Final = 50
"""Limit of the groups that are shown with their sentence."""

CAUSE_GROUPS: Final = 20
"""Limit of the groups that are named for a common cause."""


def group_link(name: str, root: str = "") -> str:
    """Return the URL of a group's page. A query can have any name, while proxies may rewrite paths."""
    return f"{root}group?name={urllib.parse.quote(name, safe='')}"


def common_causes_section(causes: pa.Table) -> Content:
    """Return what explains many unhealthy groups, each with its sentence, its next step and links to its groups."""
    rows = causes.select(["sentence", "next_step", "groups", "dimension", "key"]).to_pylist()
    if not rows:
        return None
    return el(
        "section",
        el("h2", "Common cause" if len(rows) == 1 else "Common causes"),
        el("ol", [_common_cause(row) for row in rows], class_="stuck"),
        aria_label="Common causes",
    )


def _common_cause(row: dict[str, Any]) -> Element:
    groups = row["groups"]
    links: Content = [[el("a", named(name), href=group_link(name)), " "] for name in groups[:CAUSE_GROUPS]]
    rest = len(groups) - CAUSE_GROUPS
    return el(
        "li",
        el("p", printable(row["sentence"]), class_="sentence"),
        el("p", el("b", "What to do: "), printable(row["next_step"]), class_="next"),
        el("p", links, f"and {number(rest)} more" if rest > 0 else None, class_="facts"),
        class_=severity_class("critical"),
        data_key=f"{row['dimension']} {row['key']}",
    )


def attention_section(live: pa.Table, now: float, group_filter: GroupFilter) -> Content:
    """Return the groups that need attention, each with its sentence."""
    groups = live.filter(pc.is_in(live.column("severity").cast(pa.string()), pa.array(ATTENTION)))
    if not len(groups):
        return None
    total, rows = len(groups), groups.slice(0, ATTENTION_ROWS).to_pylist()
    note = number(total) if total <= ATTENTION_ROWS else f"the worst {number(ATTENTION_ROWS)} of {number(total)}"
    return el(
        "section",
        el("h2", "Need attention ", el("small", f"{note} of the filtered groups" if group_filter else note)),
        el("ol", [_attention_item(row, now) for row in rows], class_="stuck"),
        aria_label="Need attention",
    )


def _attention_item(row: dict[str, Any], now: float) -> Element:
    facts = [
        ("lag", offsets(row["lag_sum"])),
        ("time lag", time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"])),
        ("members", known(row["members"])),
        *([("team", owner_link(row["team"]))] if row["team"] else []),
    ]
    note = alert_note(row)
    return el(
        "li",
        el(
            "p",
            badge(row["verdict"], row["severity"]),
            " ",
            el("a", named(row["group"]), href=group_link(row["group"]), class_="name"),
            " ",
            el("small", _duration_and_severity(row, now)),
            [" ", el("small", "\N{MIDDLE DOT}"), note] if note is not None else None,
        ),
        el("p", printable(row["sentence"]), class_="sentence") if row["sentence"] else None,
        el("p", [[el("span", name, " ", el("b", value)), " "] for name, value in facts], class_="facts"),
        class_=severity_class(row["severity"]),
        data_key=row["group"],
    )


def _duration_and_severity(row: dict[str, Any], now: float) -> Content:
    """Return for how long the verdict has lasted, and its severity in words for readers who do not see the colours."""
    begun = row["verdict_since"]
    return [[lasting(begun, now), " \N{MIDDLE DOT} "] if begun is not None else None, phrase(row["severity"])]


def table(
    title: str, heads: Sequence[tuple[str, str] | Element], rows: Sequence[Element], class_: str | None = None
) -> Element:
    """Return a table with its heads, elements or (text, class). A table wider than the window scrolls on its own."""
    cells = [
        head if isinstance(head, Element) else el("th", head[0], scope="col", class_=head[1] or None) for head in heads
    ]
    whole = el("table", el("thead", el("tr", cells)), el("tbody", rows), class_=class_)
    return el("div", whole, class_="wide", tabindex="0", role="group", aria_label=f"{title}, as a table")


def owner_link(team: str | None) -> Content:
    """Return a team with a link to its groups, nothing for a group without one."""
    words = printable(team or "")
    return el("a", words, href=f"./?{urllib.parse.urlencode({'owner': team})}", title=words) if team else None


def alert_note(row: dict[str, Any]) -> Content:
    """Return why the group raises no alert: a maintenance window, a silence, or an old fault. None for others."""
    if row["maintenance_until"] is not None:
        return [" ", el("small", "in maintenance", title=f"until {utc(row['maintenance_until'] / 1000)} UTC")]
    if row["silence_reason"] is not None:
        return [" ", el("small", "silenced", title=printable(row["silence_reason"]))]
    if row["not_alerted"]:
        return [" ", el("small", "no alert", title="the fault is older than lagwarden, or the group was forgotten")]
    return None


def dead_section(groups: pa.Table, now: float) -> Content:
    """Return the table of dead groups, the latest death first."""
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
        el("h2", "Recently died ", el("small", note)),
        table("Recently died", heads, rows),
        aria_label="Recently died",
    )


def in_milliseconds(table: pa.Table) -> pa.Table:
    """Return a table with its times as Unix milliseconds: Python reads a time without a zone as local time."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table
