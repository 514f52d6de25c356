"""The blocks of which pages consist: sections, notes, lists of facts, tables with their rows, and links to pages."""

import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from exporters.page.formatting import known, named, time_lag
from exporters.page.html_tree import Content, Element, el
from exporters.wording import number, printable

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
