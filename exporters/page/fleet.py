"""The status page at `/`: can the numbers be relied on, how are the groups, and which have died lately."""

from __future__ import annotations

import math
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.templates import template
from exporters.page.words import (
    UNKNOWN,
    ago,
    duration,
    expiry,
    known,
    lasting,
    named,
    number,
    safe,
    since,
    state,
    text,
    tone,
)

if TYPE_CHECKING:
    from exporters.exposition import Published
    from exporters.readmodel import MonitorStatus, Snapshot

ROWS: Final = 500
"""How many living groups are shown at most, those with the greatest lag, and how many dead. All are in the API."""

_DEAD: Final = "Dead"


def render_page(published: Published | None, status: MonitorStatus, now: float) -> bytes:
    """Render the page as of `now` (Unix seconds)."""
    page = template("status.html").substitute(
        tone="good" if status.ready else "bad",
        verdict="Ready" if status.ready else "Not ready",
        phase=safe(status.phase),
        reasons="".join(f"<li>{safe(reason)}</li>" for reason in status.not_ready_reasons),
        progress=_progress(status),
        facts="".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in _facts(published, status, now)),
        groups=_fleet(published.snapshot, now) if published else '<p class="note">No snapshot of the groups yet.</p>',
        version=safe(status.version),
    )
    return page.encode()


def group_link(name: str, root: str = "") -> str:
    """Give the address of a group's page. In a query any name can stand, whatever proxies make of paths."""
    return f"{root}group?name={urllib.parse.quote(name, safe='')}"


def _facts(published: Published | None, status: MonitorStatus, now: float) -> list[tuple[str, str]]:
    """Give the line of small facts under the verdict."""
    facts = [
        ("Cluster", text(status.cluster_id)),
        ("Kafka", "reachable" if status.kafka_reachable else '<span class="bad">not reachable</span>'),
        ("Snapshot", ago(published.snapshot.taken_at, now) if published else "none yet"),
        ("Last batch", "none yet" if status.last_batch_at is None else ago(status.last_batch_at, now)),
        ("Batches", number(status.batches)),
        ("Series", number(status.series)),
        ("Offsets are kept", _retention(status)),
    ]
    errors = pc.sum(status.decode_errors.column("records")).as_py()
    if errors:
        facts.append(("Decode errors", f'<span class="bad">{number(errors)}</span>'))
    return facts


def _retention(status: MonitorStatus) -> str:
    if status.offsets_retention_seconds is None:
        return UNKNOWN
    return f"{duration(status.offsets_retention_seconds)} <small>({safe(status.offsets_retention_source)})</small>"


def _progress(status: MonitorStatus) -> str:
    if status.catch_up_ratio is None or status.catch_up_ratio >= 1:
        return ""
    # Rounded down: 100 % while there is something left would be a lie.
    said = [f"{math.floor(status.catch_up_ratio * 100)} % read"]
    if status.catch_up_records_per_second is not None:
        said.append(f"{number(round(status.catch_up_records_per_second))} records/s")
    if status.catch_up_seconds_left is not None:
        said.append(f"{duration(status.catch_up_seconds_left)} left")
    bar = f'<progress max="1" value="{status.catch_up_ratio:.4f}"></progress>'
    return f'<p class="progress">{bar} Catching up: {", ".join(said)}</p>'


def _fleet(snapshot: Snapshot, now: float) -> str:
    """Give the counts by state, the living groups and the dead ones."""
    groups = in_milliseconds(snapshot.groups)
    if not len(groups):
        return '<p class="note">No group has committed an offset or has members.</p>'
    dead = pc.equal(groups.column("state"), _DEAD).fill_null(False)
    return _glance(groups) + _living(groups.filter(pc.invert(dead)), now) + _gone(groups.filter(dead), now)


def in_milliseconds(table: pa.Table) -> pa.Table:
    """Give moments as whole numbers: Python would take a moment without a zone for local time."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table


def _glance(groups: pa.Table) -> str:
    counts = groups.group_by("state").aggregate([([], "count_all")]).sort_by([("count_all", "descending")])
    chips = "".join(
        f'<li class="{"quiet" if name is None else tone(name)}"><b>{number(count)}</b> {text(name)}</li>'
        for name, count in zip(counts["state"].to_pylist(), counts["count_all"].to_pylist(), strict=True)
    )
    return f'<ul class="chips" aria-label="Groups by state">{chips}</ul>\n'


def _living(groups: pa.Table, now: float) -> str:
    """Give the table of the groups, greatest lag first, unknown last."""
    total = len(groups)
    if not total:
        return '<p class="note">No group is alive.</p>'
    # A stable sort of what is sorted by name: equal lags stay in that order.
    order = pc.sort_indices(groups, [("lag_sum", "descending", "at_end")])
    note = f"the {number(ROWS)} with the greatest lag of {number(total)}" if total > ROWS else number(total)
    body = "".join(_group_row(row, now) for row in groups.take(order[:ROWS]).to_pylist())
    return template("groups.html").substitute(note=note, rows=body)


def _group_row(row: dict[str, Any], now: float) -> str:
    # What a person looks for comes first: on a phone the rest is a swipe away.
    numbers = (
        known(row["lag_sum"]),
        known(row["lag_max"]),
        number(row["partitions_lag_unknown"]) if row["partitions_lag_unknown"] else "",
        since(row["last_commit_time"], now),
        expiry(row["first_offset_expiry_time"], now),
        known(row["members"]),
        known(row["partitions"]),
    )
    cells = [
        f'<th scope="row"><a href="{group_link(row["group"])}">{named(row["group"])}</a></th>',
        f"<td>{_state(row, now)}</td>",
        *(f'<td class="number">{value}</td>' for value in numbers),
        f"<td>{text(row['kind'])}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _state(row: dict[str, Any], now: float) -> str:
    shown = state(row["state"], asked=row["state_asked"])
    return shown if row["state_since"] is None else f"{shown} <small>{lasting(row['state_since'], now)}</small>"


def _gone(groups: pa.Table, now: float) -> str:
    """Give the table of the dead, the latest death first."""
    total = len(groups)
    if not total:
        return ""
    order = pc.sort_indices(groups, [("died_time", "descending", "at_end")])
    note = f"the latest {number(ROWS)} of {number(total)}" if total > ROWS else number(total)
    body = "".join(
        f'<tr><th scope="row"><a href="{group_link(row["group"])}">{named(row["group"])}</a></th>'
        f"<td>{text(row['death_cause'])}</td><td>{since(row['died_time'], now)}</td><td>{text(row['kind'])}</td></tr>\n"
        for row in groups.take(order[:ROWS]).to_pylist()
    )
    return template("gone.html").substitute(note=note, rows=body)
