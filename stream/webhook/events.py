"""Changes between the announced verdicts and those of a snapshot, as CloudEvents 1.0 in JSON. Pure.

A change from one fine verdict to another is no event, as in the verdict history: a busy group alternates between caught
up and not. Nor is the first verdict of a group, if it is fine or unknown, nor an unknown verdict that has not lasted.

A restart, a broker that is away for a moment, or a poll of share groups that failed leave a verdict unknown until the
next answer. The receiver of `stopped` must not take that for an end of the fault, nor its return for a new one.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.http.api import table_rows
from exporters.readmodel import FindingDetail, Snapshot
from exporters.timestamps import rfc3339
from exporters.verdict_event import AnnouncedVerdict, VerdictEvent
from exporters.wording import DEAD, FINE

GAP_SECONDS: Final = 300.0
"""The time for which a verdict must be unknown, without a break, before that is an event."""
UNKNOWN: Final = "unknown"


class KnowledgeGaps:
    """The groups with an unknown verdict, and since when, by the times of snapshots. A short gap is no change."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def update(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the groups whose verdict is unknown in this snapshot, but not for long."""
        groups = snapshot.groups
        is_unknown = pc.equal(groups.column("verdict").cast(pa.string()), UNKNOWN).fill_null(False)
        now = snapshot.taken_at
        names = groups.column("group").filter(is_unknown).to_pylist()
        self._since = {name: self._since.get(name, now) for name in names}
        return frozenset(name for name, since in self._since.items() if now - since < GAP_SECONDS)


TYPE: Final = "lagwarden.group.verdict_changed.v1"
"""The type of the events; a change that breaks receivers gets another number."""
_GONE: Final = "The group no longer exists."


@dataclasses.dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """A verdict that differs from the announced one.

    `row` is the row of the group in the groups of the snapshot, None if the group has disappeared. `announced` is the
    new verdict, None if the group has none any more.
    """

    group: str
    row: int | None
    announced: AnnouncedVerdict | None


def verdict_changes(
    snapshot: Snapshot, announced: Mapping[str, AnnouncedVerdict], gaps: Container[str] = ()
) -> tuple[list[ChangedVerdict], list[str]]:
    """Return the groups whose verdict differs from the announced one, sorted by group, and those to forget.

    Groups of the `gaps`, whose verdict is unknown but not for long, keep the announced one. A group that died or
    disappeared has changed if the announced verdict was not fine; else it is only forgotten.
    """
    columns = [snapshot.groups.column(name).to_pylist() for name in ("group", "verdict", "severity", "state")]
    found = [
        ChangedVerdict(group, at, None if verdict is None else AnnouncedVerdict(verdict, severity))
        for at, (group, verdict, severity, state) in enumerate(zip(*columns, strict=True))
        if _is_change(announced.get(group), verdict, severity, state) and group not in gaps
    ]
    present = set(columns[0]) if announced else set()
    gone = {group: last.severity == FINE for group, last in announced.items() if group not in present}
    found += [ChangedVerdict(group, None, None) for group, was_fine in gone.items() if not was_fine]
    return sorted(found, key=lambda each: each.group), [group for group, was_fine in gone.items() if was_fine]


def verdict_events(
    snapshot: Snapshot,
    changes: Sequence[ChangedVerdict],
    announced: Mapping[str, AnnouncedVerdict],
    finding_of: Callable[[str], FindingDetail | None],
    cluster_id: str,
) -> list[VerdictEvent]:
    """Return an event for each change. The verdict of a group that died or disappeared is None in its event."""
    at = pa.array([each.row for each in changes if each.row is not None], pa.int64())
    known = iter(table_rows(snapshot.groups.take(at)))
    rows = ({"group": each.group} if each.row is None else next(known) for each in changes)
    return [_event(row, announced.get(row["group"]), finding_of, cluster_id, snapshot.taken_at) for row in rows]


def _is_change(last: AnnouncedVerdict | None, verdict: str | None, severity: str | None, state: str | None) -> bool:
    if verdict is None:
        return state == DEAD and last is not None and last.severity != FINE
    if last is None:
        return severity not in {FINE, UNKNOWN}
    return bool(last.verdict != verdict and not last.severity == severity == FINE)


def _event(
    row: Mapping[str, Any],
    last: AnnouncedVerdict | None,
    finding_of: Callable[[str], FindingDetail | None],
    cluster_id: str,
    now: float,
) -> VerdictEvent:
    group, verdict, before = row["group"], row.get("verdict"), None if last is None else last.verdict
    finding = finding_of(group) if verdict is not None else None
    owner = {label: row.get(label) for label in ("team", "tier", "link")}
    data = {
        "group": group,
        "before": before,
        "verdict": verdict,
        "severity": row.get("severity"),
        "since": row.get("verdict_since"),
        "sentence": _sentence(row, finding),
        "evidence": {} if finding is None else dict(finding.evidence),
        "next_step": None if finding is None else finding.next_step,
        "owner": owner if any(owner.values()) else None,
        "maintenance_until": row.get("maintenance_until"),
        "silence_reason": row.get("silence_reason"),
        "not_alerted": bool(row.get("not_alerted")),
    }
    identity = json.dumps([cluster_id, group, before, verdict, round(now * 1000)])
    event_id = hashlib.sha256(identity.encode()).hexdigest()[:32]
    event = {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/lagwarden/clusters/{cluster_id}",
        "type": TYPE,
        "subject": group,
        "time": rfc3339(now),
        "datacontenttype": "application/json",
        "data": data,
    }
    announced = None if verdict is None else AnnouncedVerdict(verdict, row["severity"])
    # An empty subject is invalid in CloudEvents, but a group may have an empty name. Escaped: names may have lone
    # surrogates.
    shown = {name: value for name, value in event.items() if value != ""}
    body = json.dumps(shown, allow_nan=False).encode()
    return VerdictEvent(event_id, group, now, body, announced, last, row.get("team"))


def _sentence(row: Mapping[str, Any], finding: FindingDetail | None) -> str | None:
    if row.get("verdict") is None:
        cause = row.get("death_cause")
        return f"The group died ({cause})." if cause else _GONE
    return row.get("sentence") or (None if finding is None else finding.sentence)
