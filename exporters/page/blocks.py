"""The blocks of which pages consist: sections, notes, lists of facts, tables with their rows, and links to pages.

Values as HTML elements: names, numbers, times, states and verdicts, and the marks for unknown and for none.

The words themselves are in `exporters.wording`.
"""

import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from exporters.page.html_tree import Content, Element, Node, el
from exporters.wording import SEVERITIES, ago, count, duration, duration_or_zero, number, phrase, printable, utc
from exporters.wording import rate as rate_words

UNKNOWN: Final = el("span", "unknown", class_="unknown")
NONE: Final = el("span", "\N{EN DASH}", class_="unknown")
_DAY: Final = 86_400
_STATE_CLASSES: Final = {"Stable": "good", "Empty": "quiet", "Dead": "bad"}


def named(text: str) -> Element:
    """Return a name from the cluster, isolated from the writing direction around it. The empty name is legal."""
    return el("bdi", printable(text) or "(empty name)")


def known(value: int | None) -> Node:
    """Return a number, or the mark for unknown."""
    return UNKNOWN if value is None else number(value)


def offsets(value: int | None) -> Node:
    """Return a count of offsets, or the mark for unknown."""
    return UNKNOWN if value is None else count(value, "offset")


def text(value: str | None) -> Node:
    """Return a word, or the mark for unknown."""
    return UNKNOWN if value is None else printable(value)


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


def rate(per_second: float | None) -> Node:
    """Return a rate in offsets per second, or the mark for unknown."""
    return UNKNOWN if per_second is None else rate_words(per_second)


def since(milliseconds: int | None, now: float) -> Node:
    """Return the age of a time (Unix milliseconds), or the mark for unknown."""
    return UNKNOWN if milliseconds is None else _timed(milliseconds / 1000, ago(milliseconds / 1000, now))


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

Head = tuple[str, str]
"""The text of a column's head, and the class of its cells."""


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
    total: int,
    heads: Sequence[Head],
    rows: list[Element],
    class_: str | None = None,
    *,
    foot: Content = None,
) -> Element:
    """Return a table with its title and the number of rows; `total` can be more than the rows shown."""
    shown = number(total) if total == len(rows) else f"{number(len(rows))} of {number(total)}"
    return titled(title, table(title, heads, rows, class_), foot, shown=shown)


def table(title: str, heads: Iterable[Head | Element], rows: Sequence[Element], class_: str | None = None) -> Element:
    """Return a table with its heads, elements or (text, class). A table wider than the window scrolls on its own."""
    cells = [
        head if isinstance(head, Element) else el("th", head[0], scope="col", class_=head[1] or None) for head in heads
    ]
    whole = el("table", el("thead", el("tr", cells)), el("tbody", rows), class_=class_)
    return el("div", whole, class_="wide", tabindex="0", role="group", aria_label=f"{title}, as a table")


def table_row(
    heads: Sequence[Head], *cells: Content, key: str | float, title: str | None = None, id_: str | None = None
) -> Element:
    """Return a row of a table, of which the first cell is a head with a `title`; `key` is unique in the table."""
    values = [el("td", cell, class_=class_ or None) for cell, (_, class_) in zip(cells[1:], heads[1:], strict=True)]
    return el("tr", el("th", cells[0], scope="row", title=title), values, id=id_, data_key=key)


def lag_cells(numbers: Mapping[str, Any]) -> list[Content]:
    """Return sum and maximum of the lag, the time lag, and the number of partitions and of those of unknown lag."""
    return [
        known(numbers["lag_sum"]),
        known(numbers["lag_max"]),
        time_lag(numbers["time_lag_max"], exact=numbers["time_lag_max_exact"]),
        known(numbers["partitions"]),
        known(numbers["partitions_lag_unknown"]),
    ]


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
_HEADS: Final = (("Verdict", ""), ("Severity", ""), ("Meaning", "long"), ("What to do", "long"))


def verdict_legend(verdicts: pa.Table) -> Content:
    """Return the closed legend of these verdicts (schema VERDICT_GROUPS); None before the first evaluation."""
    rows = [row for row in verdicts.to_pylist() if row["meaning"] is not None]
    if not rows:
        return None
    # Verdicts of one severity keep their order, which is by rank.
    rows.sort(key=lambda row: SEVERITIES.index(row["severity"]) if row["severity"] in SEVERITIES else 1)
    shown = el(
        "details",
        el("summary", "What the verdicts mean"),
        table(_TITLE, _HEADS, [_row(row) for row in reversed(rows)]),
        aria_label=_TITLE,
    )
    return el("section", shown, class_="legend", aria_label=_TITLE)


def _row(row: dict[str, Any]) -> Element:
    cells = (phrase(row["severity"]), printable(row["meaning"]), printable(row["next_step"] or ""))
    return table_row(_HEADS, badge(row["verdict"], row["severity"]), *cells, key=row["verdict"])
