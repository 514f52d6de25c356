"""The partitions of a group as a strip of cells per topic, in the colours of their verdicts.

A cell is a link to the row of its partition in the table of partitions. The links are not in the order of the Tab key,
which would stop at each of a thousand cells before it reaches the table.
"""

import collections
import itertools
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from exporters.page.blocks import note, titled
from exporters.page.formatting import named, severity_class
from exporters.page.html_tree import Content, Element, el
from exporters.wording import count, number, phrase, printable

CELLS: Final = 1000
"""Limit of the cells of all topics."""


def partition_id(topic: str, partition: int) -> str:
    """Return the id of the row of a partition on the page of a group."""
    return f"partition-{partition}-{topic}"


def strips_section(partitions: Sequence[Mapping[str, Any]], severities: Mapping[str, str]) -> Content:
    """Return a strip per topic; None for fewer than two partitions. `partitions` are rows of PARTITIONS by topic."""
    if len(partitions) < 2:
        return None
    topics = itertools.groupby(partitions[:CELLS], key=lambda row: row["topic"])
    rest = len(partitions) - CELLS
    return titled(
        "Partitions by verdict",
        [_strip(topic, list(rows), severities) for topic, rows in topics],
        note(f"{count(rest, 'partition')} more: see the API.") if rest > 0 else None,
    )


def _strip(topic: str, rows: Sequence[Mapping[str, Any]], severities: Mapping[str, str]) -> Element:
    verdicts = collections.Counter(_verdict(row) for row in rows)
    summary = ", ".join(f"{number(amount)} {verdict}" for verdict, amount in verdicts.most_common())
    words = f"{printable(topic)}: {count(len(rows), 'partition')}, {summary}"
    return el(
        "div",
        el("p", named(topic), " ", el("small", summary)),
        el("div", _cells(rows, severities), class_="strip", role="group", aria_label=words),
        data_key=topic,
    )


def _cells(rows: Iterable[Mapping[str, Any]], severities: Mapping[str, str]) -> list[Element]:
    return [
        el(
            "a",
            class_=f"cell {severity_class(severities.get(row['verdict'] or ''))}",
            href=f"#{urllib.parse.quote(partition_id(row['topic'], row['partition']), safe='')}",
            title=(words := f"{row['partition']}: {_verdict(row)}, lag {_lag(row['lag'])}"),
            aria_label=words,
            tabindex="-1",
        )
        for row in rows
    ]


def _verdict(row: Mapping[str, Any]) -> str:
    return "no verdict yet" if row["verdict"] is None else phrase(row["verdict"])


def _lag(lag: int | None) -> str:
    return "unknown" if lag is None else number(lag)
