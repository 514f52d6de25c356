"""The status page at `/`: a plain look at the fleet for a person with a browser. HTML and CSS, no script.

Everything that comes from the cluster is a name somebody chose, so all of it is escaped, characters that do not print
are made visible, and writing direction cannot leak out of a name.
"""

from __future__ import annotations

import functools
import html
import importlib.resources
import math
import string
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from exporters.exposition import Published
    from exporters.readmodel import MonitorStatus, Snapshot

ROWS: Final = 500
"""How many groups are shown at most: those with the greatest lag. All are in the API."""

_UNKNOWN: Final = '<span class="unknown">unknown</span>'
_COMMITTED: Final = "last_commit_time"
_COLUMNS: Final = (
    "group", "kind", "state", "members", "partitions",
    "lag_sum", "lag_max", "partitions_lag_unknown", _COMMITTED,
)  # fmt: skip


def render_page(published: Published | None, status: MonitorStatus, now: float) -> bytes:
    """Render the page as of `now` (Unix seconds)."""
    page = _template("status.html").substitute(
        tone="good" if status.ready else "bad",
        verdict="Ready" if status.ready else "Not ready",
        phase=_safe(status.phase),
        reasons="".join(f"<li>{_safe(reason)}</li>" for reason in status.not_ready_reasons),
        progress=_progress(status),
        facts="".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in _facts(published, status, now)),
        groups=_groups(published.snapshot, now) if published else '<p class="note">No snapshot of the groups yet.</p>',
        version=_safe(status.version),
    )
    return page.encode()


def stylesheet() -> bytes:
    """Give the style sheet."""
    return _resource("style.css").encode()


def duration(seconds: float) -> str:
    """Say a length of time in its two greatest units: `3 d 4 h`, `12 s`, `0.4 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    rest, said = int(seconds), list[str]()
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or said:
            said.append(f"{count} {unit}")
    return " ".join(said[:2])


def _facts(published: Published | None, status: MonitorStatus, now: float) -> list[tuple[str, str]]:
    """Give the line of small facts under the verdict."""
    facts = [
        ("Cluster", _UNKNOWN if status.cluster_id is None else _safe(status.cluster_id)),
        ("Kafka", "reachable" if status.kafka_reachable else '<span class="bad">not reachable</span>'),
        ("Snapshot", _ago(published.snapshot.taken_at, now) if published else "none yet"),
        ("Last batch", "none yet" if status.last_batch_at is None else _ago(status.last_batch_at, now)),
        ("Batches", _number(status.batches)),
        ("Series", _number(status.series)),
    ]
    errors = pc.sum(status.decode_errors.column("records")).as_py()
    if errors:
        facts.append(("Decode errors", f'<span class="bad">{_number(errors)}</span>'))
    return facts


def _progress(status: MonitorStatus) -> str:
    if status.catch_up_ratio is None or status.catch_up_ratio >= 1:
        return ""
    # Rounded down: 100 % while there is something left would be a lie.
    said = [f"{math.floor(status.catch_up_ratio * 100)} % read"]
    if status.catch_up_records_per_second is not None:
        said.append(f"{_number(round(status.catch_up_records_per_second))} records/s")
    if status.catch_up_seconds_left is not None:
        said.append(f"{duration(status.catch_up_seconds_left)} left")
    bar = f'<progress max="1" value="{status.catch_up_ratio:.4f}"></progress>'
    return f'<p class="progress">{bar} Catching up: {", ".join(said)}</p>'


def _groups(snapshot: Snapshot, now: float) -> str:
    """Give the table of the groups, greatest lag first, unknown last."""
    total = len(snapshot.groups)
    if not total:
        return '<p class="note">No group has committed an offset or has members.</p>'
    # A stable sort of what is sorted by name: equal lags stay in that order.
    order = pc.sort_indices(snapshot.groups, [("lag_sum", "descending", "at_end")])
    shown = snapshot.groups.select(_COLUMNS).take(order[:ROWS])
    # As whole milliseconds: Python would take a moment without a zone for local time.
    shown = shown.set_column(_COLUMNS.index(_COMMITTED), _COMMITTED, shown.column(_COMMITTED).cast(pa.int64()))
    note = f"the {_number(ROWS)} with the greatest lag of {_number(total)}" if total > ROWS else _number(total)
    body = "".join(_group_row(row, now) for row in shown.to_pylist())
    return _template("groups.html").substitute(note=note, rows=body)


def _group_row(row: dict[str, Any], now: float) -> str:
    name = row["group"]
    # An empty name is legal in Kafka; something must be there to point at.
    link = f'<a href="api/v1/groups/{urllib.parse.quote(name, safe="")}"><bdi>{_safe(name) or "(empty name)"}</bdi></a>'
    committed = row[_COMMITTED]
    # What a person looks for comes first: on a phone the rest is a swipe away.
    cells = [
        f'<th scope="row">{link}</th>',
        *(f'<td class="number">{_known(row[column])}</td>' for column in ("lag_sum", "lag_max")),
        f'<td class="number">{_number(row["partitions_lag_unknown"]) if row["partitions_lag_unknown"] else ""}</td>',
        f'<td class="number">{_UNKNOWN if committed is None else _ago(committed / 1000, now)}</td>',
        f"<td>{_UNKNOWN if row['state'] is None else _safe(row['state'])}</td>",
        *(f'<td class="number">{_known(row[column])}</td>' for column in ("members", "partitions")),
        f"<td>{_UNKNOWN if row['kind'] is None else _safe(row['kind'])}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _known(value: int | None) -> str:
    return _UNKNOWN if value is None else _number(value)


def _number(value: int) -> str:
    # A thin space that does not break: neither comma nor point, which mean opposite things in half the world.
    return f"{value:,}".replace(",", "\u202f")


def _ago(then: float, now: float) -> str:
    return f"{duration(max(now - then, 0.0))} ago"


def _safe(text: str) -> str:
    r"""Escape for HTML, and write what does not print (line feeds, direction overrides) as in Python: `\n`."""
    shown = (sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return html.escape("".join(shown))


@functools.cache
def _template(name: str) -> string.Template:
    return string.Template(_resource(name))


@functools.cache
def _resource(name: str) -> str:
    return importlib.resources.files("exporters.page").joinpath(name).read_text("utf-8")
