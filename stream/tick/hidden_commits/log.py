"""The hidden part of one offsets partition, behind its last stable offset: memberships, tombstones, pending commits.

An open transaction hides all of these from a reader of committed records, but only the transaction's own records depend
on it: membership records and tombstones are never transactional, so the coordinator applies them at once. Commits are
applied as the coordinator does it (OffsetMetadataManager#replayEndTransactionMarker): a pending commit applies from its
transaction marker on, unless a newer commit of the same offset exists, and a tombstone cancels it. Pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from decoders import scalar
from decoders.columnar import decode_keys
from decoders.errors import DecodeError
from stream.groups.commits.keys import DistinctKeys, RecordRole, group_of_commit_key
from stream.groups.membership.summary import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from decoders.log.batch import LogRecord
    from stream.cluster.hidden_records import HiddenBatch


class _Key(NamedTuple):
    """A decoded key; `commit` is the canonical key of an offset, None for a membership record."""

    group: str
    commit: bytes | None


class _Commit(NamedTuple):
    """The newest record of an offset: where and when it was written, and whether it is a tombstone."""

    position: int
    time: int
    deleted: bool


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


class HiddenLog:
    """Receives the batches of one offsets partition in log order, from a last stable offset on."""

    def __init__(self, position: int) -> None:
        self.position = position
        """The offset to read next."""
        self.complete = False
        """True once it was read to its end; before that it describes an earlier state of the groups."""
        self.memberships: dict[str, HiddenMembership] = {}
        self._commits: dict[bytes, _Commit] = {}
        self._pending: dict[int, dict[bytes, _Commit]] = {}
        self._keys: dict[bytes, _Key | None] = {}

    @property
    def deleted(self) -> Mapping[bytes, NewestRecord]:
        """The offsets (canonical keys) that were deleted and not committed again, each with its tombstone."""
        return {key: NewestRecord(last.time, last.position) for key, last in self._commits.items() if last.deleted}

    @property
    def pending(self) -> frozenset[bytes]:
        """The offsets (canonical keys) with a commit in an open transaction."""
        return frozenset(key for keys in self._pending.values() for key in keys)

    def add(self, batches: Iterable[HiddenBatch]) -> None:
        """Add batches that follow the last ones."""
        batches = list(batches)
        self._decode_keys({record.key for batch in batches for record in batch.records if record.key is not None})
        for batch in batches:
            if batch.committed is not None:
                self._end_transaction(batch.producer_id, committed=batch.committed)
                continue
            for record in batch.records:
                self._add_record(record, batch.producer_id)

    def _decode_keys(self, keys: set[bytes]) -> None:
        """Decode the keys that have not occurred before."""
        new_keys = sorted(keys - self._keys.keys())
        if not new_keys:
            return
        column = pa.array(new_keys, pa.binary())
        distinct = DistinctKeys.build(column, decode_keys(column))
        canonical = distinct.canonical_keys.to_pylist()
        for at, key in enumerate(new_keys):
            decoded: _Key | None = None
            if distinct.role[at] == RecordRole.MEMBERSHIP:
                decoded = _Key(group_of(key), None)
            elif distinct.role[at] == RecordRole.COMMIT:
                commit = canonical[int(distinct.canonical[at])]
                decoded = _Key(group_of_commit_key(commit), commit)
            self._keys[key] = decoded

    def _add_record(self, record: LogRecord, producer: int | None) -> None:
        key = None if record.key is None else self._keys[record.key]
        if key is None or record.key is None:
            return  # not decoded; the job counts such records when it reads them
        if key.commit is None:
            self._add_membership(key.group, record.key, record)
        elif producer is not None:
            commit = _Commit(record.offset, record.timestamp, deleted=False)
            self._pending.setdefault(producer, {})[key.commit] = commit
        else:
            self._commits[key.commit] = _Commit(record.offset, record.timestamp, deleted=record.value is None)
            if record.value is None:
                for keys in self._pending.values():
                    keys.pop(key.commit, None)

    def _add_membership(self, group: str, key: bytes, record: LogRecord) -> None:
        if record.value is not None and isinstance(scalar.decode(key, record.value, scalar.NO_FIELDS), DecodeError):
            return
        membership = self.memberships.setdefault(group, HiddenMembership())
        membership.records[key] = record.value
        membership.newest = NewestRecord(record.timestamp, record.offset)
        membership.version += 1

    def _end_transaction(self, producer: int | None, *, committed: bool) -> None:
        """Apply the pending commits of a producer's transaction if it was committed; drop them if it was aborted."""
        for key, pending in self._pending.pop(-1 if producer is None else producer, {}).items():
            last = self._commits.get(key)
            if committed and (last is None or last.position < pending.position):
                self._commits[key] = pending
