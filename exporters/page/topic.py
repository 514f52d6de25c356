"""The page of one topic at `/topic?name=…`: the groups that read it, and how much of what is kept they have read.

The runbook of an alert at `/runbook/ALERT`, from its Markdown file in the folder `runbooks`. The file becomes the same
tree of elements and text as every page, so HTML in it is text. A link to another runbook leads to its page; of a link
to a file that the server does not have, only the text is shown.
"""

import functools
import importlib.resources
import operator
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from exporters.cluster.model import ClusterFacts
from exporters.group_search import rows_where
from exporters.page import ui
from exporters.page.document import Page
from exporters.page.html_tree import Content, Element, el, flat
from exporters.page.overview import snapshot_age
from exporters.readmodel import Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import duration, number, printable, size

_FOLDER: Final = importlib.resources.files("exporters.page") / "runbooks"
_ENDING: Final = ".md"


@functools.cache
def runbook_names() -> frozenset[str]:
    """Return the names of the alerts that have a runbook."""
    return frozenset(file.name.removesuffix(_ENDING) for file in _FOLDER.iterdir() if file.name.endswith(_ENDING))


def runbook_page(name: str, *, root: str) -> Page:
    """Return the page of the runbook of an alert; with status 404 if there is no such alert. `root` as in `Page`."""
    known = name in runbook_names()
    absent = el("section", el("h1", "No such runbook"), el("p", "There is no alert named ", ui.named(name), "."))
    content = el("article", _runbook(name), class_="runbook") if known else absent
    title = name if known else "No such runbook"
    return Page(f"{title} · lagwarden", content, root, ((root, "all groups"),), code=200 if known else 404)


@functools.cache
def _runbook(name: str) -> Content:
    text = (_FOLDER / f"{name}{_ENDING}").read_text("utf-8")
    return flat(_content(SyntaxTreeNode(MarkdownIt("commonmark", {"html": False}).parse(text))))


def _content(node: SyntaxTreeNode) -> Content:
    """Return a node of a Markdown tree as content of a page."""
    children = [_content(child) for child in node.children]
    # The paragraphs of a list without blank lines are hidden.
    if node.type in {"root", "inline"} or node.hidden:
        return children
    match node.type:
        case "text" | "softbreak":
            return node.content or "\n"
        case "code_inline" | "fence":
            code = el("code", node.content)
            return el("pre", code) if node.type == "fence" else code
        case "link":
            alert = str(node.attrs["href"]).partition("#")[0].removesuffix(_ENDING)
            return el("a", children, href=alert) if alert in runbook_names() else children
        case _:
            return el(node.tag, children, start=node.attrs.get("start"))


_FULL: Final = 0.9
"""The unread share of the kept offsets from which a group is close to losing records."""


def topic_page(
    published: PublishedSnapshot | None, name: str, facts: ClusterFacts | None, now: float, *, root: str
) -> Page:
    """Return a topic's page as of `now` (Unix seconds). `facts` are those about the cluster, None: not known."""
    if published is None:
        return _page(name, root, ui.WAITING, code=503)
    snapshot = published.snapshot
    groups = _groups(snapshot, name)
    of_cluster = rows_where(facts.cluster_topics, topic=name).to_pylist() if facts else []
    described = of_cluster[0] if of_cluster else None
    if not groups and described is None:
        missing = ui.failure("No such topic", el("p", "No group reads a topic named ", ui.named(name), "."))
        return _page(name, root, missing, code=404)
    content: list[Content] = [
        _about(snapshot, name, groups, described, facts, now=now),
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
    rows: list[dict[str, Any]] = rows_where(snapshot.topics, topic=name).to_pylist()
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
    rank = ui.severity_rank(row["severity"])
    return -rank, -(row["time_lag_max"] or 0.0), -(row["lag_sum"] or 0), row["group"]


def _about(
    snapshot: Snapshot,
    name: str,
    groups: list[dict[str, Any]],
    described: Mapping[str, Any] | None,
    cluster: ClusterFacts | None,
    *,
    now: float,
) -> list[Content]:
    ends = rows_where(snapshot.log_ends, topic=name)
    facts: list[tuple[str, Content]] = [("Groups", number(len(groups)))]
    if described is not None:
        labels = {"partitions": "Partitions", "replication_factor": "Replication factor",
                  "under_replicated": "Under-replicated", "leaderless": "Without a leader"}  # fmt: skip
        facts += [(label, ui.known(described[column])) for column, label in labels.items()]
    else:
        facts.append(("Partitions with commits", number(len(ends))))
    configs = [] if cluster is None else rows_where(cluster.configs, scope="topic", name=name).to_pylist()
    settings = {row["key"]: row["value"] for row in configs if row["value"] is not None}
    facts += [(key, _setting(key, value)) for key, value in sorted(settings.items())]
    worst = groups[0]["severity"] if groups else None
    return [
        el("h1", ui.named(name), class_="name"),
        el(
            "section",
            ui.fact_list(facts),
            ui.note(snapshot_age(snapshot.taken_at, now)),
            class_=f"card {ui.severity_class(worst)}",
            aria_label="Topic",
        ),
    ]


def _setting(key: str, value: str) -> Content:
    """Return a configured value; durations and sizes in words, and -1 as no limit."""
    unit = key.rpartition(".")[2]
    if unit not in {"ms", "bytes"} or not (value == "-1" or value.isdecimal()):
        return printable(value)
    if value == "-1":
        return el("span", "no limit", title=value)
    return el("span", size(int(value)) if unit == "bytes" else duration(int(value) / 1000), title=f"{value} {unit}")


_OWNER: Final = ui.PageColumn("Owner", lambda row: ui.owner_link(row["team"]) or ui.NONE)
_GROUPS: Final = (
    ui.PageColumn("Group", lambda row: ui.group_link(row["group"])),
    ui.PageColumn("Verdict", lambda row: ui.badge(row["verdict"], row["severity"])),
    *ui.LAG_COLUMNS,
    ui.PageColumn("State", lambda row: ui.known(row["state"], printable)),
)


def _groups_section(groups: list[dict[str, Any]]) -> Element:
    if not groups:
        return ui.titled("Groups", ui.note("No group reads this topic."), shown="0")
    columns = (*_GROUPS, _OWNER) if any(row["team"] for row in groups) else _GROUPS
    return ui.section("Groups", columns, groups, operator.itemgetter("group"), "lines")


def _kept(ends: Mapping[str, Any]) -> int | None:
    start, end = ends["log_start_offset"], ends["high_watermark"]
    return None if start is None or end is None else end - start


def _share(row: Mapping[str, Any]) -> Content:
    """Return the unread part of the kept offsets; unknown also if nothing is kept.

    It is marked if it is almost everything, and retention has removed records: a new topic is kept whole.
    """
    lag, kept = row["lag"], row["kept"]
    if lag is None or not kept:
        return ui.known(None)
    is_full = row["log_start_offset"] and lag >= _FULL * kept
    return el("span", f"{100 * lag / kept:.3g} %", class_="bad" if is_full else None)


_PARTITIONS: Final = (
    ui.PageColumn("Partition", lambda row: number(row["partition"])),
    ui.PageColumn("Log start", lambda row: ui.known(row["log_start_offset"]), "number"),
    ui.PageColumn("End", lambda row: ui.known(row["high_watermark"]), "number"),
    ui.PageColumn("Kept", lambda row: ui.known(row["kept"]), "number"),
    ui.PageColumn("Greatest lag", lambda row: ui.known(row["lag"]), "number"),
    ui.PageColumn("Share of kept", _share, "number"),
    ui.PageColumn("Slowest group", lambda row: ui.NONE if row["group"] is None else ui.group_link(row["group"])),
)


def _partitions_section(snapshot: Snapshot, name: str) -> Content:
    """Return what each partition keeps, and the group with the greatest lag in it."""
    ends = rows_where(snapshot.log_ends, topic=name).to_pylist()
    if not ends:
        return None
    slowest: dict[int, dict[str, Any]] = {}
    commits = rows_where(snapshot.partitions, topic=name).select(["group", "partition", "lag"])
    for row in commits.to_pylist():
        if row["lag"] is not None and row["lag"] > slowest.get(row["partition"], {"lag": -1})["lag"]:
            slowest[row["partition"]] = row
    no_group = {"group": None, "lag": None}
    rows = [row | {"kept": _kept(row)} | slowest.get(row["partition"], no_group) for row in ends]
    foot = ui.note(
        "Share of kept: the part of the kept offsets that the slowest group has not read. Near 100 %, retention is",
        " about to remove offsets that the group has not read. It has removed none while the log starts at 0.",
    )
    return ui.section("Partitions", _PARTITIONS, rows, operator.itemgetter("partition"), "lines", foot=foot)
