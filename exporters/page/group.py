"""The page of one group at `/group?name=…` and `/groups/…`: verdict, facts, partitions, members, history."""

import dataclasses
import difflib
import urllib.parse
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.group_search import rows_where
from exporters.page import group_tables as tables
from exporters.page import ui, verdict_section
from exporters.page.document import Page, Samples
from exporters.page.html_tree import Content, Element, el
from exporters.page.links import NEXT_RECORD, PageLinks
from exporters.page.overview import snapshot_age
from exporters.page.overview_tables import in_milliseconds
from exporters.readmodel import GroupDetail, OtherInstance, Snapshot
from exporters.text.exposition import PublishedSnapshot
from exporters.wording import DEAD, count, number, phrase, printable, ranges, utc

_SHARE: Final = "share"
_OF_COMMITS: Final = ("Time lag", "Last commit", "First offset expires", "Group expires")
"""Facts that follow from committed offsets, which a share group does not have."""
_LAG_PANEL: Final = "Lag"
"""The name of the chart that needs no committed offsets (chart.js)."""
_MARKS: Final = (
    ("verdict", "\N{BLACK DOWN-POINTING TRIANGLE}", "the verdict changed"),
    ("group", "\N{BLACK CIRCLE}", "the members changed, or the group began or ended: see History"),
)
"""The marks of a chart (chart.js)."""
_SIMILAR: Final = 8
"""Limit of the similar names on the page of a group that does not exist."""
_COMPARED: Final = 5_000
"""The most groups whose names are compared letter by letter."""
_LONGEST: Final = 249
"""The longest name that is compared letter by letter."""


def group_page(
    published: PublishedSnapshot | None,
    name: str,
    detail: GroupDetail | None,
    now: float,
    *,
    root: str,
    samples: Samples = (),
    other: OtherInstance | None = None,
    links: PageLinks | None = None,
) -> Page:
    """Return a group's page as of `now` (Unix seconds).

    `other` is the instance that monitors the group, if it is not this one. `links` are those to other services. `root`
    and `samples` as in `Page`.
    """
    if published is None:
        return _page(name, root, ui.WAITING, code=503)
    snapshot = published.snapshot
    found = in_milliseconds(rows_where(snapshot.groups, group=name)).to_pylist()
    if not found and other is not None:
        return _page(name, root, _elsewhere(name, other), code=404)
    if not found:
        return _page(name, root, _absent(snapshot, name, root), code=404)
    row, dead = found[0], found[0]["state"] == DEAD
    links = links or PageLinks()
    severities = {each["verdict"]: each["severity"] for each in snapshot.verdict_groups.to_pylist()}
    partitions = in_milliseconds(rows_where(snapshot.partitions, group=name))
    if row["kind"] != _SHARE or len(partitions) or dead:
        cells = partitions.to_pylist()
        table_of_partitions = tables.partitions_section(partitions, detail, severities, now, root)
    else:
        shares = () if detail is None else detail.share_partitions or ()
        cells = [dataclasses.asdict(each) for each in shares]
        table_of_partitions = tables.share_partitions_section(detail, severities, now, root)
    content = [
        _about(snapshot, row, detail, now),
        _outside_links(row, links, detail, root),
        _notes(row, detail),
        tables.strips_section(cells, severities),
        None if dead else _chart(row["kind"]),
        verdict_section.findings_section(detail, links, now) if detail is not None else None,
        tables.topics_section(rows_where(snapshot.topics, group=name), severities),
        table_of_partitions,
        tables.members_section(detail) if detail is not None else None,
        verdict_section.history_section(detail, now) if detail is not None else None,
        verdict_section.commands_section(row, links, root),
    ]
    alarm = row["severity"] == "critical"
    return dataclasses.replace(_page(name, root, content), samples=samples, marks=_marks(detail), alarm=alarm)


def failed_page(reason: str, name: str | None, root: str) -> Page:
    """Return the page for a page that could not be created, with the reason."""
    about = None if name is None else el("p", "Group: ", ui.named(name))
    return _page(name or "", root, ui.failure("This page could not be created", el("p", reason), about), code=500)


def _outside_links(row: dict[str, Any], links: PageLinks, detail: GroupDetail | None, root: str) -> Content:
    """Return the links to the next record, to Grafana and to the runbook of the verdict; None if there is none."""
    topic, partition, found = (None if detail is None else verdict_section.partition_in_card(detail)) or ("", -1, None)
    offset = None if found is None else found.evidence.get("committed_offset")
    urls = (
        (f"{NEXT_RECORD} of {printable(topic)}-{partition}", links.message(topic, partition, offset)),
        ("dashboard in Grafana", links.dashboard(row["group"])),
        ("runbook of this verdict", links.runbook(row["verdict"], row["severity"], root)),
    )
    shown: list[Content] = [
        [el("a", words, href=url, rel="noopener noreferrer"), " "] for words, url in urls if url is not None
    ]
    return el("nav", shown, class_="outside", aria_label="Other services") if shown else None


def _page(name: str, root: str, content: Content, code: int = 200) -> Page:
    json = f"{root}api/v1/group?name={urllib.parse.quote(name, safe='')}"
    title = f"{printable(name) or '(empty name)'} · lagwarden"
    links = ((root, "all groups"), (json, "as JSON"))
    return Page(title, content, root, links, foot="times are ages; hover for UTC", code=code)


def _marks(detail: GroupDetail | None) -> list[tuple[float, str, str]]:
    """Return the marks of the chart: verdict changes and transitions."""
    if detail is None:
        return []
    transitions = [(each.time, "group", each.transition) for each in detail.transitions]
    return sorted([*transitions, *((each.time, "verdict", phrase(each.verdict)) for each in detail.verdicts)])


def _absent(snapshot: Snapshot, name: str, root: str) -> Element:
    """Return the message that the group does not exist, with links to groups with a similar name."""
    names = snapshot.groups.column("group").cast(pa.string())
    similar = names.filter(pc.match_substring(names, name, ignore_case=True))[:_SIMILAR].to_pylist()
    if not similar and len(names) <= _COMPARED and len(name) <= _LONGEST:
        similar = difflib.get_close_matches(name, names.to_pylist(), _SIMILAR)
    links = [el("li", ui.group_link(other, root)) for other in similar]
    why = "It has no committed offset and no metadata record, or it died and is no longer kept."
    return ui.failure(
        "No such group",
        el("p", "There is no group named ", ui.named(name), f". {why}"),
        [el("p", "Groups with similar names:"), el("ul", links)] if links else None,
    )


def _elsewhere(name: str, other: OtherInstance) -> Element:
    """Return the message that another instance monitors the group, with a link to its page there."""
    where = f"instance {other.part}"
    link: Content = where if other.url is None else el("a", where, href=f"{other.url}/{ui.group_url(name)}")
    monitored = el("p", "If there is a group named ", ui.named(name), ", it is monitored by ", link, ".")
    return ui.failure("Not a group of this instance", monitored)


def _about(snapshot: Snapshot, row: dict[str, Any], detail: GroupDetail | None, now: float) -> list[Content]:
    """Return the heading, the verdict and the facts of the group."""
    died = [ui.since(row["died_time"], now), ": ", ui.known(row["death_cause"], printable)]
    begun = row["state_since"]
    phase = None if begun is None else el("span", ui.lasting(begun, now), class_="phase")
    return [
        el("h1", ui.named(row["group"]), class_="name"),
        verdict_section.verdict_card(row, detail, now),
        el(
            "section",
            el("p", ui.state(row["state"], described=row["state_described"]), " ", phase),
            el("p", "Died ", died, ".") if row["state"] == DEAD else None,
            ui.fact_list(_facts(row, now)),
            ui.note(snapshot_age(snapshot.taken_at, now)),
            class_="card",
            aria_label="Group",
        ),
    ]


def _chart(kind: str) -> Element:
    """Return the empty element in which the script draws the charts; the one of lag only for a share group."""
    return ui.titled(
        "Over time",
        el("div", id="chart", data_keep=True, data_panels=_LAG_PANEL if kind == _SHARE else None),
        ui.note([el("span", sign, class_=f"mark-key {name}"), f" {words} "] for name, sign, words in _MARKS),
        el("noscript", ui.note("The chart needs JavaScript.")),
    )


def _facts(row: dict[str, Any], now: float) -> list[tuple[str, Content]]:
    """Return the facts of the group, without those that are not given, or that its kind or a dead group lacks."""
    link, created = row["link"], row["created_time"]
    parts = [f"{number(row[f'members_{how}'])} {how}" for how in ("idle", "away") if row[f"members_{how}"]]
    live_facts: list[tuple[str, Content]] = [
        ("Lag", ui.offsets(row["lag_sum"])),
        ("Greatest lag of a partition", ui.offsets(row["lag_max"])),
        ("Time lag", ui.time_lag(row["time_lag_max"], exact=row["time_lag_max_exact"])),
        ("Members", [ui.known(row["members"]), [" ", el("small", f"({', '.join(parts)})")] if parts else None]),
        ("Partitions", ui.known(row["partitions"])),
        ("Last commit", ui.since(row["last_commit_time"], now)),
        ("First offset expires", ui.expiry(row["first_offset_expiry_time"], now)),
        ("Group expires", ui.expiry(row["group_expiry_time"], now)),
    ]
    if row["kind"] == _SHARE:
        live_facts = [fact for fact in live_facts if fact[0] not in _OF_COMMITS]
    numbers = {"generation": "Generation", "group_epoch": "Group epoch", "assignment_epoch": "Assignment epoch"}
    facts: list[tuple[str, Content]] = [
        ("Kind", ui.known(row["kind"], printable)),
        ("Team", printable(row["team"] or "")),
        ("Tier", printable(row["tier"] or "")),
        ("Link", el("a", printable(link), href=link, rel="noopener noreferrer") if link else None),
        *(live_facts if row["state"] != DEAD else ()),
        ("Created", None if created is None else ui.since(created, now)),
        ("Protocol type", printable(row["protocol_type"] or "")),
        ("Assignor", printable(row["protocol"] or "")),
        *((label, number(row[column])) for column, label in numbers.items() if row[column] is not None),
    ]
    return [fact for fact in facts if fact[1]]


def _notes(row: dict[str, Any], detail: GroupDetail | None) -> Content:
    """Return notes: maintenance, silence, owners, subscribers, unknown lags, odd times, hidden commits, quotas."""
    notes: list[Content] = []
    if row["maintenance_until"] is not None:
        until = utc(row["maintenance_until"] / 1000)
        notes.append(f"In maintenance until {until} UTC: the verdict is shown, but no alert about this group fires.")
    if row["silence_reason"] is not None:
        end = "" if row["silence_until"] is None else f" until {utc(row['silence_until'] / 1000)} UTC"
        reason = printable(row["silence_reason"])
        notes.append(f"Silenced{end} ({reason}): the verdict is shown, but no alert about this group fires.")
    if row["not_alerted"]:
        why = "The fault began before lagwarden first looked, or after a long silence of the group"
        notes.append(f"{why}: it is shown, but raises no alert until the group has recovered (health.day_one).")
    if detail is not None and detail.unowned:
        unowned = ui.listed([ui.named(topic), " ", ranges(them)] for topic, them in detail.unowned)
        notes.append(["Subscribed partitions without an owner: ", unowned, "."])
    if detail is not None and detail.unsubscribed:
        topics = ui.listed(map(ui.named, detail.unsubscribed))
        notes.append(["Topics with committed offsets that no member subscribes to: ", topics, "."])
    if row["partitions_lag_unknown"]:
        what = count(row["partitions_lag_unknown"], "partition")
        is_share = row["kind"] == _SHARE
        why = "no delivery has ended yet, or it is not recorded" if is_share else "the table has the reason"
        notes.append(f"The lag of {what} is unknown; {why}.")
    if row["odd_times"]:
        what = count(row["odd_times"], "impossible time")
        odd = "in the future, before 1970 or after the year 9999"
        notes.append(f"The group's records have {what} ({odd}); a possible time is shown instead.")
    if row["held_back"]:
        hidden = "An open transaction hides the latest commits of this group from readers of committed records"
        notes.append(f"{hidden}; those that are shown are not yet stable.")
    if row["lag_sum"] and detail is not None:
        notes.extend(printable(quota.sentence) for quota in detail.quotas or ())
    return el("ul", [el("li", note) for note in notes], class_="notes") if notes else None
