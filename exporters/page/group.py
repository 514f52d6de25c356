"""One group's page at `/group?name=…` and `/groups/…`: what it is, its members, its partitions and its history."""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.fleet import group_link, in_milliseconds
from exporters.page.group_tables import history_section, members_section, partitions_section
from exporters.page.templates import template
from exporters.page.words import (
    ago,
    expiry,
    known,
    lasting,
    named,
    number,
    ranges,
    safe,
    since,
    state,
    text,
    tone,
)

if TYPE_CHECKING:
    from exporters.exposition import Published
    from exporters.readmodel import GroupDetail, Snapshot

_DEAD: Final = "Dead"
_NEAR: Final = 8
"""How many groups are offered in place of one that is not there."""


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A page and the HTTP status code that goes with it."""

    html: bytes
    code: int = 200


def render_group_page(
    published: Published | None, name: str, detail: GroupDetail | None, now: float, *, root: str
) -> Page:
    """Render a group's page as of `now` (Unix seconds); `root` leads from its address to the status page."""
    if published is None:
        return _page(name, root, '<p class="note">No snapshot of the groups yet.</p>', 503)
    snapshot = published.snapshot
    found = in_milliseconds(_of(snapshot.groups, name)).to_pylist()
    if not found:
        return _page(name, root, _absent(snapshot, name, root), 404)
    row = found[0]
    body = _card(snapshot, row, now) + _notes(row, detail)
    if detail is not None:
        body += members_section(detail)
    body += partitions_section(in_milliseconds(_of(snapshot.partitions, name)), detail, now)
    if detail is not None:
        body += history_section(detail, now)
    return _page(name, root, body)


def _of(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.equal(table.column("group"), pa.scalar(name)))


def _page(name: str, root: str, body: str, code: int = 200) -> Page:
    json = f"api/v1/group?name={urllib.parse.quote(name, safe='')}"
    title = safe(name) or "(empty name)"
    return Page(template("group.html").substitute(title=title, root=root, json=json, body=body).encode(), code)


def _absent(snapshot: Snapshot, name: str, root: str) -> str:
    """Say that there is no such group, and offer those whose names hold what was asked for."""
    names = snapshot.groups.column("group").cast(pa.string())
    near = names.filter(pc.match_substring(names, name, ignore_case=True))[:_NEAR].to_pylist()
    links = "".join(f'<li><a href="{group_link(other, root)}">{named(other)}</a></li>' for other in near)
    offered = f"<p>There are:</p><ul>{links}</ul>" if near else ""
    return (
        f'<section class="card bad"><p><strong>No such group</strong></p><p>{named(name)} has neither a committed '
        f"offset nor a record, or its grace time after death is over.</p>{offered}</section>\n"
    )


def _card(snapshot: Snapshot, row: dict[str, Any], now: float) -> str:
    facts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in _facts(row, now))
    shown = state(row["state"], asked=row["state_asked"])
    since_when = row["state_since"]
    beside = "" if since_when is None else f'<span class="phase">{lasting(since_when, now)}</span>'
    dead = row["state"] == _DEAD
    cause = f"<p>It died {since(row['died_time'], now)}: {text(row['death_cause'])}.</p>" if dead else ""
    return (
        f'<section class="card {"quiet" if row["state"] is None else tone(row["state"])}" aria-label="Group">'
        f'<h2 class="name">{named(row["group"])}</h2><p>{shown} {beside}</p>{cause}<dl>{facts}</dl>'
        f'<p class="note">Snapshot taken {ago(snapshot.taken_at, now)}.</p></section>\n'
    )


def _facts(row: dict[str, Any], now: float) -> list[tuple[str, str]]:
    """Give what is known of the group; a fact that its kind has not, or that died with it, is left out."""
    facts = [("Kind", text(row["kind"]))]
    living = [
        ("Lag", known(row["lag_sum"])),
        ("Greatest lag", known(row["lag_max"])),
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
    facts += [(said, safe(row[column])) for column, said in words.items() if row[column]]
    numbers = {"generation": "Generation", "group_epoch": "Group epoch", "assignment_epoch": "Assignment epoch"}
    facts += [(said, number(row[column])) for column, said in numbers.items() if row[column] is not None]
    return facts


def _members(row: dict[str, Any]) -> str:
    odd = ", ".join(f"{number(row[f'members_{how}'])} {how}" for how in ("idle", "away") if row[f"members_{how}"])
    return f"{known(row['members'])} <small>({odd})</small>" if odd else known(row["members"])


def _notes(row: dict[str, Any], detail: GroupDetail | None) -> str:
    """Say what wants a look: partitions that nobody reads, topics that are not read any more."""
    notes = []
    if detail is not None and detail.unowned:
        topics = ", ".join(f"{named(topic)} {ranges(numbers)}" for topic, numbers in detail.unowned)
        notes.append(f"Subscribed, but owned by no member: {topics}.")
    if detail is not None and detail.unsubscribed:
        topics = ", ".join(map(named, detail.unsubscribed))
        notes.append(f"Offsets are kept of topics that nobody in the group subscribes to: {topics}.")
    if row["partitions_lag_unknown"]:
        count = row["partitions_lag_unknown"]
        what = "1 partition" if count == 1 else f"{number(count)} partitions"
        notes.append(f"The lag of {what} is not known; the table says why.")
    items = "".join(f"<li>{note}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>\n' if notes else ""
