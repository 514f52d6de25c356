"""The groups of a capture or a log directory, in the form of the HTTP API of a running instance.

End offsets, existing topics and, unless configured, the retention of offsets are known only to the cluster, so lag and
expiration are null here. The snapshot time is the timestamp of the newest record.
"""

import collections
import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.group_query import ALL_GROUPS, GroupQuery
from exporters.http.api import group_json, groups_json
from exporters.readmodel import GroupDetail, Snapshot
from exporters.text.exposition import EMPTY, PublishedSnapshot
from exporters.timestamps import LATEST_MS
from stream.cli.group_source import Answer
from stream.config.options import GroupsOptions
from stream.groups.decode_stats import DecodeStats
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.lifecycle.model import GroupHistory
from stream.groups.membership.model import find_groups
from stream.offline.replay import Replay
from stream.offline.rows import LogRow, RowSource, TopicAndPartition
from stream.tick.context import UNKNOWN_CLUSTER, ClusterContext, TickFacts, derive
from stream.tick.ends_index import NO_ENDS
from stream.tick.snapshot.build import build, group_detail

_NOTE: Final = "a capture has no end offsets: lag is unknown; ages are relative to its newest record"
_NO_RETENTION: Final = (
    "the retention of offsets in its cluster is unknown: set groups.offsets_retention in the configuration, or"
    " LAGWARDEN_GROUPS_OFFSETS_RETENTION=7d, to see expiration times and the causes of removals"
)


class CaptureGroups:
    """All groups of a source of rows, as a `GroupSource`. `retention` is that of the cluster of the records."""

    knows_ends = False

    def __init__(self, source: RowSource, retention: OffsetsRetention = UNKNOWN_CLUSTER.retention) -> None:
        """Read the whole source. What could not be read is in `problems` afterwards."""
        self._newest = 0
        replay = Replay()
        replay.read(self._with_newest_time(source.rows()))
        self._driver_state = replay.driver_state
        self._columns = replay.driver_state.columns()
        cluster = ClusterContext(retention, topic_names=_topic_names(self._columns))
        self._derived = derive(TickFacts(self._columns, NO_ENDS, self._newest / 1000, cluster))
        self._snapshot = self._with_assignments(build(self._derived))
        self.decode_stats: Final = replay.decode_stats
        self.problems = [*source.problems, *fault_lines(replay.decode_stats)]
        self.notes = [*source.notes, _NOTE, *([_NO_RETENTION] if retention.retention_ms is None else [])]

    def _with_assignments(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the assigned partitions of each topic that is read, also those without a commit.

        A monitor has a row for each of them; here the number of partitions of a topic is not known.
        """
        topics, columns = snapshot.topics, ("members", "partitions_assigned")
        rows = topics.select(["group", "topic", *columns]).to_pylist()
        for row in rows:
            if row["partitions_assigned"] is not None:
                shares = self._shares(row["group"], row["topic"])
                row |= {"members": len(shares), "partitions_assigned": sum(shares)}
        for name in columns:
            at = topics.schema.get_field_index(name)
            topics = topics.set_column(at, topics.schema.field(at), pa.array([row[name] for row in rows], pa.int32()))
        return dataclasses.replace(snapshot, topics=topics)

    def _shares(self, group: str, topic: str) -> list[int]:
        """Return how many partitions of the topic each member with any of them owns."""
        names, membership = self._derived.facts.cluster.topic_names, self._columns.memberships.get(group)
        return [
            mask.bit_count()
            for client in (membership.clients if membership else ())
            for ref, mask in client.owned or ()
            if mask and topic == (ref if isinstance(ref, str) else names.get(ref))
        ]

    def groups(self, query: GroupQuery = ALL_GROUPS) -> Answer:
        """Return the groups of a query, as `GET /api/v1/groups`."""
        search = functools.partial(find_groups, self._columns.memberships)
        answer: Answer = json.loads(groups_json(PublishedSnapshot(self._snapshot, EMPTY), query, search))
        return answer

    def group(self, name: str) -> Answer | None:
        """Return one group with its transitions, as `GET /api/v1/group?name=…`; None if there is no such group."""
        snapshot = self._snapshot_of(name)
        body = group_json(snapshot, name, self._detail(name, snapshot))
        return None if body is None else json.loads(body)

    def _snapshot_of(self, name: str) -> Snapshot:
        """Return the snapshot with the rows of one group, so that `group_json` for all groups takes linear time."""
        rows = {
            table: getattr(self._snapshot, table).take(pa.array(numbers.get(name, ()), pa.int64()))
            for table, numbers in self._row_numbers
        }
        return dataclasses.replace(self._snapshot, **rows)

    @functools.cached_property
    def _row_numbers(self) -> list[tuple[str, dict[str, list[int]]]]:
        """The row numbers of each group, per table of the snapshot."""
        tables = []
        for table in ("groups", "unknown_lags", "partitions", "topics"):
            numbers: dict[str, list[int]] = collections.defaultdict(list)
            for number, group in enumerate(getattr(self._snapshot, table).column("group").to_pylist()):
                numbers[group].append(number)
            tables.append((table, numbers))
        return tables

    @functools.cached_property
    def commit_facts(self) -> Mapping[str, Mapping[TopicAndPartition, Answer]]:
        """Facts that the API omits, per partition of each group: leader epoch and metadata of the last commit, counts.

        `commits` and `rewinds` count since the previous tombstone of the offset; `leader_epoch` is null if the commit
        has none.
        """
        columns, runs = self._columns, self._columns.runs
        facts: dict[str, dict[TopicAndPartition, Answer]] = collections.defaultdict(dict)
        parts: tuple[list[Any], ...] = (
            columns.group.to_pylist(),
            columns.topic.to_pylist(),
            columns.partition.tolist(),
            runs.leader_epoch.tolist(),
            runs.metadata.to_pylist(),
            runs.spans.commits.tolist(),
            runs.spans.rewinds.tolist(),
        )
        for group, topic, partition, epoch, metadata, commits, rewinds in zip(*parts, strict=True):
            facts[group][topic, partition] = {
                "leader_epoch": None if epoch < 0 else epoch,
                "metadata": metadata.decode("utf-8", "replace"),
                "commits": commits,
                "rewinds": rewinds,
            }
        return facts

    def _with_newest_time(self, rows: Iterable[LogRow]) -> Iterator[LogRow]:
        """Yield the rows and keep the newest timestamp that calendars know."""
        for row in rows:
            if row.timestamp is not None and row.timestamp <= LATEST_MS:
                self._newest = max(self._newest, row.timestamp)
            yield row

    def _detail(self, name: str, snapshot: Snapshot) -> GroupDetail:
        """Return members and history of a group; `snapshot` has its rows only."""
        partitions = snapshot.partitions
        topics = (
            partitions.filter(pc.is_valid(partitions.column("committed_offset"))).column("topic").unique().to_pylist()
        )
        history = self._columns.histories.get(name)
        known = self._columns.memberships.get(name), None if history is None else _as_replayed(history)
        members = self._driver_state.members(name, self._derived.facts.cluster.topic_names)
        return group_detail(name, known, members, topics, self._derived)


def configured_retention(options: GroupsOptions) -> OffsetsRetention:
    """Return the retention of offsets in the configuration, or an unknown one."""
    retention, check = options.offsets_retention, options.offsets_retention_check
    if retention is None:
        return UNKNOWN_CLUSTER.retention
    return OffsetsRetention(round(retention * 1000), None if check is None else round(check * 1000), "configuration")


def fault_lines(stats: DecodeStats) -> Iterator[str]:
    """Yield one line per kind of decode error, with the position of one of the records."""
    for fault, count in stats.faults.most_common():
        sample = next(each for each in stats.samples if each.fault == fault)
        where = f"partition {sample.offsets_partition}, offset {sample.position}"
        kind = "no type" if fault.record_type is None else f"type {fault.record_type}"
        yield f"{count} records ({kind}) cannot be decoded: {fault.reason} in {sample.field}, such as {where}"


def _topic_names(columns: GroupColumns) -> dict[bytes, str]:
    """Return topic names by id, from the commits that have both (value version 4). Assignments have only the id."""
    pairs = pa.table({"id": columns.runs.topic_id, "name": columns.topic.cast(pa.string())})
    distinct = pairs.filter(pairs.column("id").is_valid()).group_by(["id", "name"]).aggregate([]).to_pydict()
    return dict(zip(distinct["id"], distinct["name"], strict=True))


def _as_replayed(history: GroupHistory) -> GroupHistory:
    """Return the history with all transitions marked as replayed, because no monitor saw them happen."""
    return dataclasses.replace(
        history, transitions=tuple(dataclasses.replace(each, live=False) for each in history.transitions)
    )
