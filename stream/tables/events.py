"""Rows of the table `events`: what the job's own state makes of the records, as the API's transitions of groups."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stream.groups.commits.keys import RecordRole
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import cause_of, transition_sentence
from stream.offline.replay import Replay
from stream.tables.keys import AskedNames, NamedKeys
from stream.tables.rows import batch_of, problem_row, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from stream.groups.lifecycle.model import Transition
    from stream.tables.logged import LoggedRecords


@dataclasses.dataclass(frozen=True, slots=True)
class CauseFacts:
    """What causes are derived from beside the records; `topic_exists` returns None where it is not known."""

    retention: OffsetsRetention
    topic_exists: Callable[[str], bool | None]


UNKNOWN_RETENTION: Final = OffsetsRetention(None, None, "unknown")
UNKNOWN_CAUSE_FACTS: Final = CauseFacts(UNKNOWN_RETENTION, lambda _: None)


def event_rows(
    records: Iterable[LoggedRecords | str], schema: pa.Schema, asked: AskedNames, cluster: CauseFacts
) -> Iterator[pa.RecordBatch]:
    """Yield the transitions of all groups in these records, which are all records of their offsets partitions."""
    replay = Replay()
    for each in records:
        if isinstance(each, str):
            if asked.groups is None:
                yield problem_row(schema, each)
        elif not each.aborted:
            columns = each.records
            if asked.groups is not None:
                taken = columns.take(NamedKeys.build(columns.keys).rows(tuple(RecordRole), asked))
                columns = dataclasses.replace(
                    taken, **dict(zip(("keys", "values"), taken.keys_and_values(), strict=True)), rows=None
                )
            replay.add(columns)
    for partition, histories in replay.driver_state.histories():
        found = [(group, history.kind, each) for group, history in histories.items() for each in history.transitions]
        if found:
            rows = [_row(partition, group, kind, each, cluster) for group, kind, each in found]
            yield batch_of(schema, {field.name: _maker(field, rows) for field in schema}, len(rows))


def _maker(field: pa.Field, rows: list[dict[str, Any]]) -> Any:
    values = [row[field.name] for row in rows]
    if pa.types.is_timestamp(field.type):
        return lambda: times(np.array(values, np.int64))
    return lambda: pa.array(values, field.type)


def _row(partition: int, group: str, kind: str, transition: Transition, cluster: CauseFacts) -> dict[str, Any]:
    removal = transition.removal
    cause = None if removal is None else cause_of(removal, cluster.retention, cluster.topic_exists)
    return {
        "group": group,
        "kind": kind,
        "event": transition.type.value,
        "time": transition.time,
        "text": transition_sentence(transition, cause, cluster.retention),
        "cause": None if cause is None else cause.value,
        "joined": transition.joined,
        "left": transition.left,
        "kind_before": transition.kind_before,
        "removed_offsets": None if removal is None else removal.offsets,
        "removed_topics": None if removal is None else list(removal.topics),
        "offsets_partition": partition,
        "position": transition.position,
        "error": None,
    }
