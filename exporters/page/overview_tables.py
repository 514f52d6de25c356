"""The sections of the overview page beside the live groups: common causes, groups that need attention, dead groups."""

import operator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page import ui
from exporters.page.group_filter import GroupFilter
from exporters.page.html_tree import Content, Element, el
from exporters.readmodel import Snapshot
from exporters.wording import ATTENTION, number, phrase, printable, utc

ROWS: Final = 200
"""Limit of the rows per table of live and dead groups."""
ATTENTION_ROWS: Final = 50
"""Limit of the groups that are shown with their sentence."""

CAUSE_GROUPS: Final = 20
"""Limit of the groups that are named for a common cause."""


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
    links: Content = [[ui.group_link(name), " "] for name in groups[:CAUSE_GROUPS]]
    rest = len(groups) - CAUSE_GROUPS
    return el(
        "li",
        el("p", printable(row["sentence"]), class_="sentence"),
        el("p", el("b", "What to do: "), printable(row["next_step"]), class_="next"),
        el("p", links, f"and {number(rest)} more" if rest > 0 else None, class_="facts"),
        class_=ui.severity_class("critical"),
        data_key=f"{row['dimension']} {row['key']}",
    )


def attention_section(snapshot: Snapshot, live: pa.Table, now: float, group_filter: GroupFilter) -> Content:
    """Return those of some groups of a snapshot that need attention, each with its sentence."""
    groups = live.filter(pc.is_in(live.column("severity").cast(pa.string()), pa.array(ATTENTION)))
    if not len(groups):
        return None
    total, rows = len(groups), snapshot.with_sentences(groups.slice(0, ATTENTION_ROWS)).to_pylist()
    note = number(total) if total <= ATTENTION_ROWS else f"the worst {number(ATTENTION_ROWS)} of {number(total)}"
    items = el("ol", [_attention_item(row, now) for row in rows], class_="stuck")
    return ui.titled("Need attention", items, shown=f"{note} of the filtered groups" if group_filter else note)


def _attention_item(row: dict[str, Any], now: float) -> Element:
    facts = [
        ("lag", ui.offsets(row["lag_sum"])),
        ("time lag", ui.time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"])),
        ("members", ui.known(row["members"])),
        *([("team", ui.owner_link(row["team"]))] if row["team"] else []),
    ]
    note, begun = alert_note(row), row["verdict_since"]
    lasting = None if begun is None else [ui.lasting(begun, now), " \N{MIDDLE DOT} "]
    return el(
        "li",
        el(
            "p",
            ui.badge(row["verdict"], row["severity"]),
            " ",
            ui.group_link(row["group"], class_="name"),
            " ",
            # In words, too, for readers who do not see the colours.
            el("small", lasting, phrase(row["severity"])),
            [" ", el("small", "\N{MIDDLE DOT}"), note] if note is not None else None,
        ),
        el("p", printable(row["sentence"]), class_="sentence") if row["sentence"] else None,
        el("p", [[el("span", name, " ", el("b", value)), " "] for name, value in facts], class_="facts"),
        class_=ui.severity_class(row["severity"]),
        data_key=row["group"],
    )


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
    columns = (
        ui.PageColumn("Group", lambda row: ui.group_link(row["group"])),
        ui.PageColumn("Cause", lambda row: ui.known(row["death_cause"], printable)),
        ui.PageColumn("Died", lambda row: ui.since(row["died_time"], now)),
        ui.PageColumn("Kind", lambda row: ui.known(row["kind"], printable)),
    )
    table = ui.table("Recently died", columns, groups.take(order[:ROWS]).to_pylist(), operator.itemgetter("group"))
    return ui.titled("Recently died", table, shown=note)


def in_milliseconds(table: pa.Table) -> pa.Table:
    """Return a table with its times as Unix milliseconds: Python reads a time without a zone as local time."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table
