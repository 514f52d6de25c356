"""One group's page at `/group?name=…` and `/groups/…`: what is the matter, its members, all it went through."""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.document import Page
from exporters.page.formatting import expiry, known, lasting, listed, named, offsets, since, state, text, time_lag
from exporters.page.group_tables import members_section, partitions_section, topics_section
from exporters.page.html_tree import el
from exporters.page.monitor_card import is_old
from exporters.page.overview import in_milliseconds
from exporters.page.overview_tables import group_link
from exporters.page.verdict_section import findings_section, history_section, verdict_card
from exporters.wording import ago, count, number, phrase, printable, ranges

if TYPE_CHECKING:
    from exporters.page.document import Samples
    from exporters.page.html_tree import Content, Element
    from exporters.readmodel import GroupDetail, Snapshot
    from exporters.text.exposition import PublishedSnapshot

_DEAD: Final = "Dead"
_NEAR: Final = 8
"""How many groups are offered in place of one that is not there."""


def group_page(
    published: PublishedSnapshot | None,
    name: str,
    detail: GroupDetail | None,
    now: float,
    *,
    root: str,
    samples: Samples = (),
) -> Page:
    """Give a group's page as of `now` (Unix seconds); `root` leads from its address to the status page.

    `samples` are its earlier numbers, the oldest first.
    """
    if published is None:
        return _page(name, root, el("p", "No snapshot of the groups yet.", class_="note"), code=503)
    snapshot = published.snapshot
    found = in_milliseconds(_of(snapshot.groups, name)).to_pylist()
    if not found:
        return _page(name, root, _absent(snapshot, name, root), code=404)
    row, dead = found[0], found[0]["state"] == _DEAD
    severities = {each["verdict"]: each["severity"] for each in snapshot.verdict_groups.to_pylist()}
    partitions = in_milliseconds(_of(snapshot.partitions, name))
    content = [
        _about(snapshot, row, detail, now),
        None if dead else _chart(),
        _notes(row, detail),
        findings_section(detail, now) if detail is not None else None,
        topics_section(_of(snapshot.topics, name), severities),
        members_section(detail) if detail is not None else None,
        partitions_section(partitions, detail, severities, now),
        history_section(detail, now) if detail is not None else None,
    ]
    return dataclasses.replace(_page(name, root, content), samples=samples, marks=_marks(detail))


def failed_page(why: str, name: str | None, root: str) -> Page:
    """Return the page that stands in the place of one that could not be made."""
    about = None if name is None else el("p", "Group: ", named(name))
    content = el("section", el("h1", "This page could not be made"), el("p", why), about, class_="card bad")
    return _page(name or "", root, content, code=500)


def _of(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.equal(table.column("group"), pa.scalar(name)))


def _page(name: str, root: str, content: Content, code: int = 200) -> Page:
    json = f"{root}api/v1/group?name={urllib.parse.quote(name, safe='')}"
    title = f"{printable(name) or '(empty name)'} · lagwarden"
    links = ((root, "all groups"), (json, "as JSON"))
    return Page(title, content, root, links, "times are ages; hover for UTC", code)


def _marks(detail: GroupDetail | None) -> list[tuple[float, str]]:
    """Give what is marked on the charts: changes of the verdict, and transitions."""
    if detail is None:
        return []
    happened = [(each.time, each.transition) for each in detail.transitions]
    return sorted([*happened, *((each.time, phrase(each.verdict)) for each in detail.verdicts)])


def _absent(snapshot: Snapshot, name: str, root: str) -> Element:
    """Say that there is no such group, and offer those whose names hold what was asked for."""
    names = snapshot.groups.column("group").cast(pa.string())
    near = names.filter(pc.match_substring(names, name, ignore_case=True))[:_NEAR].to_pylist()
    offered = [el("li", el("a", named(other), href=group_link(other, root))) for other in near]
    return el(
        "section",
        el("h1", "No such group"),
        el(
            "p",
            "There is no group named ",
            named(name),
            ": it has neither a committed offset nor a record, or its grace time after death is over.",
        ),
        [el("p", "There are:"), el("ul", offered)] if offered else None,
        class_="card bad",
    )


def _about(snapshot: Snapshot, row: dict[str, Any], detail: GroupDetail | None, now: float) -> list[Content]:
    """Give what is the matter and what the group is."""
    facts = [el("div", el("dt", name), el("dd", value)) for name, value in _facts(row, now)]
    died = [since(row["died_time"], now), ": ", text(row["death_cause"])]
    beside = None if row["state_since"] is None else el("span", lasting(row["state_since"], now), class_="phase")
    taken = f"Snapshot taken {ago(snapshot.taken_at, now)}"
    stale = is_old(snapshot.taken_at, now)
    return [
        el("h1", named(row["group"]), class_="name"),
        verdict_card(row, detail.finding if detail is not None else None, now),
        el(
            "section",
            el("p", state(row["state"], asked=row["state_asked"]), " ", beside),
            el("p", "It died ", died, ".") if row["state"] == _DEAD else None,
            el("dl", facts),
            el(
                "p",
                el("span", f"{taken}: these numbers are old.", class_="bad") if stale else f"{taken}.",
                class_="note",
            ),
            class_="card",
            aria_label="Group",
        ),
    ]


def _chart() -> Element:
    """Leave room for the chart, which the script draws and keeps."""
    return el(
        "section",
        el("h2", "Over time"),
        el("div", id="chart", data_keep=True),
        el("noscript", el("p", "The chart needs the script of this page.", class_="note")),
        aria_label="Over time",
    )


def _facts(row: dict[str, Any], now: float) -> list[tuple[str, Content]]:
    """Give what is known of the group; a fact that its kind has not, or that died with it, is left out."""
    facts: list[tuple[str, Content]] = [("Kind", text(row["kind"]))]
    living: list[tuple[str, Content]] = [
        ("Lag", offsets(row["lag_sum"])),
        ("Greatest in a partition", offsets(row["lag_max"])),
        ("Time lag", time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"])),
        ("Members", _members(row)),
        ("Partitions", known(row["partitions"])),
        ("Last commit", since(row["last_commit_time"], now)),
        ("First offset expires", expiry(row["first_offset_expiry_time"], now)),
        ("Group expires", expiry(row["group_expiry_time"], now)),
    ]
    facts += living if row["state"] != _DEAD else []
    if row["created_time"] is not None:
        facts.append(("Created", since(row["created_time"], now)))
    words = {"protocol_type": "Protocol type", "protocol": "Assignor"}
    facts += [(said, printable(row[column])) for column, said in words.items() if row[column]]
    numbers = {"generation": "Generation", "group_epoch": "Group epoch", "assignment_epoch": "Assignment epoch"}
    facts += [(said, number(row[column])) for column, said in numbers.items() if row[column] is not None]
    return facts


def _members(row: dict[str, Any]) -> Content:
    odd = ", ".join(f"{number(row[f'members_{how}'])} {how}" for how in ("idle", "away") if row[f"members_{how}"])
    return [known(row["members"]), " ", el("small", f"({odd})")] if odd else known(row["members"])


def _notes(row: dict[str, Any], detail: GroupDetail | None) -> Content:
    """Say what wants a look: partitions that nobody reads, topics that are not read any more."""
    notes: list[Content] = []
    if detail is not None and detail.unowned:
        unowned = listed([named(topic), " ", ranges(them)] for topic, them in detail.unowned)
        notes.append(["Subscribed, but owned by no member: ", unowned, "."])
    if detail is not None and detail.unsubscribed:
        topics = listed(map(named, detail.unsubscribed))
        notes.append(["Offsets are kept of topics that nobody in the group subscribes to: ", topics, "."])
    if row["partitions_lag_unknown"]:
        what = count(row["partitions_lag_unknown"], "partition")
        notes.append(f"The lag of {what} is not known; the table says why.")
    if row["odd_times"]:
        what = count(row["odd_times"], "time")
        odd = "cannot be right (in the future, before 1970 or beyond the year 9999)"
        notes.append(f"{what} in the group's records {odd}; what is shown is the nearest time that can.")
    if row["held_back"]:
        held = "An open transaction holds back the log of this group's offsets"
        notes.append(f"{held}: its commits are asked from the coordinator for now.")
    return el("ul", [el("li", note) for note in notes], class_="notes") if notes else None
