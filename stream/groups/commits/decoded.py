"""The decoded offset commits of a batch; the scalar interpreter decodes what the columnar one declines."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders import scalar
from decoders.columnar import CommitColumns, decode_commit_values
from decoders.errors import DecodeError
from stream.groups.commits.keys import DistinctKeys
from stream.groups.commits.runs import TOPIC_ID
from stream.groups.decode_stats import FaultSample
from stream.groups.record_columns import RecordColumns


@dataclasses.dataclass(frozen=True, slots=True)
class DecodedCommits:
    """One row per record, in log order within each offsets partition: a commit, a tombstone or a malformed record."""

    partition: NDArray[np.int32]
    """The offsets partition."""
    position: NDArray[np.int64]
    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    """Commit timestamp in ms; of a tombstone, the timestamp of its record."""
    tombstone: NDArray[np.bool_]
    readable: NDArray[np.bool_] | None
    """A mask of the records that are not malformed; None: all."""
    key: NDArray[np.int64]
    """Index of the record's canonical key, equal for all records of one offset."""
    faults: list[FaultSample]
    """One per malformed record."""
    canonical_keys: pa.BinaryArray
    columns: CommitColumns
    by_scalar: dict[int, dict[str, Any]]
    """The values that the columnar interpreter declined, by row."""

    def keys(self, rows: NDArray[np.intp]) -> pa.BinaryArray:
        """Return the canonical keys of these rows."""
        return self.canonical_keys.take(pa.array(self.key[rows]))

    def expire_time(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the expire timestamps (ms) that these commits store."""
        expire_time = self.columns.expire_timestamp(rows)
        for at, value in self._scalar_values(rows):
            expire_time[at] = value["expire_timestamp"]
        return expire_time

    def details(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return the columns of `Runs` that depend on the last commit, which stands in these rows."""
        read = self.columns.details(rows)
        metadata, topic_id = read.metadata.fill_null(b""), read.topic_id
        leader_epoch, expire_time = read.leader_epoch, read.expire_timestamp
        replaced = self._scalar_values(rows)
        if replaced:
            metadata_list, topic_ids = metadata.to_pylist(), topic_id.to_pylist()
            for at, value in replaced:
                leader_epoch[at] = value["leader_epoch"]
                expire_time[at] = value["expire_timestamp"]
                metadata_list[at] = value["metadata"].encode("utf-8", "surrogatepass")
                topic_ids[at] = value["topic_id"] if any(value["topic_id"]) else None
            metadata, topic_id = pa.array(metadata_list, pa.binary()), pa.array(topic_ids, TOPIC_ID)
        return {"leader_epoch": leader_epoch, "expire_time": expire_time, "metadata": metadata, "topic_id": topic_id}

    def _scalar_values(self, rows: NDArray[np.intp]) -> list[tuple[int, dict[str, Any]]]:
        """Return the values that the scalar interpreter decoded, each with its index in `rows`."""
        if not self.by_scalar:
            return []
        return [(at, self.by_scalar[row]) for at, row in enumerate(rows.tolist()) if row in self.by_scalar]


def decode_commits(records: RecordColumns, distinct: DistinctKeys, codes: NDArray[np.int32]) -> DecodedCommits:
    """Decode records with a commit key; `codes` are the indices of their keys in `distinct`."""
    columns = decode_commit_values(records.values, records.rows)
    offset, time = columns.offset, columns.commit_timestamp
    readable, faults, by_scalar = None, [], {}
    if columns.declined.any():
        offset, time = offset.copy(), time.copy()
        readable = np.ones(len(offset), np.bool_)
        for row in np.flatnonzero(columns.declined).tolist():
            record = scalar.decode(*records.record(row))
            if isinstance(record, DecodeError):
                faults.append(records.fault(row, record))
                readable[row] = False
            elif record.value is not None:
                by_scalar[row] = record.value
                offset[row], time[row] = record.value["offset"], record.value["commit_timestamp"]
    if columns.tombstone.any():
        time = np.where(columns.tombstone, records.time, time)
    return DecodedCommits(
        partition=records.offsets_partition,
        position=records.position,
        offset=offset,
        time=time,
        tombstone=columns.tombstone,
        readable=readable,
        key=distinct.canonical[codes],
        faults=faults,
        canonical_keys=distinct.canonical_keys,
        columns=columns,
        by_scalar=by_scalar,
    )
