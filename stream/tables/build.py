"""Makes the rows of a table from records."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from decoders.schema import RecordContent as _Content
from decoders.tables import types_with
from stream.offline.replay import Replay
from stream.tables.columns import COMMITS, GROUPS, MEMBERS, RECORDS, OffsetsTable
from stream.tables.events import UNKNOWN_CAUSE_FACTS, CauseFacts, add_to_replay, event_rows
from stream.tables.memberships import group_rows, member_rows
from stream.tables.records import commit_rows, record_rows
from stream.tables.rows import AskedNames, AskedRecords, LoggedRecords

_ROWS: Final = {
    # The types of the records that a table has (None: all), and its rows. That of events is made of all records.
    COMMITS.name: (types_with(_Content.OFFSET), commit_rows),
    RECORDS.name: (None, record_rows),
    GROUPS.name: (types_with(_Content.CLASSIC_GROUP, _Content.GROUP_EPOCH, _Content.TARGET_EPOCH), group_rows),
    MEMBERS.name: (
        types_with(_Content.CLASSIC_GROUP, _Content.MEMBER, _Content.TARGET_ASSIGNMENT, _Content.CURRENT_ASSIGNMENT),
        member_rows,
    ),
}


def table_batches(
    table: OffsetsTable,
    names: Sequence[str],
    records: Iterable[LoggedRecords | str],
    asked: AskedNames,
    cluster: CauseFacts = UNKNOWN_CAUSE_FACTS,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table with these columns. A text among the records is a problem, which becomes a row."""
    schema, replay = table.schema(names), Replay()
    types, rows_of = _ROWS.get(table.name, (None, None))
    for each in records:
        if isinstance(each, str):
            if asked == AskedNames():
                yield pa.RecordBatch.from_pylist([{"error": each}], schema)
        elif rows_of is None:
            add_to_replay(replay, each, asked)
        elif len(found := AskedRecords.of(each, asked, types)):
            yield from rows_of(found, schema)
    if rows_of is None:
        yield from event_rows(replay, schema, cluster)
