"""The blocks of which pages consist: sections, notes, lists of facts, tables with their rows, and links to pages.

Values as HTML elements: names, numbers, times, states and verdicts, and the marks for unknown and for none. The words
themselves are in `exporters.wording`.
"""

import operator
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from exporters.page.html_tree import Content, Element, Node, el
from exporters.wording import SEVERITIES, ago, count, duration, duration_or_zero, number, phrase, printable, utc

UNKNOWN: Final = el("span", "unknown", class_="unknown")
NONE: Final = el("span", "\N{EN DASH}", class_="unknown")
_DAY: Final = 86_400
_STATE_CLASSES: Final = {"Stable": "good", "Empty": "quiet", "Dead": "bad"}


def named(text: str) -> Element:
    """Return a name from the cluster, isolated from the writing direction around it. The empty name is legal."""
    return el("bdi", printable(text) or "(empty name)")


def known(value: Any, words: Callable[[Any], Node] = number) -> Node:
    """Return a value as `words` writes it, by default a number, or the mark for unknown."""
    return UNKNOWN if value is None else words(value)


def offsets(value: int | None) -> Node:
    """Return a count of offsets, or the mark for unknown."""
    return known(value, lambda each: count(each, "offset"))


def time_lag(seconds: float | None, *, exact: bool | None = True) -> Node:
    """Return the age of the oldest unread record: a lower bound is marked, and 0 means that nothing is unread."""
    if seconds is None:
        return UNKNOWN
    words = duration_or_zero(seconds)
    if exact is not False:
        return words
    return el("span", f"\N{GREATER-THAN OR EQUAL TO}\u202f{words}", title="Lower bound: older than the known history")


def listed(parts: Iterable[Content], between: Content = ", ") -> list[Content]:
    """Return the parts in their order with a separator between them."""
    return [[between if at else None, part] for at, part in enumerate(parts)]


def since(milliseconds: int | None, now: float) -> Node:
    """Return the age of a time (Unix milliseconds), or the mark for unknown."""
    return known(milliseconds, lambda then: _timed(then / 1000, ago(then / 1000, now)))


def lasting(milliseconds: int, now: float) -> list[Node]:
    """Return for how long something has lasted that began at `milliseconds` (Unix)."""
    begun = milliseconds / 1000
    return ["for ", _timed(begun, duration(max(now - begun, 0.0)))]


def expiry(milliseconds: int | None, now: float) -> Element:
    """Return the time left until an expiry, highlighted within the last day; a dash if none is predicted."""
    if milliseconds is None:
        return NONE
    left = milliseconds / 1000 - now
    shown = _timed(milliseconds / 1000, f"in {duration(left)}" if left > 0 else f"due {duration(-left)} ago")
    return shown if left > _DAY else el("span", shown, class_="warn")


def state(name: str | None, *, described: bool | None) -> list[Node]:
    """Return a group's state in its colour; `described` marks a state that the coordinator returned."""
    if name is None:
        return [UNKNOWN]
    shown: list[Node] = [el("span", printable(name), class_=f"state {state_class(name)}")]
    if described:
        shown += ["\N{NO-BREAK SPACE}", el("abbr", "described", title="From the coordinator: not in the log")]
    return shown


def state_class(state_name: str) -> str:
    """Return the CSS class of a state; all states but Stable, Empty and Dead are transitional."""
    return _STATE_CLASSES.get(state_name, "warn")


def badge(verdict: str | None, severity: str | None) -> Element:
    """Return a verdict in the colour of its severity; a dash before the first evaluation."""
    if verdict is None:
        return NONE
    return el("span", phrase(verdict), class_=f"badge {severity_class(severity)}", title=f"severity: {severity}")


def severity_class(severity: str | None) -> str:
    """Return the CSS class of a severity; a severity that is not one of `SEVERITIES` looks like `unknown`."""
    return severity if severity in SEVERITIES else "unknown"


def _timed(unix_seconds: float, words: str) -> Element:
    return el("span", words, title=f"{utc(unix_seconds)} UTC")


ROWS: Final = 1000
"""Limit of the rows per table of a group or topic; the API has all rows."""

Key = Callable[[Any], str | float]
"""Returns what is unique of a row in its table."""


class PageColumn(NamedTuple):
    """A column of a table: its head, the cell of a row, the class of both, and the title of the cell."""

    head: str | Element
    cell: Callable[[Any], Content]
    class_: str = ""
    title: Callable[[Any], str] | None = None


def titled(title: str, *content: Content, shown: str = "") -> Element:
    """Return a section with its heading; `shown` is beside the heading."""
    return el("section", el("h2", title, [" ", el("small", shown)] if shown else None), content, aria_label=title)


def failure(title: str, *content: Content) -> Element:
    """Return a card in place of a page that cannot be shown."""
    return el("section", el("h1", title), content, class_="card bad")


def note(*content: Content) -> Element:
    """Return a paragraph in small print."""
    return el("p", content, class_="note")


WAITING: Final = note("Waiting for the first snapshot of the groups.")


def fact_list(facts: Iterable[tuple[str, Content]]) -> Element:
    """Return names with their values."""
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in facts])


def section(
    title: str,
    columns: Sequence[PageColumn],
    rows: Sequence[Any],
    key: Key,
    class_: str | None = None,
    *,
    total: int | None = None,
    foot: Content = None,
    **more: Any,
) -> Element:
    """Return a table with its title and the number of rows: `total`, if these are not all; at most ROWS are shown.

    `more` as in `table`.
    """
    total = len(rows) if total is None else total
    shown = number(total) if total <= ROWS else f"{number(ROWS)} of {number(total)}"
    return titled(title, table(title, columns, rows[:ROWS], key, class_, **more), foot, shown=shown)


def table(
    title: str,
    columns: Sequence[PageColumn],
    rows: Iterable[Any],
    key: Key,
    class_: str | None = None,
    *,
    id_of: Callable[[Any], str] | None = None,
) -> Element:
    """Return a table, in which the first cell of a row is a head if it has no class.

    A table wider than the window scrolls on its own.

    `id_of` returns the id of a row, for links to it.
    """
    heads = [
        el("th", each.head, scope="col", class_=each.class_ or None) if isinstance(each.head, str) else each.head
        for each in columns
    ]
    body = [
        el(
            "tr",
            [
                el(
                    "td" if each.class_ or at else "th",
                    each.cell(row),
                    scope=None if each.class_ or at else "row",
                    class_=each.class_ or None,
                    title=None if each.title is None else each.title(row),
                )
                for at, each in enumerate(columns)
            ],
            id=None if id_of is None else id_of(row),
            data_key=key(row),
        )
        for row in rows
    ]
    whole = el("table", el("thead", el("tr", heads)), el("tbody", body), class_=class_)
    return el("div", whole, class_="wide", tabindex="0", role="group", aria_label=f"{title}, as a table")


LAG_COLUMNS: Final = (
    PageColumn("Lag", lambda row: known(row["lag_sum"]), "number"),
    PageColumn("Greatest lag", lambda row: known(row["lag_max"]), "number"),
    PageColumn("Time lag", lambda row: time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"]), "number"),
    PageColumn("Partitions", lambda row: known(row["partitions"]), "number"),
    PageColumn("Lag unknown", lambda row: known(row["partitions_lag_unknown"]), "number"),
)
"""Columns of GROUPS and TOPICS: the lag, and the number of partitions and of those of unknown lag."""


def group_url(name: str, root: str = "") -> str:
    """Return the URL of a group's page. A query can have any name, while proxies may rewrite paths."""
    return f"{root}group?name={urllib.parse.quote(name, safe='')}"


def group_link(name: str, root: str = "", **attributes: str) -> Element:
    """Return a group with a link to its page."""
    return el("a", named(name), href=group_url(name, root), **attributes)


def topic_link(name: str, root: str = "") -> Element:
    """Return a topic with a link to its page."""
    return el("a", named(name), href=f"{root}topic?name={urllib.parse.quote(name, safe='')}")


def owner_link(team: str | None) -> Content:
    """Return a team with a link to its groups, nothing for a group without one."""
    words = printable(team or "")
    return el("a", words, href=f"./?{urllib.parse.urlencode({'owner': team})}", title=words) if team else None


_TITLE: Final = "Legend of the verdicts"
_LEGEND: Final = (
    PageColumn("Verdict", lambda row: badge(row["verdict"], row["severity"])),
    PageColumn("Severity", lambda row: phrase(row["severity"])),
    PageColumn("Meaning", lambda row: printable(row["meaning"]), "long"),
    PageColumn("What to do", lambda row: printable(row["next_step"] or ""), "long"),
)


def severity_rank(severity: str | None) -> int:
    """Return the place of a severity in `SEVERITIES`; any other word ranks as `unknown`."""
    return SEVERITIES.index(severity_class(severity))


def verdict_legend(verdicts: pa.Table) -> Content:
    """Return the closed legend of these verdicts (schema VERDICT_GROUPS); None before the first evaluation."""
    rows = [row for row in verdicts.to_pylist() if row["meaning"] is not None]
    if not rows:
        return None
    # Verdicts of one severity keep their order, which is by rank.
    rows.sort(key=lambda row: severity_rank(row["severity"]))
    shown = el(
        "details",
        el("summary", "What the verdicts mean"),
        table(_TITLE, _LEGEND, reversed(rows), operator.itemgetter("verdict")),
        aria_label=_TITLE,
    )
    return el("section", shown, class_="legend", aria_label=_TITLE)
