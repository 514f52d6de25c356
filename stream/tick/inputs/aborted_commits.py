"""The aborted commits of the driver state by row. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.columnar import decode_keys
from stream.health.inputs import AbortStreak

if TYPE_CHECKING:
    from stream.groups.commits.aborts import AbortedCommits
    from stream.tick.inputs.rows import InputRows


def aborts_by_row(rows: InputRows, aborts: AbortedCommits) -> dict[int, AbortStreak]:
    """Return the aborted commits of each row that has any; those of other groups and partitions are left out."""
    if not len(aborts):
        return {}
    labels = decode_keys(aborts.keys)
    groups, topics = ({name: number for number, name in enumerate(names)} for names in (rows.groups, rows.topics))
    columns = (labels.group.to_pylist(), labels.topic.to_pylist(), labels.partition.tolist())
    numbers = (aborts.count, aborts.first_time, aborts.last_time, aborts.producer_id)
    streaks: dict[int, AbortStreak] = {}
    for group, topic, partition, *values in zip(*columns, *(column.tolist() for column in numbers), strict=True):
        row = rows.position(groups.get(group), topics.get(topic), partition)
        streak = AbortStreak(*values)
        # A group whose coordinator moved may have rows in two shards.
        if row is not None and (row not in streaks or streaks[row].last_time < streak.last_time):
            streaks[row] = streak
    return streaks
