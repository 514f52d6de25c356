"""The tables of a group's page: topics, members, and partitions with their owners.

And its partitions as a strip of cells per topic, in the colours of their verdicts. A cell is a link to the row of its
partition in the table of partitions. The links are not in the order of the Tab key, which would stop at each of a
thousand cells before it reaches the table.
"""

import collections
import dataclasses
import functools
import itertools
import operator
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page import ui
from exporters.page.html_tree import Content, Element, Node, el
from exporters.readmodel import GroupDetail, MemberDetail
from exporters.wording import ago, count, number, phrase, printable, ranges, rate

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
    return ui.titled(
        "Partitions by verdict",
        [_strip(topic, list(rows), severities) for topic, rows in topics],
        ui.note(f"{count(rest, 'partition')} more: see the API.") if rest > 0 else None,
    )


def _strip(topic: str, rows: Sequence[Mapping[str, Any]], severities: Mapping[str, str]) -> Element:
    verdicts = collections.Counter(_verdict(row) for row in rows)
    summary = ", ".join(f"{number(amount)} {verdict}" for verdict, amount in verdicts.most_common())
    words = f"{printable(topic)}: {count(len(rows), 'partition')}, {summary}"
    return el(
        "div",
        el("p", ui.named(topic), " ", el("small", summary)),
        el("div", _cells(rows, severities), class_="strip", role="group", aria_label=words),
        data_key=topic,
    )


def _cells(rows: Iterable[Mapping[str, Any]], severities: Mapping[str, str]) -> list[Element]:
    return [
        el(
            "a",
            class_=f"cell {ui.severity_class(severities.get(row['verdict'] or ''))}",
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
_OPTIONAL: Final = {"Expires": "offset_expiry_time", "Lost": "lost"}
"""Heads and columns that are omitted if no partition has a value."""


def _of_partition(row: Mapping[str, Any]) -> str:
    return f"{row['partition']} {row['topic']}"


def _row_id(row: Mapping[str, Any]) -> str:
    return partition_id(row["topic"], row["partition"])


def _columns(first: Callable[[str], Element], severities: Severities) -> tuple[ui.PageColumn, ui.PageColumn]:
    """Return the columns of the topic, as `first` writes it, and of the verdict."""
    return (
        ui.PageColumn("Topic", lambda row: first(row["topic"]), title=lambda row: printable(row["topic"])),
        ui.PageColumn("Verdict", lambda row: ui.badge(row["verdict"], severities.get(row["verdict"] or ""))),
    )


def topics_section(topics: pa.Table, severities: Severities) -> Content:
    """Return the table of the group's topics; None if it has fewer than two."""
    if len(topics) < 2:
        return None
    columns = (*_columns(ui.named, severities), *ui.LAG_COLUMNS)
    rows = topics.slice(0, ui.ROWS).to_pylist()
    return ui.section("Topics", columns, rows, operator.itemgetter("topic"), "lines", total=len(topics))


def partitions_section(
    partitions: pa.Table, detail: GroupDetail | None, severities: Severities, now: float, root: str
) -> Element:
    """Return the table of the partitions with their owners and links to the pages of their topics.

    Times in `partitions` are Unix milliseconds. `root` is the relative path to the overview page. The columns that a
    narrow window hides have the class of their least width.
    """
    if not len(partitions):
        return ui.titled("Partitions", ui.note("The group has no committed offsets."), shown="0")
    owners = _owners(detail.members) if detail is not None else {}
    topic, verdict = _columns(lambda name: ui.topic_link(name, root), severities)
    columns = (
        topic,
        ui.PageColumn("Partition", lambda row: number(row["partition"]), "number"),
        verdict,
        ui.PageColumn("Lag", lambda row: _why(row) if row["lag"] is None else number(row["lag"]), "number"),
        ui.PageColumn("Time lag", lambda row: ui.time_lag(row["time_lag"], exact=row["time_lag_exact"]), "number"),
        ui.PageColumn("Committed", _offset, "number"),
        ui.PageColumn("End", lambda row: ui.known(row["high_watermark"]), "number from-1440"),
        ui.PageColumn("Produced", lambda row: ui.known(row["produce_rate"], rate), "number from-1440"),
        ui.PageColumn("Consumed", lambda row: ui.known(row["consume_rate"], rate), "number from-900"),
        ui.PageColumn("Last commit", lambda row: ui.since(row["commit_time"], now), "number from-1600"),
        ui.PageColumn("Last progress", lambda row: ui.since(row["progress_time"], now), "number from-900"),
        ui.PageColumn("Expires", lambda row: ui.expiry(row["offset_expiry_time"], now), "number from-1600"),
        ui.PageColumn("Margin", lambda row: ui.known(row["margin"]), "number from-1910"),
        ui.PageColumn("Lost", lambda row: _lost(row["lost"]), "number"),
        ui.PageColumn("Owner", lambda row: _owner(owners.get((row["topic"], row["partition"]))), "cut"),
    )
    # Empty columns are omitted, so that the owner is visible without scrolling.
    empty = {
        head for head, column in _OPTIONAL.items() if not pc.any(pc.not_equal(partitions.column(column), 0)).as_py()
    }
    shown = [column for column in columns if column.head not in empty]
    rows = partitions.slice(0, ui.ROWS).to_pylist()
    return ui.section("Partitions", shown, rows, _of_partition, "lines", total=len(partitions), id_of=_row_id)


def share_partitions_section(detail: GroupDetail | None, severities: Severities, now: float, root: str) -> Element:
    """Return the table of the partitions of a share group, with the age of its numbers."""
    partitions = None if detail is None else detail.share_partitions
    if detail is None or partitions is None or detail.share_progress_time is None:
        return ui.titled("Partitions", ui.note("The progress of the group in its partitions is not known."))
    topic, verdict = _columns(lambda name: ui.topic_link(name, root), severities)
    names = ("lag", "start_offset", "end", "finished", "returned", "most_deliveries", "acknowledged", "archived")
    columns = (
        topic,
        ui.PageColumn("Partition", lambda row: number(row["partition"]), "number"),
        verdict,
        *(
            ui.PageColumn(name.replace("_", " ").capitalize(), functools.partial(_share_number, name), "number")
            for name in (*names, "returns")
        ),
    )
    foot = ui.note(
        f"Read {ago(detail.share_progress_time, now)} from __share_group_state. Finished: after the start offset. ",
        "Returned: waits for another delivery, or has been delivered again. Acknowledged, archived and returns count ",
        "from the start of the monitor.",
    )
    rows = [dataclasses.asdict(each) for each in partitions]
    return el("section", ui.section("Partitions", columns, rows, _of_partition, "lines", id_of=_row_id), foot)


def _share_number(name: str, row: Mapping[str, Any]) -> Node:
    return ui.NONE if name == "most_deliveries" and row[name] is None else ui.known(row[name])


def _if_any(name: str | None) -> Node:
    return ui.NONE if name is None else ui.named(name)


_AWAY: Final = el("span", "away", class_="warn")
_MEMBERS: Final = (
    ui.PageColumn("Member", lambda each: [ui.named(each.member_id), _static(each)]),
    ui.PageColumn("Client", lambda each: _if_any(each.client_id)),
    ui.PageColumn("Host", lambda each: [_if_any(each.client_host), _rack(each)]),
    ui.PageColumn("State", lambda each: _AWAY if each.away else printable(each.state or "") or ui.NONE),
    ui.PageColumn("Epoch", lambda each: ui.NONE if each.epoch is None else number(each.epoch), "number"),
    ui.PageColumn("Assigned", lambda each: _assigned(each.assignment)),
    ui.PageColumn("Subscribed to", lambda each: ui.listed(_subscribed(each)) or ui.NONE),
)


def members_section(detail: GroupDetail) -> Element:
    """Return the table of the members with their assignment."""
    if not detail.members:
        return ui.titled("Members", ui.note("The group has no members."), shown="0")
    return ui.section("Members", _MEMBERS, detail.members, operator.attrgetter("member_id"))


def _static(member: MemberDetail) -> Content:
    if member.instance_id is None:
        return None
    return [el("br"), el("small", "static ", ui.named(member.instance_id), title="group.instance.id")]


def _rack(member: MemberDetail) -> Content:
    return [el("br"), el("small", "rack ", ui.named(member.rack))] if member.rack else None


def _subscribed(member: MemberDetail) -> list[Element]:
    return [*map(ui.named, member.subscription), *([el("code", printable(member.regex))] if member.regex else [])]


def _assigned(assignment: Iterable[tuple[str, tuple[int, ...]]]) -> Content:
    shown = ui.listed(([ui.named(topic), " ", ranges(them)] for topic, them in assignment), el("br"))
    return shown or el("span", "none", class_="warn")


def _owners(members: Iterable[MemberDetail]) -> Owners:
    return {
        (topic, partition): member.client_id or member.member_id
        for member in members
        for topic, partitions in member.assignment
        for partition in partitions
    }


def _owner(client: str | None) -> Element:
    return ui.NONE if client is None else el("span", ui.named(client), title=printable(client))


def _lost(offsets: int | None) -> Node:
    return el("span", number(offsets), class_="bad") if offsets else ui.known(offsets)


def _offset(row: Mapping[str, Any]) -> Content:
    mark = el("abbr", "not yet stable", title="Behind the last stable offset of its offsets partition")
    return [ui.known(row["committed_offset"]), ["\N{NO-BREAK SPACE}", mark] if row["offset_hidden"] else None]


def _why(row: Mapping[str, Any]) -> Element:
    return el("span", phrase(row["lag_unknown_reason"] or "unknown"), class_="unknown")
