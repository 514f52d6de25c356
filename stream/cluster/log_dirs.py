"""The sizes of partitions on the brokers' disks, per replica and log directory.

The size of `__consumer_offsets` shows if the log cleaner still works: a compacted topic that only grows is no longer
compacted. A broker also lists replicas of topics that were deleted and are still on its disks. Errors are values: a
broker or a log directory without an answer has a row with the error.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

NAME: Final = pa.dictionary(pa.int32(), pa.string())

REPLICA_SIZES: Final = pa.schema(
    [
        ("broker", pa.int32()),
        # Null in a row that holds only an error.
        ("topic", NAME),
        ("partition", pa.int32()),
        ("log_dir", NAME),
        # Bytes of the log's segments, without indexes.
        ("size", pa.int64()),
        # The distance of the replica to the high watermark, in offsets.
        ("offset_lag", pa.int64()),
        # A copy that is being moved to another log directory; its size is counted in addition.
        ("future", pa.bool_()),
        # An ErrorReason if a broker or one of its log directories gave no sizes, else null.
        ("error", NAME),
    ]
)
"""One row per replica, sorted by broker, topic and partition."""

_Row = tuple[int, str | None, int | None, str | None, int | None, int | None, bool | None, ErrorReason | None]


def read_replica_sizes(
    cluster: Cluster, partitions: Mapping[str, Sequence[int]] | None, brokers: Collection[int] | None = None
) -> pa.Table:
    """Read the sizes of these partitions' replicas on these brokers, or on all that the last metadata named.

    None for the partitions requests all replicas that a broker has.

    Needs the right to describe the cluster. Raises nothing.
    """
    nodes = sorted({broker.node for broker in cluster.brokers} if brokers is None else set(brokers))
    answers = cluster.call_all([(node, admin_requests.describe_log_dirs(partitions)) for node in nodes])
    rows = [row for node, answer in zip(nodes, answers, strict=True) for row in _replica_rows(node, answer)]
    rows.sort(key=lambda row: (row[0], row[1] or "", -1 if row[2] is None else row[2], row[3] or ""))
    columns = list(zip(*rows, strict=True)) or [()] * len(REPLICA_SIZES)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, REPLICA_SIZES, strict=True)]
    return pa.table(arrays, schema=REPLICA_SIZES)


def replicas_of(replicas: pa.Table, topic: str) -> pa.Table:
    """Return the rows of REPLICA_SIZES of one topic, and those with an error, which may hide replicas of it."""
    of_topic = pc.fill_null(pc.equal(replicas["topic"], topic), fill_value=False)
    return replicas.filter(pc.or_(pc.is_valid(replicas["error"]), of_topic))


def size_per_broker(replicas: pa.Table) -> dict[int, int | None]:
    """Return the sum of REPLICA_SIZES by broker, in bytes, future copies included; None for a broker with an error.

    A broker without a replica of these partitions is not in the result.
    """
    sums: dict[int, int | None] = {}
    columns = [replicas[name].to_pylist() for name in ("broker", "size", "error")]
    for broker, size, error in zip(*columns, strict=True):
        subtotal = sums.get(broker, 0)
        sums[broker] = None if error is not None or subtotal is None else subtotal + (size or 0)
    return sums


def failed_directories(replicas: pa.Table) -> tuple[tuple[int, str], ...]:
    """Return broker and path of each log directory in REPLICA_SIZES that its broker reports as failed."""
    failed = replicas.filter(pc.equal(replicas["error"], ErrorReason.STORAGE_FAILED.value))
    paths = zip(*(failed[name].to_pylist() for name in ("broker", "log_dir")), strict=True)
    return tuple((broker, path) for broker, path in paths if path)


def _replica_rows(node: int, answer: Any) -> Iterator[_Row]:
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
