"""Rows of the table `events`: what the job's own state makes of the records, as the API's transitions of groups."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import cause_of, transition_sentence
from stream.groups.lifecycle.model import Transition
from stream.groups.record_columns import RecordColumns
from stream.offline.replay import Replay
from stream.tables.rows import AskedNames, AskedRecords, LoggedRecords, column_of


@dataclasses.dataclass(frozen=True, slots=True)
class CauseFacts:
    """What causes are derived from beside the records; `topic_exists` returns None where it is not known."""

    retention: OffsetsRetention
    topic_exists: Callable[[str], bool | None]


UNKNOWN_RETENTION: Final = OffsetsRetention(None, None, "unknown")
UNKNOWN_CAUSE_FACTS: Final = CauseFacts(UNKNOWN_RETENTION, lambda _: None)


def add_to_replay(replay: Replay, logged: LoggedRecords, asked: AskedNames) -> None:
    """Add those of these records that are asked for; aborted ones have no effect."""
    if logged.aborted:
        return
    columns = logged.records
    if asked.groups is not None:
        taken = AskedRecords.of(logged, asked).taken()
        columns = RecordColumns(taken.offsets_partition, taken.position, taken.time, *taken.keys_and_values())
    replay.add(columns)


def event_rows(replay: Replay, schema: pa.Schema, cluster: CauseFacts) -> Iterator[pa.RecordBatch]:
    """Yield the transitions of all groups in a replay, which has all records of their offsets partitions."""
    for partition, histories in replay.driver_state.histories():
        found = [(group, history.kind, each) for group, history in histories.items() for each in history.transitions]
        if found:
            rows = [event_row(partition, group, kind, each, cluster) for group, kind, each in found]
            yield pa.RecordBatch.from_arrays([column_of(field, rows) for field in schema], schema=schema)


def event_row(
    partition: int, group: str, kind: str | None, transition: Transition, cluster: CauseFacts
) -> dict[str, Any]:
    """Return the columns of a transition, with its time in ms."""
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
