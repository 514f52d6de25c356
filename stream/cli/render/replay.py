"""What `replay` prints in addition to the commands about groups: commit counts, decode statistics and record events."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from exporters.wording import printable
from stream.cli.capture_groups import CaptureGroups
from stream.cli.group_source import Answer
from stream.cli.render.group_tables import groups_table
from stream.cli.render.tables import TableColumn, TextTable
from stream.offline.timeline import TimelineEvent
from stream.wording import utc_time


def replay_table(rows: Sequence[Answer], now: float, groups: CaptureGroups) -> TextTable:
    """Return the table of `groups`, with the generation, the commits and the rewinds of each group in addition."""

    def cells(row: Answer) -> list[str]:
        facts = groups.commit_facts.get(row["group"], {}).values()
        counts = [sum(fact[name] for fact in facts) for name in ("commits", "rewinds")]
        return ["-" if row["generation"] is None else str(row["generation"]), *map(str, counts)]

    table = groups_table(rows, now)
    return TextTable(
        [*table.columns, *(TableColumn(head, right=True) for head in ("GENERATION", "COMMITS", "REWINDS"))],
        [[*known, *cells(row)] for known, row in zip(table.rows, rows, strict=True)],
    )


def replay_json(answer: Answer, groups: CaptureGroups) -> Iterator[str]:
    """Yield one JSON object in lines: all groups as `GET /api/v1/group`, records by type, and decode errors by kind.

    `by_partition` also has what `CaptureGroups.commit_facts` returns. One line per group bounds the memory.
    """
    yield f'{{"snapshot_time":{json.dumps(answer["snapshot_time"])},"groups":['
    for at, row in enumerate(answer["groups"], 1):
        name = row["group"]
        group: Answer = groups.group(name) or {**row, "by_partition": []}
        facts = groups.commit_facts.get(name, {})
        for partition in group["by_partition"]:
            partition.update(facts.get((partition["topic"], partition["partition"]), {}))
        yield json_line(group) + ("," if at < len(answer["groups"]) else "")
    stats = groups.decode_stats
    # `None`: no type could be read.
    types = sorted(stats.records, key=lambda record_type: -1 if record_type is None else record_type)
    records = json_line({str(record_type): stats.records[record_type] for record_type in types})
    faults = json_line([{**dataclasses.asdict(fault), "count": count} for fault, count in stats.faults.most_common()])
    yield f'],"records":{records},"faults":{faults}}}'


def events_table(events: Iterable[TimelineEvent]) -> TextTable:
    """Return one row per event of a timeline. RECORD is the offsets partition and the offset of its record."""
    heads = ("TIME (UTC)", "RECORD", "WHAT", "STORY")
    rows = [
        [utc_time(event.time), f"{event.partition}:{event.position}", event.kind, printable(event.text)]
        for event in events
    ]
    return TextTable([TableColumn(head) for head in heads], rows)


def json_line(value: Any) -> str:
    """Return a value as JSON without blanks."""
    return json.dumps(value, separators=(",", ":"))
