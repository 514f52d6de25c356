"""The page at `/`: is anything wrong, can the numbers be relied on, which groups are stuck, and all groups by severity.

Whatever the size of the fleet, a page has at most so many rows; the rest is a filter or a step away, and in the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.document import Page
from exporters.page.formatting import state_class
from exporters.page.group_filter import NOT_KNOWN, GroupFilter
from exporters.page.html_tree import Element, el
from exporters.page.monitor_card import freshness, is_old, monitor_card
from exporters.page.overview_tables import SICK, gone_section, living_section, stuck_section
from exporters.wording import SEVERITIES, count, number, phrase, printable

if TYPE_CHECKING:
    from exporters.page.html_tree import Content
    from exporters.readmodel import MonitorStatus, Snapshot
    from exporters.text.exposition import PublishedSnapshot


_DEAD: Final = "Dead"
_LINKS: Final = (("metrics", "metrics"), ("api/v1/groups", "groups as JSON"), ("readyz", "readiness"))


def overview_page(published: PublishedSnapshot | None, status: MonitorStatus, now: float, chosen: GroupFilter) -> Page:
    """Give the page as of `now` (Unix seconds)."""
    monitor = monitor_card(published, status, now)
    if published is None:
        heading = el("h1", "Nothing is known yet")
        return _page("not ready", [heading, monitor, el("p", "No snapshot of the groups yet.", class_="note")], status)
    content = [_glance(published.snapshot, chosen, freshness(published, status, now)), _fleet(published, now, chosen)]
    # Where the monitor is well, one line about it is enough at the top; where it is not, that comes before all numbers.
    sound = status.ready and not is_old(published.snapshot.taken_at, now)
    return _page(_in_short(published.snapshot), [content, monitor] if sound else [monitor, content], status)


def _page(headline: str, content: Content, status: MonitorStatus) -> Page:
    foot = f"lagwarden {printable(status.version)} · times are ages; hover for UTC"
    return Page(f"{headline} · lagwarden", content, links=_LINKS, foot=foot)


def _fleet(published: PublishedSnapshot, now: float, chosen: GroupFilter) -> Content:
    every = in_milliseconds(published.snapshot.groups)
    if not len(every):
        return el("p", "No group has committed an offset or has members.", class_="note")
    shown = chosen.among(every)
    dead = pc.equal(shown.column("state"), _DEAD).fill_null(False)
    living = _worst_first(shown.filter(pc.invert(dead)))
    return [
        _filter(every, chosen),
        stuck_section(living, now, chosen),
        living_section(living, now, chosen),
        gone_section(shown.filter(dead), now),
    ]


def _sick(snapshot: Snapshot) -> dict[str, int]:
    """Count the groups that somebody must look at, by severity, the worst first."""
    severities = _counts(snapshot.groups, "severity")
    return {severity: severities[severity] for severity in reversed(SICK) if severity in severities}


def _in_short(snapshot: Snapshot) -> str:
    """Say for the browser's tab whether anything is wrong."""
    return ", ".join(f"{number(how_many)} {severity}" for severity, how_many in _sick(snapshot).items()) or "all fine"


def _headline(snapshot: Snapshot) -> str:
    """Say whether anything is wrong."""
    if sick := sum(_sick(snapshot).values()):
        return f"{count(sick, 'group')} need{'s' if sick == 1 else ''} attention"
    if snapshot.groups.column("severity").null_count == len(snapshot.groups):
        return "Nothing is judged yet"
    return "No group needs attention"


def _counts(groups: pa.Table, column: str) -> dict[str | None, int]:
    """Count the groups by a word of theirs, the most frequent first."""
    grouped = groups.group_by(column).aggregate([([], "count_all")])
    pairs = zip(grouped[column].to_pylist(), grouped["count_all"].to_pylist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0] is None, pair[0] or "")))


def _glance(snapshot: Snapshot, chosen: GroupFilter, fresh: Content) -> Element:
    """Give the headline and how many groups are in which severity and verdict; each is a way to see only those."""
    severities = _counts(snapshot.groups, "severity")
    worst = max((SEVERITIES.index(word) for word in severities if word in SEVERITIES), default=1)
    of_severity = [
        _chip(chosen, "severity", severity, severities.get(severity, 0), f"severity-chip {severity}")
        for severity in reversed(SEVERITIES)
    ]
    bad = {row["verdict"]: row["severity"] for row in snapshot.verdict_groups.to_pylist()}
    verdicts = [word for word in _counts(snapshot.groups, "verdict").items() if word[0] is not None]
    verdicts.sort(key=lambda pair: -_rank(bad.get(str(pair[0]))))
    of_verdict = [_chip(chosen, "verdict", verdict, how_many, "verdict-chip") for verdict, how_many in verdicts]
    return el(
        "section",
        el("h1", _headline(snapshot)),
        el("p", fresh, class_="fresh"),
        el("ul", of_severity, class_="chips big", aria_label="Groups by severity"),
        el("ul", of_verdict, class_="chips", aria_label="Groups by verdict") if of_verdict else None,
        class_=f"glance {SEVERITIES[worst]}",
        aria_label="Fleet at a glance",
    )


def _rank(severity: str | None) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else 1


def _chip(chosen: GroupFilter, column: str, word: str | None, how_many: int, class_: str) -> Element:
    """Give a count that chooses its groups, or, when they are chosen, lets them go."""
    value = NOT_KNOWN if word is None else word
    current = bool(value) and getattr(chosen, column) == value
    said: Content = [el("b", number(how_many)), " ", phrase(value)]
    link = el(
        "a", said, href=chosen.but(**{column: "" if current else value}), aria_current="true" if current else None
    )
    return el("li", link, class_=f"{class_}{'' if how_many else ' none'}", data_key=f"{column} {value}")


def _filter(groups: pa.Table, chosen: GroupFilter) -> Element:
    """Give the field for a part of a name, and the choice by state."""
    others = {word: getattr(chosen, word) for word in ("severity", "verdict", "state")}
    hidden = [el("input", type="hidden", name=word, value=value) for word, value in others.items() if value]
    field = el(
        "input",
        type="search",
        name="filter",
        id="filter",
        value=chosen.filter,
        placeholder="a part of the name",
        autocomplete="off",
        spellcheck="false",
        data_keep=True,
    )
    states = [
        _chip(chosen, "state", word, how_many, f"state-chip {'quiet' if word is None else state_class(word)}")
        for word, how_many in _counts(groups, "state").items()
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
        el("a", "show all", href="./", class_="all") if chosen else None,
        class_="choose",
        aria_label="Choose groups",
    )


def _worst_first(groups: pa.Table) -> pa.Table:
    """Sort by severity, then by how long records wait, then by how many; what is sorted by name stays so in between."""
    rank = pc.index_in(groups.column("severity").cast(pa.string()), pa.array(SEVERITIES)).fill_null(1)
    order = [(column, "descending", "at_end") for column in ("rank", "time_lag_max", "lag_sum")]
    return groups.take(pc.sort_indices(groups.append_column("rank", rank), sort_keys=order))


def in_milliseconds(table: pa.Table) -> pa.Table:
    """Give moments as whole numbers: Python would take a moment without a zone for local time."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table
