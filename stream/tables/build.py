"""Makes the rows of a table from records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from stream.tables.columns import COMMITS, EVENTS, GROUPS, MEMBERS, RECORDS, OffsetsTable
from stream.tables.commits import commit_rows
from stream.tables.events import UNKNOWN_CAUSE_FACTS, CauseFacts, event_rows
from stream.tables.keys import AskedNames
from stream.tables.logged import LoggedRecords
from stream.tables.memberships import group_rows, member_rows
from stream.tables.records import json_rows
from stream.tables.rows import problem_row

Rows = Callable[[LoggedRecords, pa.Schema, AskedNames], Iterator[pa.RecordBatch]]

_ROWS: Final[Mapping[str, Rows]] = {
    COMMITS.name: commit_rows,
    RECORDS.name: json_rows,
    GROUPS.name: group_rows,
    MEMBERS.name: member_rows,
}


def table_batches(
    table: OffsetsTable,
    names: Sequence[str],
    records: Iterable[LoggedRecords | str],
    asked: AskedNames,
    cluster: CauseFacts = UNKNOWN_CAUSE_FACTS,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table with these columns. A text among the records is a problem, which becomes a row."""
    schema = table.schema(names)
    if table.name == EVENTS.name:
        yield from event_rows(records, schema, asked, cluster)
        return
    rows = _ROWS[table.name]
    for each in records:
        if not isinstance(each, str):
            yield from rows(each, schema, asked)
        elif asked.groups is None and asked.topics is None:
            yield problem_row(schema, each)
