"""What the log of one offsets partition says behind its last stable offset: memberships, tombstones, pending commits.

An open transaction hides all of that from a reader of committed records, though only the transaction's own records wait
for it: membership records and tombstones are never part of one, and count for the coordinator at once. Which commits
count is decided as the coordinator does it (OffsetMetadataManager#replayEndTransactionMarker): a pending one counts
from its marker on, if nothing newer of the same offset does, and a tombstone cancels it. Pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from decoders import scalar
from decoders.columnar import decode_keys
from decoders.errors import DecodeError
from stream.groups.commits.keys import DistinctKeys, RecordRole, group_of_offset
from stream.groups.membership.summary import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from decoders.log.batch import LogRecord
    from stream.cluster.hidden_records import HiddenBatch


class _Key(NamedTuple):
    """What a key is about; `commit` is the canonical key of an offset, None for a membership record."""

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
    """Takes the batches of one offsets partition in log order, from a last stable offset on."""

    def __init__(self, position: int) -> None:
        self.position = position
        """The offset to read next."""
        self.complete = False
        """It was read to its end once, and has been followed since: what it says is of now, and not of the past."""
        self.memberships: dict[str, HiddenMembership] = {}
        self._commits: dict[bytes, _Commit] = {}
        self._pending: dict[int, dict[bytes, _Commit]] = {}
        self._keys: dict[bytes, _Key | None] = {}

    @property
    def deleted(self) -> Mapping[bytes, NewestRecord]:
        """The offsets (canonical keys) that were deleted and not committed again since, each with its tombstone."""
        return {key: NewestRecord(each.time, each.position) for key, each in self._commits.items() if each.deleted}

    @property
    def pending(self) -> frozenset[bytes]:
        """The offsets (canonical keys) with a commit in a transaction that is open."""
        return frozenset(key for keys in self._pending.values() for key in keys)

    def take(self, batches: Iterable[HiddenBatch]) -> None:
        """Take batches that follow those taken before."""
        batches = list(batches)
        self._learn_keys({each.key for batch in batches for each in batch.records if each.key is not None})
        for batch in batches:
            if batch.committed is not None:
                self._end(batch.producer_id, committed=batch.committed)
                continue
            for record in batch.records:
                self._note(record, batch.producer_id)

    def _learn_keys(self, keys: set[bytes]) -> None:
        """Find out what the keys are about that are new; the others repeat themselves."""
        fresh = sorted(keys - self._keys.keys())
        if not fresh:
            return
        column = pa.array(fresh, pa.binary())
        distinct = DistinctKeys.of(column, decode_keys(column))
        canonical = distinct.identities.to_pylist()
        for at, key in enumerate(fresh):
            known: _Key | None = None
            if distinct.kind[at] == RecordRole.MEMBERSHIP:
                known = _Key(group_of(key), None)
            elif distinct.kind[at] == RecordRole.COMMIT:
                commit = canonical[int(distinct.identity[at])]
                known = _Key(group_of_offset(commit), commit)
            self._keys[key] = known

    def _note(self, record: LogRecord, producer: int | None) -> None:
        known = None if record.key is None else self._keys[record.key]
        if known is None or record.key is None:
            return  # the job counts what cannot be read, when it comes to it
        if known.commit is None:
            self._note_membership(known.group, record.key, record)
        elif producer is not None:
            told = _Commit(record.offset, record.timestamp, deleted=False)
            self._pending.setdefault(producer, {})[known.commit] = told
        else:
            self._commits[known.commit] = _Commit(record.offset, record.timestamp, deleted=record.value is None)
            if record.value is None:
                for keys in self._pending.values():
                    keys.pop(known.commit, None)

    def _note_membership(self, group: str, key: bytes, record: LogRecord) -> None:
        if record.value is not None and isinstance(scalar.decode(key, record.value, scalar.NO_FIELDS), DecodeError):
            return
        mine = self.memberships.setdefault(group, HiddenMembership())
        mine.records[key] = record.value
        mine.newest = NewestRecord(record.timestamp, record.offset)
        mine.version += 1

    def _end(self, producer: int | None, *, committed: bool) -> None:
        """End a transaction: its commits count, or they never will."""
        for key, told in self._pending.pop(-1 if producer is None else producer, {}).items():
            known = self._commits.get(key)
            if committed and (known is None or known.position < told.position):
                self._commits[key] = told
