"""The overview page at `/`: summary, common causes, the monitor, groups that need attention, all groups by severity.

The number of rows is limited; the filter, further pages and the API show the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.document import Page
from exporters.page.formatting import state_class
from exporters.page.group_filter import COLUMNS, UNKNOWN_VALUE, GroupFilter
from exporters.page.html_tree import Element, el
from exporters.page.legend import verdict_legend
from exporters.page.monitor_card import freshness, is_old, monitor_card
from exporters.page.overview_tables import attention_section, common_causes_section, dead_section, live_section
from exporters.wording import ATTENTION, SEVERITIES, count, number, phrase, printable

if TYPE_CHECKING:
    from exporters.page.html_tree import Content
    from exporters.readmodel import MonitorStatus, Snapshot
    from exporters.text.exposition import PublishedSnapshot


_DEAD: Final = "Dead"
_LINKS: Final = (("metrics", "metrics"), ("api/v1/groups", "groups as JSON"), ("readyz", "readiness"))


def overview_page(
    published: PublishedSnapshot | None, status: MonitorStatus, now: float, group_filter: GroupFilter
) -> Page:
    """Return the page as of `now` (Unix seconds)."""
    monitor = monitor_card(published, status, now)
    if published is None:
        heading = el("h1", "No snapshot yet")
        return _page(
            "not ready",
            [heading, monitor, el("p", "Waiting for the first snapshot of the groups.", class_="note")],
            status,
        )
    content = [
        _summary(published.snapshot, group_filter, freshness(published, status, now)),
        common_causes_section(published.snapshot.common_causes),
        _groups(published, now, group_filter),
    ]
    # The card of a monitor that is not ready, or behind, comes before the groups; else one line at the top is enough.
    sound = status.ready and not is_old(published.snapshot.taken_at, now)
    legend = verdict_legend(published.snapshot.verdict_groups)
    return _page(_title(published.snapshot), [content, monitor] if sound else [monitor, content], status, legend)


def _page(headline: str, content: Content, status: MonitorStatus, legend: Content = None) -> Page:
    part = "" if status.instances == 1 else f" · instance {status.part}"
    foot = f"lagwarden {printable(status.version)}{part} · times are ages; hover for UTC"
    links = (*_LINKS, *_siblings(status))
    return Page(f"{headline} · lagwarden", content, links=links, legend=legend, foot=foot)


def _siblings(status: MonitorStatus) -> list[tuple[str, str]]:
    """Return the links to the other instances: this page shows the groups of one."""
    names = [f"{index}/{status.instances}" for index in range(len(status.siblings))]
    others = zip(status.siblings, names, strict=True)
    return [(f"{url}/", f"instance {name}") for url, name in others if name != status.part]


def _groups(published: PublishedSnapshot, now: float, group_filter: GroupFilter) -> Content:
    groups = in_milliseconds(published.snapshot.groups)
    if not len(groups):
        return el("p", "No group has committed an offset or has members.", class_="note")
    shown = group_filter.apply(groups)
    dead = pc.equal(shown.column("state"), _DEAD).fill_null(False)
    live = _worst_first(shown.filter(pc.invert(dead)))
    return [
        _filter(groups, group_filter),
        attention_section(live, now, group_filter),
        live_section(live, now, group_filter),
        dead_section(shown.filter(dead), now),
    ]


def _attention_counts(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of groups that need attention by severity, the worst first."""
    severities = _counts(snapshot.groups, "severity")
    return {severity: severities[severity] for severity in reversed(ATTENTION) if severity in severities}


def _title(snapshot: Snapshot) -> str:
    """Return the summary for the title of the document."""
    counts = _attention_counts(snapshot)
    return ", ".join(f"{number(groups)} {severity}" for severity, groups in counts.items()) or "all fine"


def _headline(snapshot: Snapshot) -> str:
    """Return the summary for the heading of the page."""
    if groups := sum(_attention_counts(snapshot).values()):
        return f"{count(groups, 'group')} need{'s' if groups == 1 else ''} attention"
    if snapshot.groups.column("severity").null_count == len(snapshot.groups):
        return "No verdicts yet"
    return "No group needs attention"


def _counts(groups: pa.Table, column: str) -> dict[str | None, int]:
    """Return the number of groups per value of a column, the most frequent first."""
    grouped = groups.group_by(column).aggregate([([], "count_all")])
    pairs = zip(grouped[column].to_pylist(), grouped["count_all"].to_pylist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0] is None, pair[0] or "")))


def _summary(snapshot: Snapshot, group_filter: GroupFilter, fresh: Content) -> Element:
    """Return the headline and the number of groups per severity and verdict, each a link to these groups."""
    severities = _counts(snapshot.groups, "severity")
    worst = max((SEVERITIES.index(word) for word in severities if word in SEVERITIES), default=1)
    of_severity = [
        _chip(group_filter, "severity", severity, severities.get(severity, 0), f"severity-chip {severity}")
        for severity in reversed(SEVERITIES)
    ]
    severity_of = {row["verdict"]: row["severity"] for row in snapshot.verdict_groups.to_pylist()}
    verdicts = [pair for pair in _counts(snapshot.groups, "verdict").items() if pair[0] is not None]
    verdicts.sort(key=lambda pair: -_rank(severity_of.get(str(pair[0]))))
    of_verdict = [_chip(group_filter, "verdict", verdict, groups, "verdict-chip") for verdict, groups in verdicts]
    return el(
        "section",
        el("h1", _headline(snapshot)),
        el("p", fresh, class_="fresh"),
        el("ul", of_severity, class_="chips big", aria_label="Groups by severity"),
        el("ul", of_verdict, class_="chips", aria_label="Groups by verdict") if of_verdict else None,
        class_=f"glance {SEVERITIES[worst]}",
        aria_label="Summary",
    )


def _rank(severity: str | None) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else 1


def _chip(group_filter: GroupFilter, column: str, word: str | None, groups: int, class_: str) -> Element:
    """Return a count that links to its groups, or, if the filter already selects them, to all groups."""
    value = UNKNOWN_VALUE if word is None else word
    current = bool(value) and getattr(group_filter, column) == value
    url = group_filter.url_with(**{column: "" if current else value})
    words: Content = [el("b", number(groups)), " ", phrase(value)]
    link = el("a", words, href=url, aria_current="true" if current else None)
    return el("li", link, class_=f"{class_}{'' if groups else ' none'}", data_key=f"{column} {value}")


def _filter(groups: pa.Table, group_filter: GroupFilter) -> Element:
    """Return the input for a part of the name, and the links by state."""
    others = {word: getattr(group_filter, word) for word in COLUMNS}
    hidden = [el("input", type="hidden", name=word, value=value) for word, value in others.items() if value]
    field = el(
        "input",
        type="search",
        name="filter",
        id="filter",
        value=group_filter.filter,
        placeholder="part of the name",
        autocomplete="off",
        spellcheck="false",
        data_keep=True,
    )
    states = [
        _chip(group_filter, "state", word, amount, f"state-chip {'quiet' if word is None else state_class(word)}")
        for word, amount in _counts(groups, "state").items()
    ]
    return el(
        "section",
        el(
            "form",
            el("label", "Filter", for_="filter"),
            field,
            hidden,
            el("button", "Show"),
            action="./",
            role="search",
        ),
        el("ul", states, class_="chips", aria_label="Groups by state"),
        el("a", "show all", href="./", class_="all") if group_filter else None,
        class_="choose",
        aria_label="Filter groups",
    )


def _worst_first(groups: pa.Table) -> pa.Table:
    """Return the groups sorted by severity, time lag and lag, the worst first; otherwise by name."""
    rank = pc.index_in(groups.column("severity").cast(pa.string()), pa.array(SEVERITIES)).fill_null(1)
    order = [(column, "descending", "at_end") for column in ("rank", "time_lag_max", "lag_sum")]
    return groups.take(pc.sort_indices(groups.append_column("rank", rank), sort_keys=order))


def in_milliseconds(table: pa.Table) -> pa.Table:
    """Return a table with its times as Unix milliseconds: Python reads a time without a zone as local time."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table
