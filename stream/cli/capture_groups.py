"""The groups of a capture or a log, as the HTTP API of a running instance would give them.

What only a cluster knows is not known here: ends of partitions and with them lag, which topics there are, and, unless
the configuration tells, how long offsets are kept. The moment of the answer is that of the newest record.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from exporters.http.api import group_json, groups_json
from exporters.text.exposition import EMPTY, PublishedSnapshot
from exporters.timestamps import LATEST_MS
from stream.cli.replay_report import faults_lines
from stream.cluster.partition_offsets import ENDS
from stream.groups.membership.unassigned import UnassignedTracker
from stream.offline.replay import Replay
from stream.tick.context import NOWHERE, ClusterContext, SnapshotContext
from stream.tick.snapshot.build import build
from stream.tick.snapshot.group_detail import group_detail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporters.readmodel import GroupDetail
    from stream.cli.group_source import Answer
    from stream.groups.driver_state import GroupColumns
    from stream.groups.expiry.predict import OffsetsRetention
    from stream.groups.lifecycle.model import GroupHistory
    from stream.offline.rows import RowSource, TopicRow

_NOTE: Final = "a capture has no ends of partitions: lag is not known; ages count from its newest record"
_NO_RETENTION: Final = (
    "how long its cluster kept offsets is not known: groups.offsets_retention in the configuration, or"
    " LAGWARDEN_GROUPS_OFFSETS_RETENTION=7d, lets expiry and the causes of deaths be told"
)


class CaptureGroups:
    """All groups of a source of rows, which is read once, whole. `retention` is that of the cluster it came from."""

    knows_ends = False

    def __init__(self, source: RowSource, retention: OffsetsRetention = NOWHERE.retention) -> None:
        """Read it. What could not be read is in `problems`."""
        self._newest = 0
        replay = Replay()
        replay.read(self._watched(source.rows()))
        self._held = replay.fleet
        self._fleet = replay.fleet.columns()
        around = ClusterContext(retention, topic_names=_topic_names(self._fleet))
        self._context = SnapshotContext.of(self._fleet, around, UnassignedTracker())
        self._snapshot = build(self._fleet, ENDS.empty_table(), self._newest / 1000, self._context)
        self.problems = [*source.problems, *faults_lines(replay.tally)]
        self.notes = [*source.notes, _NOTE, *([_NO_RETENTION] if retention.retention_ms is None else [])]

    def groups(self) -> Answer:
        """Give all groups."""
        answer: Answer = json.loads(groups_json(PublishedSnapshot(self._snapshot, EMPTY)))
        return answer

    def group(self, name: str) -> Answer | None:
        """Give one group, with all that happened to it."""
        body = group_json(self._snapshot, name, self._detail(name))
        return None if body is None else json.loads(body)

    def _watched(self, rows: Iterable[TopicRow]) -> Iterator[TopicRow]:
        for row in rows:
            if row.timestamp is not None and row.timestamp <= LATEST_MS:  # no calendar has a later time
                self._newest = max(self._newest, row.timestamp)
            yield row

    def _detail(self, name: str) -> GroupDetail:
        life = self._fleet.lives.get(name)
        found = self._fleet.memberships.get(name), None if life is None else _past(life)
        members = self._held.detail(name, self._context.around.topic_names)
        return group_detail(name, found, members, self._fleet.topics_of(name), self._context)


def _topic_names(fleet: GroupColumns) -> dict[bytes, str]:
    """Give the names of topics by id, as far as commits tell both (value version 4): assignments tell the id alone."""
    pairs = pa.table({"id": fleet.runs.topic_id, "name": fleet.topic.cast(pa.string())})
    found = pairs.filter(pairs.column("id").is_valid()).group_by(["id", "name"]).aggregate([]).to_pydict()
    return dict(zip(found["id"], found["name"], strict=True))


def _past(life: GroupHistory) -> GroupHistory:
    """Give a life as history: whatever it was when it happened, who reads a capture was not there."""
    return dataclasses.replace(
        life, transitions=tuple(dataclasses.replace(each, live=False) for each in life.transitions)
    )
