"""The tables of a group's page: topics, members, and partitions with their owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from exporters.page.formatting import NONE, badge, expiry, known, listed, named, rate, since, time_lag
from exporters.page.html_tree import el
from exporters.page.overview_tables import table
from exporters.page.partition_strip import partition_id
from exporters.page.topic import topic_link
from exporters.wording import ago, number, phrase, printable, ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from exporters.page.html_tree import Content, Element, Node
    from exporters.readmodel import GroupDetail, MemberDetail, SharePartitionDetail

ROWS: Final = 1000
"""Limit of the rows per table; the API has all rows."""

Owners = dict[tuple[str, int], str]
"""The client id of the owner, by topic and partition."""
Head = tuple[str, str]
"""The text of a column's head, and the class of its cells."""
Severities = dict[str, str]
"""The severity of each verdict."""

_MEMBERS: Final = (
    ("Member", ""), ("Client", ""), ("Host", ""), ("State", ""), ("Epoch", "number"), ("Assigned", ""),
    ("Subscribed to", ""),
)  # fmt: skip
_TOPICS: Final = (
    ("Topic", ""), ("Verdict", ""), ("Lag", "number"), ("Greatest lag", "number"), ("Time lag", "number"),
    ("Partitions", "number"), ("Lag unknown", "number"),
)  # fmt: skip
_PARTITIONS: Final = (
    ("Topic", ""), ("Partition", "number"), ("Verdict", ""), ("Lag", "number"), ("Time lag", "number"),
    ("Committed", "number"), ("End", "number from-1440"), ("Produced", "number from-1440"),
    ("Consumed", "number from-900"), ("Last commit", "number from-1600"), ("Last progress", "number from-900"),
    ("Expires", "number from-1600"), ("Margin", "number from-1910"), ("Lost", "number"), ("Owner", ""),
)  # fmt: skip
"""The columns that a narrow window hides have the class of their least width."""
_SHARE_PARTITIONS: Final = (
    ("Topic", ""), ("Partition", "number"), ("Verdict", ""), ("Lag", "number"), ("Start offset", "number"),
    ("End", "number"), ("Finished", "number"), ("Returned", "number"), ("Most deliveries", "number"),
    ("Acknowledged", "number"), ("Archived", "number"), ("Returns", "number"),
)  # fmt: skip
_SHARE_NUMBERS: Final = (
    "lag", "start_offset", "end", "finished", "returned", "most_deliveries", "acknowledged", "archived", "returns",
)  # fmt: skip
_OPTIONAL: Final = {"Expires": "offset_expiry_time", "Lost": "lost"}
"""Heads and columns that are omitted if no partition has a value."""


def section(
    title: str, total: int, heads: tuple[tuple[str, str], ...], rows: list[Element], class_: str | None = None
) -> Element:
    """Return a table with its title and the number of rows; `total` can be more than the rows shown."""
    note = number(total) if total == len(rows) else f"{number(len(rows))} of {number(total)}"
    return el("section", el("h2", f"{title} ", el("small", note)), table(title, heads, rows, class_), aria_label=title)


def topics_section(topics: pa.Table, severities: Severities) -> Content:
    """Return the table of the group's topics; None if it has fewer than two."""
    if len(topics) < 2:
        return None
    rows = [
        el(
            "tr",
            el("th", named(row["topic"]), scope="row", title=printable(row["topic"])),
            el("td", badge(row["verdict"], severities.get(row["verdict"]))),
            [el("td", known(row[column]), class_="number") for column in ("lag_sum", "lag_max")],
            el("td", time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"]), class_="number"),
            el("td", known(row["partitions"]), class_="number"),
            el("td", known(row["partitions_lag_unknown"]), class_="number"),
            data_key=row["topic"],
        )
        for row in topics.slice(0, ROWS).to_pylist()
    ]
    return section("Topics", len(topics), _TOPICS, rows, "lines")


def members_section(detail: GroupDetail) -> Element:
    """Return the table of the members with their assignment."""
    if not detail.members:
        note = el("p", "The group has no members.", class_="note")
        return el("section", el("h2", "Members ", el("small", "0")), note, aria_label="Members")
    rows = [_member(member) for member in detail.members[:ROWS]]
    return section("Members", len(detail.members), _MEMBERS, rows)


def partitions_section(
    partitions: pa.Table, detail: GroupDetail | None, severities: Severities, now: float, root: str
) -> Element:
    """Return the table of the partitions with their owners and links to the pages of their topics.

    Times in `partitions` are Unix milliseconds. `root` is the relative path to the overview page.
    """
    if not len(partitions):
        note = el("p", "The group has no committed offsets.", class_="note")
        return el("section", el("h2", "Partitions ", el("small", "0")), note, aria_label="Partitions")
    owners = _owners(detail.members) if detail is not None else {}
    # Empty columns are omitted, so that the owner is visible without scrolling.
    empty = {
        head for head, column in _OPTIONAL.items() if not pc.any(pc.not_equal(partitions.column(column), 0)).as_py()
    }
    heads = tuple(head for head in _PARTITIONS if head[0] not in empty)
    rows = [_partition(row, owners, severities, now, heads, root=root) for row in partitions.slice(0, ROWS).to_pylist()]
    return section("Partitions", len(partitions), heads, rows, "lines")


def share_partitions_section(detail: GroupDetail | None, severities: Severities, now: float, root: str) -> Element:
    """Return the table of the partitions of a share group, with the age of its numbers."""
    partitions = None if detail is None else detail.share_partitions
    if detail is None or partitions is None or detail.share_progress_time is None:
        note = el("p", "The progress of the group in its partitions is not known.", class_="note")
        return el("section", el("h2", "Partitions"), note, aria_label="Partitions")
    rows = [_share_partition(each, severities, root) for each in partitions[:ROWS]]
    note = el(
        "p",
        f"Read {ago(detail.share_progress_time, now)} from __share_group_state. Finished: after the start offset. ",
        "Returned: waits for another delivery, or has been delivered again. Acknowledged, archived and returns count ",
        "from the start of the monitor.",
        class_="note",
    )
    table_of_rows = section("Partitions", len(partitions), _SHARE_PARTITIONS, rows, "lines")
    return el("section", table_of_rows, note)


def _share_partition(row: SharePartitionDetail, severities: Severities, root: str) -> Element:
    return el(
        "tr",
        el("th", el("a", named(row.topic), href=topic_link(row.topic, root)), scope="row", title=printable(row.topic)),
        el("td", number(row.partition), class_="number"),
        el("td", badge(row.verdict, severities.get(row.verdict or ""))),
        [
            el("td", NONE if (name, value) == ("most_deliveries", None) else known(value), class_="number")
            for name, value in ((name, getattr(row, name)) for name in _SHARE_NUMBERS)
        ],
        id=partition_id(row.topic, row.partition),
        data_key=f"{row.partition} {row.topic}",
    )


def _member(member: MemberDetail) -> Element:
    named_static = None
    if member.instance_id is not None:
        named_static = [el("br"), el("small", "static ", named(member.instance_id), title="group.instance.id")]
    rack = [el("br"), el("small", "rack ", named(member.rack))] if member.rack else None
    subscribed: list[Element] = [named(topic) for topic in member.subscription]
    if member.regex:
        subscribed.append(el("code", printable(member.regex)))
    state = el("span", "away", class_="warn") if member.away else printable(member.state or "") or NONE
    return el(
        "tr",
        el("th", named(member.member_id), named_static, scope="row"),
        el("td", NONE if member.client_id is None else named(member.client_id)),
        el("td", NONE if member.client_host is None else named(member.client_host), rack),
        el("td", state),
        el("td", NONE if member.epoch is None else number(member.epoch), class_="number"),
        el("td", _assigned(member.assignment)),
        el("td", listed(subscribed) or NONE),
        data_key=member.member_id,
    )


def _assigned(assignment: Iterable[tuple[str, tuple[int, ...]]]) -> Content:
    shown = listed(([named(topic), " ", ranges(them)] for topic, them in assignment), el("br"))
    return shown or el("span", "none", class_="warn")


def _owners(members: Iterable[MemberDetail]) -> Owners:
    return {
        (topic, partition): member.client_id or member.member_id
        for member in members
        for topic, partitions in member.assignment
        for partition in partitions
    }


def _partition(
    row: Mapping[str, Any], owners: Owners, severities: Severities, now: float, heads: Iterable[Head], *, root: str
) -> Element:
    owner = owners.get((row["topic"], row["partition"]))
    verdict = row["verdict"]
    numbers = {
        "Lag": known(row["lag"]) if row["lag"] is not None else _why(row["lag_unknown_reason"]),
        "Time lag": time_lag(row["time_lag"], exact=row["time_lag_exact"]),
        "Committed": _offset(row),
        "End": known(row["high_watermark"]),
        "Produced": rate(row["produce_rate"]),
        "Consumed": rate(row["consume_rate"]),
        "Last commit": since(row["commit_time"], now),
        "Last progress": since(row["progress_time"], now),
        "Expires": expiry(row["offset_expiry_time"], now),
        "Margin": known(row["margin"]),
        "Lost": _lost(row["lost"]),
    }
    return el(
        "tr",
        el(
            "th",
            el("a", named(row["topic"]), href=topic_link(row["topic"], root)),
            scope="row",
            title=printable(row["topic"]),
        ),
        el("td", number(row["partition"]), class_="number"),
        el("td", badge(verdict, severities.get(verdict))),
        [el("td", numbers[head], class_=class_) for head, class_ in heads if head in numbers],
        el(
            "td",
            NONE if owner is None else named(owner),
            class_="cut",
            title=None if owner is None else printable(owner),
        ),
        id=partition_id(row["topic"], row["partition"]),
        data_key=f"{row['partition']} {row['topic']}",
    )


def _lost(offsets: int | None) -> Node:
    return el("span", number(offsets), class_="bad") if offsets else known(offsets)


def _offset(row: Mapping[str, Any]) -> Content:
    mark = el("abbr", "not yet stable", title="Behind the last stable offset of its offsets partition")
    return [known(row["committed_offset"]), ["\N{NO-BREAK SPACE}", mark] if row["offset_hidden"] else None]


def _why(reason: str | None) -> Element:
    return el("span", phrase(reason or "unknown"), class_="unknown")
