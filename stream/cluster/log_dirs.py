"""How large partitions are on the brokers' disks: every replica of them, and the disks that hold them.

Asked for `__consumer_offsets`, whose size says whether the log cleaner still works: a compacted topic that only grows
is not compacted any more. Errors are values: a broker or a disk that cannot tell has a row that says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from stream.cluster.transport.client import Cluster

NAME: Final = pa.dictionary(pa.int32(), pa.string())

REPLICA_SIZES: Final = pa.schema(
    [
        ("broker", pa.int32()),
        # Null in a row that tells only an error.
        ("topic", NAME),
        ("partition", pa.int32()),
        ("log_dir", NAME),
        # Bytes of the log's segments, without indexes.
        ("size", pa.int64()),
        # How far the replica is behind the high watermark, in offsets.
        ("offset_lag", pa.int64()),
        # A copy that is being moved to another disk; its size comes on top.
        ("future", pa.bool_()),
        # A Reason where a broker or one of its disks could not tell, else null.
        ("error", NAME),
    ]
)
"""One row per replica, sorted by broker, topic and partition."""

_Row = tuple[int, str | None, int | None, str | None, int | None, int | None, bool | None, ErrorReason | None]


def read_replica_sizes(
    cluster: Cluster, partitions: Mapping[str, Sequence[int]], brokers: Collection[int] | None = None
) -> pa.Table:
    """Read the sizes of these partitions' replicas on these brokers, or on all that the last metadata named.

    Needs the right to describe the cluster. Raises nothing.
    """
    nodes = sorted({broker.node for broker in cluster.brokers} if brokers is None else set(brokers))
    answers = cluster.call_all([(node, admin_requests.describe_log_dirs(partitions)) for node in nodes])
    rows = [row for node, answer in zip(nodes, answers, strict=True) for row in _told(node, answer)]
    rows.sort(key=lambda row: (row[0], row[1] or "", -1 if row[2] is None else row[2], row[3] or ""))
    columns = list(zip(*rows, strict=True)) or [()] * len(REPLICA_SIZES)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, REPLICA_SIZES, strict=True)]
    return pa.table(arrays, schema=REPLICA_SIZES)


def size_per_broker(replicas: pa.Table) -> dict[int, int | None]:
    """Sum REPLICA_SIZES up, in bytes, copies under way included; None for a broker that could not tell all of it.

    A broker that has no replica of them is not mentioned.
    """
    sums: dict[int, int | None] = {}
    columns = [replicas[name].to_pylist() for name in ("broker", "size", "error")]
    for broker, size, error in zip(*columns, strict=True):
        before = sums.get(broker, 0)
        sums[broker] = None if error is not None or before is None else before + (size or 0)
    return sums


def _told(node: int, answer: Any) -> Iterator[_Row]:
    if isinstance(answer, ClusterError):
        yield _unknown(node, reasons.of_failure(answer))
        return
    refused = reasons.of_code(answer.error_code)
    # Before version 3 (Kafka 3.2) a denial is an answer without a single disk.
    if refused is not None or not answer.results:
        yield _unknown(node, refused or ErrorReason.NOT_AUTHORIZED)
        return
    for disk in answer.results:
        error = reasons.of_code(disk.error_code)
        if error is not None:
            yield _unknown(node, error, disk.log_dir)
            continue
        for topic in disk.topics:
            for p in topic.partitions:
                future = p.is_future_key
                yield node, topic.name, p.partition_index, disk.log_dir, p.partition_size, p.offset_lag, future, None


def _unknown(node: int, reason: ErrorReason, log_dir: str | None = None) -> _Row:
    return node, None, None, log_dir, None, None, None, reason
