"""The page of one topic at `/topic?name=…`: the groups that read it, and how much of what is kept they have read."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.document import Page
from exporters.page.formatting import NONE, badge, known, named, severity_class, text, time_lag
from exporters.page.html_tree import el
from exporters.page.monitor_card import is_old
from exporters.page.overview_tables import group_link, owner_link, table
from exporters.wording import SEVERITIES, ago, duration, number, printable, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.cluster.model import ClusterFacts
    from exporters.page.html_tree import Content, Element
    from exporters.readmodel import Snapshot
    from exporters.text.exposition import PublishedSnapshot

ROWS: Final = 1000
"""Limit of the rows per table; the API has all rows."""

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


def topic_link(name: str, root: str = "") -> str:
    """Return the URL of a topic's page."""
    return f"{root}topic?name={urllib.parse.quote(name, safe='')}"


def topic_page(
    published: PublishedSnapshot | None, name: str, facts: ClusterFacts | None, now: float, *, root: str
) -> Page:
    """Return a topic's page as of `now` (Unix seconds). `facts` are those about the cluster, None: not known.

    `root` is the relative path to the overview page.
    """
    if published is None:
        return _page(name, root, el("p", "Waiting for the first snapshot of the groups.", class_="note"), code=503)
    snapshot = published.snapshot
    groups = _groups(snapshot, name)
    described = _first(facts.cluster_topics.filter(_is(facts.cluster_topics, "topic", name))) if facts else None
    if not groups and described is None:
        missing = el("section", el("h1", "No such topic"), el("p", "No group reads a topic named ", named(name), "."),
                     class_="card bad")  # fmt: skip
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
    taken = f"Snapshot taken {ago(snapshot.taken_at, now)}"
    stale = is_old(snapshot.taken_at, now)
    worst = groups[0]["severity"] if groups else None
    return [
        el("h1", named(name), class_="name"),
        el(
            "section",
            el("dl", [el("div", el("dt", label), el("dd", value)) for label, value in facts]),
            el("p", el("span", f"{taken}: out of date.", class_="bad") if stale else f"{taken}.", class_="note"),
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
        nothing = el("p", "No group reads this topic.", class_="note")
        return el("section", el("h2", "Groups ", el("small", "0")), nothing, aria_label="Groups")
    has_owners = any(row["team"] for row in groups)
    heads = _GROUPS if has_owners else _GROUPS[:-1]
    rows = [
        el(
            "tr",
            el("th", el("a", named(row["group"]), href=group_link(row["group"])), scope="row"),
            el("td", badge(row["verdict"], row["severity"])),
            [el("td", known(row[column]), class_="number") for column in ("lag_sum", "lag_max")],
            el("td", time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"]), class_="number"),
            el("td", known(row["partitions"]), class_="number"),
            el("td", known(row["partitions_lag_unknown"]), class_="number"),
            el("td", text(row["state"])),
            el("td", owner_link(row["team"]) or NONE) if has_owners else None,
            data_key=row["group"],
        )
        for row in groups[:ROWS]
    ]
    return el(
        "section",
        el("h2", "Groups ", el("small", _shown(len(groups)))),
        table("Groups", heads, rows, "lines"),
        aria_label="Groups",
    )


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
    return el(
        "section",
        el("h2", "Partitions ", el("small", _shown(len(ends)))),
        table("Partitions", _PARTITIONS, rows, "lines"),
        el("p", "Share of kept: the part of the kept offsets that the slowest group has not read. Near 100 %, "
                "retention is about to remove offsets that the group has not read. It has removed none while the log "
                "starts at 0.", class_="note"),
        aria_label="Partitions",
    )  # fmt: skip


def _partition(ends: Mapping[str, Any], slowest: Mapping[str, Any] | None) -> Element:
    start, end = ends["log_start_offset"], ends["high_watermark"]
    kept = None if start is None or end is None else end - start
    lag = None if slowest is None else slowest["lag"]
    numbers = (known(start), known(end), known(kept), known(lag))
    group = NONE if slowest is None else el("a", named(slowest["group"]), href=group_link(slowest["group"]))
    return el(
        "tr",
        el("th", number(ends["partition"]), scope="row"),
        [el("td", value, class_="number") for value in numbers],
        el("td", _share(lag, kept, removes=bool(start)), class_="number"),
        el("td", group),
        data_key=ends["partition"],
    )


def _share(lag: int | None, kept: int | None, *, removes: bool) -> Content:
    """Return the unread part of the kept offsets; unknown also if nothing is kept.

    It is marked if it is almost everything, and retention has removed records (`removes`): a new topic is kept whole.
    """
    if lag is None or not kept:
        return known(None)
    return el("span", f"{100 * lag / kept:.3g} %", class_="bad" if removes and lag >= _FULL * kept else None)


def _shown(total: int) -> str:
    return number(total) if total <= ROWS else f"{number(ROWS)} of {number(total)}"


def _is(rows: pa.Table, column: str, value: str) -> pa.ChunkedArray:
    return pc.equal(rows.column(column), pa.scalar(value))


def _first(rows: pa.Table) -> dict[str, Any] | None:
    found: dict[str, Any] | None = next(iter(rows.slice(0, 1).to_pylist()), None)
    return found
