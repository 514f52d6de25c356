"""Rows of the table `events`: what the job's own state makes of the records, as the API's transitions of groups."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from stream.groups.commits.run_table import RecordRole
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import cause_of, transition_sentence
from stream.groups.lifecycle.model import Transition
from stream.offline.replay import Replay
from stream.tables.keys import AskedNames, NamedKeys
from stream.tables.logged import LoggedRecords
from stream.tables.rows import column_of, problem_row


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
