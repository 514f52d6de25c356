"""The page of one topic at `/topic?name=…`: the groups that read it, and how much of what is kept they have read."""

import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.cluster.model import ClusterFacts
from exporters.page.blocks import (
    ROWS,
    WAITING,
    Head,
    fact_list,
    failure,
    group_link,
    lag_cells,
    note,
    owner_link,
    section,
    table_row,
    titled,
)
from exporters.page.document import Page
from exporters.page.formatting import NONE, badge, known, named, severity_class, text
from exporters.page.html_tree import Content, Element, el
from exporters.page.monitor_card import snapshot_age
from exporters.readmodel import Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import SEVERITIES, duration, number, printable, size

_GROUPS: Final = (
    ("Group", ""), ("Verdict", ""), ("Lag", "number"), ("Greatest lag", "number"), ("Time lag", "number"),
    ("Partitions", "number"), ("Lag unknown", "number"), ("State", ""), ("Owner", ""),
)  # fmt: skip
"""The last is omitted if no group has an owner."""
_PARTITIONS: Final = (
    ("Partition", ""), ("Log start", "number"), ("End", "number"), ("Kept", "number"),
    ("Greatest lag", "number"), ("Share of kept", "number"), ("Slowest group", ""),
)  # fmt: skip
_FULL: Final = 0.9
"""The unread share of the kept offsets from which a group is close to losing records."""


def topic_page(
    published: PublishedSnapshot | None, name: str, facts: ClusterFacts | None, now: float, *, root: str
) -> Page:
    """Return a topic's page as of `now` (Unix seconds). `facts` are those about the cluster, None: not known.

    `root` is the relative path to the overview page.
    """
    if published is None:
        return _page(name, root, WAITING, code=503)
    snapshot = published.snapshot
    groups = _groups(snapshot, name)
    described = _first(facts.cluster_topics.filter(_is(facts.cluster_topics, "topic", name))) if facts else None
    if not groups and described is None:
        missing = failure("No such topic", el("p", "No group reads a topic named ", named(name), "."))
        return _page(name, root, missing, code=404)
    content: list[Content] = [
        _about(snapshot, name, groups, described, _settings(facts, name), now=now),
        _groups_section(groups),
        _partitions_section(snapshot, name),
    ]
    return _page(name, root, content, alarm=any(row["severity"] == "critical" for row in groups))


def _page(name: str, root: str, content: Content, code: int = 200, *, alarm: bool = False) -> Page:
    quoted = urllib.parse.quote(name, safe="")
    title = f"{printable(name) or '(empty name)'} · topic · lagwarden"
    links = ((root, "all groups"), (f"{root}api/v1/topics/{quoted}/groups", "as JSON"))
    return Page(title, content, root, links, foot="times are ages; hover for UTC", code=code, alarm=alarm)


def _groups(snapshot: Snapshot, name: str) -> list[dict[str, Any]]:
    """Return the groups that read the topic with their numbers of it, the worst first."""
    severities = {row["verdict"]: row["severity"] for row in snapshot.verdict_groups.to_pylist()}
    rows: list[dict[str, Any]] = snapshot.topics.filter(_is(snapshot.topics, "topic", name)).to_pylist()
    names = pa.array([row["group"] for row in rows], pa.string())
    groups = snapshot.groups.select(["group", "state", "team", "severity", "verdict"])
    whole = groups.filter(pc.is_in(groups.column("group").cast(pa.string()), value_set=names)).to_pylist()
    of_group = {row["group"]: row for row in whole}
    for row in rows:
        group = of_group.get(row["group"], {})
        severity = severities.get(row["verdict"])
        if severity is None and row["verdict"] == group.get("verdict"):
            severity = group.get("severity")
        row |= {"severity": severity, "state": group.get("state"), "team": group.get("team")}
    return sorted(rows, key=_worst_first)


def _worst_first(row: Mapping[str, Any]) -> tuple[int, float, int, str]:
    rank = SEVERITIES.index(row["severity"]) if row["severity"] in SEVERITIES else 1
    return -rank, -(row["time_lag_max"] or 0.0), -(row["lag_sum"] or 0), row["group"]


def _settings(facts: ClusterFacts | None, name: str) -> dict[str, str]:
    """Return the known configuration of the topic by key."""
    if facts is None:
        return {}
    configs = facts.configs.filter(_is(facts.configs, "scope", "topic"))
    rows = configs.filter(_is(configs, "name", name)).to_pylist()
    return {row["key"]: row["value"] for row in rows if row["value"] is not None}


def _about(
    snapshot: Snapshot,
    name: str,
    groups: list[dict[str, Any]],
    described: Mapping[str, Any] | None,
    settings: Mapping[str, str],
    *,
    now: float,
) -> list[Content]:
    ends = snapshot.log_ends.filter(_is(snapshot.log_ends, "topic", name))
    facts: list[tuple[str, Content]] = [("Groups", number(len(groups)))]
    if described is not None:
        labels = {"partitions": "Partitions", "replication_factor": "Replication factor",
                  "under_replicated": "Under-replicated", "leaderless": "Without a leader"}  # fmt: skip
        facts += [(label, known(described[column])) for column, label in labels.items()]
    else:
        facts.append(("Partitions with commits", number(len(ends))))
    facts += [(f"{key}", _setting(key, value)) for key, value in sorted(settings.items())]
    worst = groups[0]["severity"] if groups else None
    return [
        el("h1", named(name), class_="name"),
        el(
            "section",
            fact_list(facts),
            note(snapshot_age(snapshot.taken_at, now)),
            class_=f"card {severity_class(worst)}",
            aria_label="Topic",
        ),
    ]


def _setting(key: str, value: str) -> Content:
    """Return a configured value; durations and sizes in words, and -1 as no limit."""
    unit = key.rpartition(".")[2]
    if unit == "ms" and value.isdecimal():
        return el("span", duration(int(value) / 1000), title=f"{value} ms")
    if unit == "bytes" and value.isdecimal():
        return el("span", size(int(value)), title=f"{value} bytes")
    if unit in {"ms", "bytes"} and value == "-1":
        return el("span", "no limit", title=value)
    return printable(value)


def _groups_section(groups: list[dict[str, Any]]) -> Element:
    if not groups:
        return titled("Groups", note("No group reads this topic."), shown="0")
    heads = _GROUPS if any(row["team"] for row in groups) else _GROUPS[:-1]
    return section("Groups", len(groups), heads, [_group(row, heads) for row in groups[:ROWS]], "lines")


def _group(row: Mapping[str, Any], heads: Sequence[Head]) -> Element:
    verdict, state = badge(row["verdict"], row["severity"]), text(row["state"])
    cells = (group_link(row["group"]), verdict, *lag_cells(row), state, owner_link(row["team"]) or NONE)
    return table_row(heads, *cells[: len(heads)], key=row["group"])


def _partitions_section(snapshot: Snapshot, name: str) -> Content:
    """Return what each partition keeps, and the group with the greatest lag in it."""
    ends = snapshot.log_ends.filter(_is(snapshot.log_ends, "topic", name)).to_pylist()
    if not ends:
        return None
    slowest: dict[int, Mapping[str, Any]] = {}
    commits = snapshot.partitions.select(["group", "topic", "partition", "lag"])
    for row in commits.filter(_is(commits, "topic", name)).to_pylist():
        if row["lag"] is not None and row["lag"] > slowest.get(row["partition"], {"lag": -1})["lag"]:
            slowest[row["partition"]] = row
    rows = [_partition(row, slowest.get(row["partition"])) for row in ends[:ROWS]]
    foot = note(
        "Share of kept: the part of the kept offsets that the slowest group has not read. Near 100 %, retention is ",
        "about to remove offsets that the group has not read. It has removed none while the log starts at 0.",
    )
    return section("Partitions", len(ends), _PARTITIONS, rows, "lines", foot=foot)


def _partition(ends: Mapping[str, Any], slowest: Mapping[str, Any] | None) -> Element:
    start, end = ends["log_start_offset"], ends["high_watermark"]
    kept = None if start is None or end is None else end - start
    lag = None if slowest is None else slowest["lag"]
    numbers = (known(start), known(end), known(kept), known(lag), _share(lag, kept, removes=bool(start)))
    group = NONE if slowest is None else group_link(slowest["group"])
    return table_row(_PARTITIONS, number(ends["partition"]), *numbers, group, key=ends["partition"])


def _share(lag: int | None, kept: int | None, *, removes: bool) -> Content:
    """Return the unread part of the kept offsets; unknown also if nothing is kept.

    It is marked if it is almost everything, and retention has removed records (`removes`): a new topic is kept whole.
    """
    if lag is None or not kept:
        return known(None)
    return el("span", f"{100 * lag / kept:.3g} %", class_="bad" if removes and lag >= _FULL * kept else None)


def _is(rows: pa.Table, column: str, value: str) -> pa.ChunkedArray:
    return pc.equal(rows.column(column), pa.scalar(value))


def _first(rows: pa.Table) -> dict[str, Any] | None:
    found: dict[str, Any] | None = next(iter(rows.slice(0, 1).to_pylist()), None)
    return found
