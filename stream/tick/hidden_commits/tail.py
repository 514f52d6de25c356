"""The part of one offsets partition behind its last stable offset, folded as the job folds it later.

An open transaction hides all of these records from a reader of committed records, but only its own commits depend on
it: all other records are final. Commits are applied as the coordinator does it
(OffsetMetadataManager#replayEndTransactionMarker): the commit of a transaction applies from its marker on, unless a
newer record of the same offset exists, and a tombstone cancels it. Pure.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from decoders.columnar import decode_keys
from decoders.log.control import BatchOutcome, TransactionMarkers
from decoders.log.errors import Damaged
from decoders.log.files import LogBatch
from decoders.log.vectors import LogColumns
from stream.cluster.hidden_records import HiddenPart
from stream.groups.commits.run_table import DistinctKeys, RecordRole, Runs, find_rows, groups_of_commit_keys, join_runs
from stream.groups.commits.tombstones import OffsetTombstones
from stream.groups.fold import Fold
from stream.groups.membership.summary import group_of
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.shard import MembershipRecords
from stream.health.columns import Flags


class NewestRecord(NamedTuple):
    """Timestamp (ms) and position of a record."""

    time: int
    position: int


NEVER: Final = NewestRecord(-1, -1)


@dataclasses.dataclass(slots=True)
class HiddenMembership:
    """The membership records of one group: the newest value of each key, None where it is a tombstone."""

    records: dict[bytes, bytes | None] = dataclasses.field(default_factory=dict)
    newest: NewestRecord = NEVER
    version: int = 0
    """Rises with every record."""


class HiddenTail:
    """Receives the batches of one offsets partition in log order, from a last stable offset on."""

    def __init__(self, position: int, slot_ms: int, keep_slots: int) -> None:
        self.position = position
        """The offset to read next."""
        self.unread: int | None = None
        """The offsets from there to the high watermark at the last read; None before the first."""
        self.complete = False
        """True once the partition was read to its end; before that the records give an earlier state of the groups."""
        self.memberships: dict[str, HiddenMembership] = {}
        self._slot_ms = slot_ms
        self._keep_slots = keep_slots
        self._runs: list[Runs] = []
        self._open = _COMMITS.empty_table()

    @property
    def runs(self) -> Runs:
        """The commits and tombstones that count: one run per offset. A run without commits is a deletion."""
        self._runs = [join_runs(self._runs, self._keep_slots)]
        return self._runs[0]

    @property
    def deleted(self) -> Mapping[bytes, NewestRecord]:
        """The offsets (canonical keys) that were deleted and not committed again, each with its tombstone."""
        runs = self.runs
        rows = np.flatnonzero(runs.spans.commits == 0)
        keys, spans = runs.keys.take(pa.array(rows)).to_pylist(), runs.spans.take(rows)
        times_and_positions = zip(spans.last_time.tolist(), spans.last_position.tolist(), strict=True)
        return dict(zip(keys, map(NewestRecord._make, times_and_positions), strict=True))

    @property
    def pending(self) -> Mapping[bytes, NewestRecord]:
        """The offsets (canonical keys) with a commit in an open transaction, each with its newest one."""
        records = map(NewestRecord, self._open["timestamp"].to_pylist(), self._open["offset"].to_pylist())
        return dict(zip(self._open["key"].to_pylist(), records, strict=True))

    @property
    def groups(self) -> frozenset[str]:
        """The groups with records that count, or with a commit in an open transaction."""
        keys = pa.concat_arrays([self.runs.keys, self._open["key"].combine_chunks()])
        names = groups_of_commit_keys(keys).unique().cast(pa.string()).to_pylist()
        return frozenset(names) | self.memberships.keys()

    def add(self, part: HiddenPart) -> None:
        """Add batches that follow the last ones.

        Batches and records that cannot be decoded are passed: the job counts them when it reads them.
        """
        batches, within = part.batches, (part.start, part.position)
        final = [_table(columns) for columns in batches.columns(*within, _pass)]
        in_transactions = list(batches.columns(*within, _pass, selected=batches.pending))
        commits = pa.concat_tables([self._open, *(_commits(columns, part) for columns in in_transactions)])
        outcomes = _outcomes(commits, part)
        committed, is_late = outcomes == BatchOutcome.COMMITTED, commits["offset"].to_numpy() < part.start
        late = commits.filter(pa.array(committed & is_late))
        self._open = commits.filter(pa.array(outcomes == BatchOutcome.PENDING))
        fold = Fold(Placement(1, 1), slot_ms=self._slot_ms, keep_slots=self._keep_slots)
        fold.add(_record_columns([late.filter(pa.array(self._is_newest(late)))]))
        fold.add(_record_columns([*final, commits.filter(pa.array(committed & ~is_late))]))
        for _, delta in fold.drain():
            self._runs.append(delta.runs)
            self._add_memberships(delta.records)
            self._cancel(delta.tombstones)
        self.position, self.unread = part.position, part.unread
        self.complete = self.complete or not part.unread

    def _is_newest(self, commits: pa.Table) -> Flags:
        """Return which commits have a greater position than all records of their offset that count."""
        if not len(commits) or not len(self.runs):
            return np.ones(len(commits), np.bool_)
        row = find_rows(self.runs.keys, commits["key"].combine_chunks())
        newest: Flags = (row < 0) | (commits["offset"].to_numpy() > self.runs.spans.last_position[row])
        return newest

    def _cancel(self, tombstones: OffsetTombstones) -> None:
        """Remove the commits of open transactions that a later tombstone of their offset cancels."""
        last = dict(zip(tombstones.keys.to_pylist(), tombstones.position.tolist(), strict=True))
        commits = zip(self._open["key"].to_pylist(), self._open["offset"].to_pylist(), strict=True)
        self._open = self._open.filter(pa.array([offset > last.get(key, -1) for key, offset in commits], pa.bool_()))

    def _add_memberships(self, records: MembershipRecords) -> None:
        columns = (records.keys.to_pylist(), records.values.to_pylist(), records.time.tolist())
        for key, value, time, position in zip(*columns, records.position.tolist(), strict=True):
            membership = self.memberships.setdefault(group_of(key), HiddenMembership())
            membership.records[key] = value
            membership.newest = NewestRecord(time, position)
            membership.version += 1


_RECORDS: Final = pa.schema(
    [("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())]
)
_COMMITS: Final = _RECORDS.append(pa.field("producer", pa.int64()))
"""Commits of transactions in log order, with canonical keys, and the producer of each."""


def _table(columns: LogColumns) -> pa.Table:
    return pa.table(list(columns), schema=_RECORDS)


def _commits(columns: LogColumns, part: HiddenPart) -> pa.Table:
    """Return the offset commits among the records of transactions; coordinators write no other records in them."""
    encoded = columns.key.dictionary_encode()
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    distinct = DistinctKeys.build(encoded.dictionary, decode_keys(encoded.dictionary))
    is_commit = distinct.role[codes] == RecordRole.COMMIT
    keys = distinct.canonical_keys.take(pa.array(distinct.canonical[codes[is_commit]]))
    producers = pa.array(part.batches.producers(columns.offset[is_commit]))
    commits = _table(columns).filter(pa.array(is_commit)).set_column(2, "key", keys)
    return commits.append_column("producer", producers).cast(_COMMITS)


def _outcomes(commits: pa.Table, part: HiddenPart) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return the `BatchOutcome` of each commit by the first marker of its producer that follows it in the part."""
    batches, markers = part.batches, TransactionMarkers()
    is_control = ~(batches.visible | batches.pending)
    for number in np.flatnonzero(is_control & (batches.last_offset >= part.start)).tolist():
        with contextlib.suppress(Damaged):
            markers.add(batches.block.batch(number))
    found = map(markers.outcome_after, commits["producer"].to_pylist(), commits["offset"].to_pylist())
    return np.array([*found], np.object_)


def _record_columns(parts: Iterable[pa.Table]) -> RecordColumns:
    """Return records in log order, as a fold reads them."""
    records = pa.concat_tables([part.select(_RECORDS.names) for part in parts]).sort_by("offset")
    offset, timestamp = records["offset"].to_numpy(), records["timestamp"].to_numpy()
    key, value = records["key"].combine_chunks(), records["value"].combine_chunks()
    return RecordColumns(np.zeros(len(records), np.int32), offset, timestamp, key, value)


def _pass(_: LogBatch, __: Damaged) -> None:
    """Leave a batch that cannot be decoded to the job, which counts it."""
