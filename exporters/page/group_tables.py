"""The tables of a group's page: topics, members, and partitions with their owners.

The partitions of a group as a strip of cells per topic, in the colours of their verdicts.

A cell is a link to the row of its partition in the table of partitions. The links are not in the order of the Tab key,
which would stop at each of a thousand cells before it reaches the table.
"""

import collections
import itertools
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.blocks import (
    NONE,
    ROWS,
    Head,
    badge,
    expiry,
    known,
    lag_cells,
    listed,
    named,
    note,
    rate,
    section,
    severity_class,
    since,
    table_row,
    time_lag,
    titled,
    topic_link,
)
from exporters.page.html_tree import Content, Element, Node, el
from exporters.readmodel import GroupDetail, MemberDetail, SharePartitionDetail
from exporters.wording import ago, count, number, phrase, printable, ranges

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


Owners = dict[tuple[str, int], str]
"""The client id of the owner, by topic and partition."""
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
    ("Expires", "number from-1600"), ("Margin", "number from-1910"), ("Lost", "number"), ("Owner", "cut"),
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


def topics_section(topics: pa.Table, severities: Severities) -> Content:
    """Return the table of the group's topics; None if it has fewer than two."""
    if len(topics) < 2:
        return None
    rows = [
        table_row(_TOPICS, named(topic), badge(verdict, severities.get(verdict)), *lag_cells(each), key=topic,
            title=printable(topic))
        for each in topics.slice(0, ROWS).to_pylist()
        for topic, verdict in [(each["topic"], each["verdict"])]
    ]  # fmt: skip
    return section("Topics", len(topics), _TOPICS, rows, "lines")


def members_section(detail: GroupDetail) -> Element:
    """Return the table of the members with their assignment."""
    if not detail.members:
        return titled("Members", note("The group has no members."), shown="0")
    rows = [_member(member) for member in detail.members[:ROWS]]
    return section("Members", len(detail.members), _MEMBERS, rows)


def partitions_section(
    partitions: pa.Table, detail: GroupDetail | None, severities: Severities, now: float, root: str
) -> Element:
    """Return the table of the partitions with their owners and links to the pages of their topics.

    Times in `partitions` are Unix milliseconds. `root` is the relative path to the overview page.
    """
    if not len(partitions):
        return titled("Partitions", note("The group has no committed offsets."), shown="0")
    owners = _owners(detail.members) if detail is not None else {}
    # Empty columns are omitted, so that the owner is visible without scrolling.
    empty = {
        head for head, column in _OPTIONAL.items() if not pc.any(pc.not_equal(partitions.column(column), 0)).as_py()
    }
    heads = tuple(head for head in _PARTITIONS if head[0] not in empty)
    rows = [
        _partition(row, owners, severities, now, heads=heads, root=root)
        for row in partitions.slice(0, ROWS).to_pylist()
    ]
    return section("Partitions", len(partitions), heads, rows, "lines")


def share_partitions_section(detail: GroupDetail | None, severities: Severities, now: float, root: str) -> Element:
    """Return the table of the partitions of a share group, with the age of its numbers."""
    partitions = None if detail is None else detail.share_partitions
    if detail is None or partitions is None or detail.share_progress_time is None:
        return titled("Partitions", note("The progress of the group in its partitions is not known."))
    rows = [_share_partition(each, severities, root) for each in partitions[:ROWS]]
    foot = note(
        f"Read {ago(detail.share_progress_time, now)} from __share_group_state. Finished: after the start offset. ",
        "Returned: waits for another delivery, or has been delivered again. Acknowledged, archived and returns count ",
        "from the start of the monitor.",
    )
    return el("section", section("Partitions", len(partitions), _SHARE_PARTITIONS, rows, "lines"), foot)


def _share_partition(each: SharePartitionDetail, severities: Severities, root: str) -> Element:
    numbers = {name: getattr(each, name) for name in _SHARE_NUMBERS}
    return table_row(
        _SHARE_PARTITIONS,
        topic_link(each.topic, root),
        number(each.partition),
        badge(each.verdict, severities.get(each.verdict or "")),
        *(NONE if pair == ("most_deliveries", None) else known(pair[1]) for pair in numbers.items()),
        key=f"{each.partition} {each.topic}",
        title=printable(each.topic),
        id_=partition_id(each.topic, each.partition),
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
    return table_row(
        _MEMBERS,
        [named(member.member_id), named_static],
        NONE if member.client_id is None else named(member.client_id),
        [NONE if member.client_host is None else named(member.client_host), rack],
        state,
        NONE if member.epoch is None else number(member.epoch),
        _assigned(member.assignment),
        listed(subscribed) or NONE,
        key=member.member_id,
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
    row: Mapping[str, Any], owners: Owners, severities: Severities, now: float, *, heads: Sequence[Head], root: str
) -> Element:
    topic, partition, verdict = row["topic"], row["partition"], row["verdict"]
    owner = owners.get((topic, partition))
    cells: dict[str, Content] = {
        "Topic": topic_link(topic, root),
        "Partition": number(partition),
        "Verdict": badge(verdict, severities.get(verdict)),
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
        "Owner": NONE if owner is None else el("span", named(owner), title=printable(owner)),
    }
    return table_row(
        heads,
        *(cells[head] for head, _ in heads),
        key=f"{partition} {topic}",
        title=printable(topic),
        id_=partition_id(topic, partition),
    )


def _lost(offsets: int | None) -> Node:
    return el("span", number(offsets), class_="bad") if offsets else known(offsets)


def _offset(row: Mapping[str, Any]) -> Content:
    mark = el("abbr", "not yet stable", title="Behind the last stable offset of its offsets partition")
    return [known(row["committed_offset"]), ["\N{NO-BREAK SPACE}", mark] if row["offset_hidden"] else None]


def _why(reason: str | None) -> Element:
    return el("span", phrase(reason or "unknown"), class_="unknown")
