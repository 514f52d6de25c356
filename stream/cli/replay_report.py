"""What `replay` found, for people and for programs: a table of groups, one of moments, and both as JSON."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from stream.cli.render.stdout import printable
from stream.cli.render.tables import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.groups.decode_stats import DecodeStats
    from stream.groups.membership.memberships import Membership
    from stream.offline.replay import GroupSummary, Outcome
    from stream.offline.timeline import TimelineEvent


def wall_time(milliseconds: int | None) -> str:
    """Write Unix milliseconds as a time in UTC; `-` for none, the bare number where no calendar reaches."""
    if milliseconds is None or milliseconds < 0:
        return "-"
    try:
        moment = dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
    return moment.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def groups_table(outcome: Outcome) -> Table:
    """Show all groups, one row each."""
    table = Table(box=None, header_style="bold")
    for name in ("GROUP", "KIND", "STATE"):
        table.add_column(name, overflow="fold")
    for name in ("MEMBERS", "GENERATION", "PARTITIONS", "COMMITS", "REWINDS"):
        table.add_column(name, justify="right")
    table.add_column("LAST COMMIT (UTC)")
    for group in outcome.groups:
        # Names are anybody's: `shown` escapes what a terminal would obey, and as Text they are no markup.
        table.add_row(Text(shown(group.group)), *_cells(group))
    return table


def _cells(group: GroupSummary) -> list[str]:
    known = group.membership
    last = max((each.commit_time for each in group.offsets), default=None)
    return [
        known.kind if known else "simple",
        (known.state if known else None) or "-",
        str(known.members) if known else "0",
        "-" if known is None or known.generation is None else str(known.generation),
        str(len(group.offsets)),
        str(sum(each.commits for each in group.offsets)),
        str(sum(each.rewinds for each in group.offsets)),
        wall_time(last),
    ]


def outcome_json(outcome: Outcome) -> str:
    """Write everything as one JSON object: groups with their offsets, records by type, faults by kind."""
    return json.dumps(
        {
            "groups": [_group(group) for group in outcome.groups],
            "records": {str(number): count for number, count in sorted(outcome.tally.records.items(), key=_by_number)},
            "faults": [
                {**dataclasses.asdict(fault), "count": count} for fault, count in outcome.tally.faults.most_common()
            ],
        },
        separators=(",", ":"),
    )


def _by_number(item: tuple[int | None, int]) -> int:
    return -1 if item[0] is None else item[0]


def _group(group: GroupSummary) -> dict[str, Any]:
    return {
        "group": group.group,
        "membership": None if group.membership is None else _membership(group.membership),
        "offsets": [dataclasses.asdict(each) for each in group.offsets],
    }


def _membership(membership: Membership) -> dict[str, Any]:
    """Give its fields, sets as sorted lists; who owns what is told by `groups describe`."""
    fields = {field.name: getattr(membership, field.name) for field in dataclasses.fields(membership)}
    del fields["owned"]
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in fields.items()}


def faults_lines(tally: DecodeStats) -> Iterable[str]:
    """Say, a line per kind, which records could not be decoded, with where one of them stands."""
    for fault, count in tally.faults.most_common():
        sample = next(each for each in tally.samples if each.fault == fault)
        where = f"partition {sample.offsets_partition}, offset {sample.position}"
        kind = "no type" if fault.record_type is None else f"type {fault.record_type}"
        yield f"{count} records ({kind}) cannot be decoded: {fault.reason} in {sample.field}, such as {where}"


def timeline_table(moments: Iterable[TimelineEvent]) -> Table:
    """Show a group's moments, one row each."""
    table = Table(box=None, header_style="bold")
    table.add_column("TIME (UTC)", no_wrap=True)
    table.add_column("RECORD", no_wrap=True)
    table.add_column("WHAT", no_wrap=True)
    table.add_column("", overflow="fold")
    for each in moments:
        table.add_row(wall_time(each.time), f"{each.partition}:{each.position}", each.kind, Text(printable(each.text)))
    return table


def moment_json(moment: TimelineEvent) -> str:
    """Write a moment as one JSON object."""
    return json.dumps(dataclasses.asdict(moment), separators=(",", ":"))
