"""The page at `/`: is anything wrong, can the numbers be relied on, which groups are stuck, and all groups by severity.

Whatever the size of the fleet, a page has at most so many rows; the rest is a filter or a step away, and in the API.
"""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.chosen import NOT_KNOWN, Chosen
from exporters.page.document import Page
from exporters.page.monitor import freshness, is_old, monitor_card
from exporters.page.nodes import Element, el
from exporters.page.words import (
    SEVERITIES,
    badge,
    count,
    expiry,
    known,
    lasting,
    named,
    number,
    phrase,
    printable,
    severity_class,
    since,
    state,
    text,
    time_lag,
    tone,
)

if TYPE_CHECKING:
    from exporters.exposition import Published
    from exporters.page.nodes import Content
    from exporters.readmodel import MonitorStatus, Snapshot

ROWS: Final = 200
"""How many living groups are shown at once, and how many dead."""
STUCK: Final = 50
"""How many groups are shown with their sentence."""

_DEAD: Final = "Dead"
_SICK: Final = ("warning", "critical")
_LINKS: Final = (("metrics", "metrics"), ("api/v1/groups", "groups as JSON"), ("readyz", "readiness"))
_HEADS: Final = (
    ("Group", ""), ("Verdict", ""), ("Lag", "number"), ("Time lag", "number"), ("State", ""),
    ("Last commit", "number"), ("Offsets expire", "number"), ("Members", "number"), ("Partitions", "number"),
    ("Lag unknown", "number"), ("Kind", ""),
)  # fmt: skip


def fleet_page(published: Published | None, status: MonitorStatus, now: float, chosen: Chosen) -> Page:
    """Give the page as of `now` (Unix seconds)."""
    monitor = monitor_card(published, status, now)
    if published is None:
        heading = el("h1", "Nothing is known yet")
        return _page("not ready", [heading, monitor, el("p", "No snapshot of the groups yet.", class_="note")], status)
    content = [_glance(published.snapshot, chosen, freshness(published, status, now)), _fleet(published, now, chosen)]
    # Where the monitor is well, one line about it is enough at the top; where it is not, that comes before all numbers.
    sound = status.ready and not is_old(published.snapshot.taken_at, now)
    return _page(_in_short(published.snapshot), [content, monitor] if sound else [monitor, content], status)


def group_link(name: str, root: str = "") -> str:
    """Give the address of a group's page. In a query any name can stand, whatever proxies make of paths."""
    return f"{root}group?name={urllib.parse.quote(name, safe='')}"


def in_milliseconds(table: pa.Table) -> pa.Table:
    """Give moments as whole numbers: Python would take a moment without a zone for local time."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table


def _page(headline: str, content: Content, status: MonitorStatus) -> Page:
    foot = f"lagwarden {printable(status.version)} · times are ages; hover for UTC"
    return Page(f"{headline} · lagwarden", content, links=_LINKS, foot=foot)


def _fleet(published: Published, now: float, chosen: Chosen) -> Content:
    every = in_milliseconds(published.snapshot.groups)
    if not len(every):
        return el("p", "No group has committed an offset or has members.", class_="note")
    shown = chosen.among(every)
    dead = pc.equal(shown.column("state"), _DEAD).fill_null(False)
    living = _worst_first(shown.filter(pc.invert(dead)))
    return [
        _filter(every, chosen),
        _stuck(living, now, chosen),
        _living(living, now, chosen),
        _gone(shown.filter(dead), now),
    ]


def _sick(snapshot: Snapshot) -> dict[str, int]:
    """Count the groups that somebody must look at, by severity, the worst first."""
    severities = _counts(snapshot.groups, "severity")
    return {severity: severities[severity] for severity in reversed(_SICK) if severity in severities}


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
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0] or "")))


def _glance(snapshot: Snapshot, chosen: Chosen, fresh: Content) -> Element:
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


def _chip(chosen: Chosen, column: str, word: str | None, how_many: int, class_: str) -> Element:
    """Give a count that chooses its groups, or, when they are chosen, lets them go."""
    value = NOT_KNOWN if word is None else word
    current = getattr(chosen, column) == value
    said: Content = [el("b", number(how_many)), " ", phrase(value)]
    link = el(
        "a", said, href=chosen.but(**{column: "" if current else value}), aria_current="true" if current else None
    )
    return el("li", link, class_=f"{class_}{'' if how_many else ' none'}", data_key=f"{column} {value}")


def _filter(groups: pa.Table, chosen: Chosen) -> Element:
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
        _chip(chosen, "state", word, how_many, f"state-chip {'quiet' if word is None else tone(word)}")
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
    order = [("rank", "descending"), ("time_lag_max", "descending"), ("lag_sum", "descending")]
    ranked = groups.append_column("rank", rank)
    return groups.take(pc.sort_indices(ranked, sort_keys=order, null_placement="at_end"))


def _stuck(living: pa.Table, now: float, chosen: Chosen) -> Content:
    """Give the groups that somebody must look at, each with its sentence."""
    sick = living.filter(pc.is_in(living.column("severity").cast(pa.string()), pa.array(_SICK)))
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
        ("lag", known(row["lag_sum"])),
        ("time lag", time_lag(row["time_lag_max"])),
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
            el("small", lasting(row["verdict_since"], now)) if row["verdict_since"] is not None else None,
        ),
        el("p", printable(row["sentence"]), class_="sentence") if row["sentence"] else None,
        el("p", [[el("span", name, " ", el("b", value)), " "] for name, value in facts], class_="facts"),
        class_=severity_class(row["severity"]),
        data_key=row["group"],
    )


def _share(row: dict[str, Any]) -> Content:
    if row["verdict_partitions"] is None:
        return known(None)
    return f"{number(row['verdict_partitions'])} of {count(row['partitions'] or 0, 'partition')}"


def _living(living: pa.Table, now: float, chosen: Chosen) -> Element:
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
        table(_HEADS, [_row(row, now) for row in rows]),
        el("nav", [[step, " "] for step in steps], class_="steps", aria_label="More groups") if steps else None,
        aria_label="Groups",
    )


def table(heads: tuple[tuple[str, str], ...], rows: list[Element]) -> Element:
    """Give a table of rows under their heads: (words, class)."""
    head = el("tr", [el("th", words, scope="col", class_=class_ or None) for words, class_ in heads])
    return el("div", el("table", el("thead", head), el("tbody", rows)), class_="wide", tabindex="0", role="group")


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
        el("td", time_lag(row["time_lag_max"]), class_="number"),
        el("td", _state(row, now)),
        [el("td", value, class_="number") for value in after],
        el("td", text(row["kind"])),
        data_key=row["group"],
    )


def _state(row: dict[str, Any], now: float) -> Content:
    shown = state(row["state"], asked=row["state_asked"])
    return shown if row["state_since"] is None else [shown, " ", el("small", lasting(row["state_since"], now))]


def _gone(groups: pa.Table, now: float) -> Content:
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
    return el("section", el("h2", "Died lately ", el("small", note)), table(heads, rows), aria_label="Died lately")
