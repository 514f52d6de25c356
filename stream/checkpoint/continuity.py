"""Whether what was read of the offsets topic still is a part of the topic of today. Pure; the words for when it is not.

The state is right as long as nothing was missed between it and the topic: the same topic, positions inside its log, and
no stop longer than `delete.retention.ms`. Tombstones leave a compacted log so long after they were cleaned (KAFKA-4545,
KIP-354), and a reader that missed one keeps an offset, or a whole group, that no longer exists.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from stream.cluster.offsets_topic import NAME
from stream.wording import duration_in_one_unit

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class ReadPositions:
    """What has been read: the topic's id (None: the broker gives none), the next offset per partition, and when.

    `current_at` (Unix seconds) is when the reader last had read all there was; None: not known.
    """

    topic_id: str | None
    positions: Mapping[int, int]
    current_at: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class TopicNow:
    """The topic of now: its id, (log start, high watermark) per partition, how long tombstones stay in it.

    `tombstone_seconds` is the topic's `delete.retention.ms`; None: not known, and then Kafka's default is assumed.
    """

    topic_id: str | None
    bounds: Mapping[int, tuple[int, int]]
    now: float
    tombstone_seconds: float | None = None


DEFAULT_TOMBSTONE_SECONDS = 86_400.0
"""Kafka's default of `delete.retention.ms`."""


def gap(past: ReadPositions, present: TopicNow) -> str | None:
    """Say as a sentence why reading on would miss something, or None."""
    if past.topic_id is not None and present.topic_id is not None and past.topic_id != present.topic_id:
        return f"the topic {NAME} was made anew"
    for partition, position in sorted(past.positions.items()):
        start, end = present.bounds.get(partition, (None, None))
        if end is not None and position > end:
            return f"partition {partition} of {NAME} ends at {end}, before the {position} that was read already"
        if start is not None and position < start:
            return f"partition {partition} of {NAME} begins at {start}, records from {position} on were missed"
    return _too_long_away(past, present)


def _too_long_away(past: ReadPositions, present: TopicNow) -> str | None:
    limit = DEFAULT_TOMBSTONE_SECONDS if present.tombstone_seconds is None else present.tombstone_seconds
    if past.current_at is None or present.now - past.current_at <= limit:
        return None
    away, kept = (
        duration_in_one_unit(seconds * 1000, exact=False) for seconds in (present.now - past.current_at, limit)
    )
    return f"nothing was read for {away}, and {NAME} keeps tombstones for {kept}: some may have been missed"
