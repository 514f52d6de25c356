"""Where the next batch ends, asked by the process in which Spark plans the batches.

Apart from the reading, because this process starts while nothing else can happen, and needs neither reader nor fold.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError
from stream.spark.batch_plan import batch_ends
from stream.spark.reading_options import TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.spark.reading_options import ClusterAccess, ReadingOptions


@functools.cache
def cluster_of(access: ClusterAccess) -> Cluster:
    """Return this process's client, which is opened at its first use and kept while Spark reuses the process."""
    return Cluster(access.bootstrap_servers, access.login, request_timeout=access.request_timeout)


def next_ends(options: ReadingOptions, starts: Mapping[int, int]) -> Mapping[int, int]:
    """Return where the next batch ends, given where it starts. Raises permanent ClusterErrors.

    A partition whose leader does not answer keeps its position; all do while no broker answers. A partition of this
    instance that was added to the topic is read from its log start offset.
    """
    try:
        bounds = options.share.of(_bounds(cluster_of(options.access)))
    except ClusterError as error:
        if not error.passes:
            raise
        return starts
    added = {partition: log_start for partition, (log_start, _) in bounds.items() if partition not in starts}
    stable = {partition: last_stable for partition, (_, last_stable) in bounds.items()}
    return batch_ends({**starts, **added}, stable, options.most_offsets)


def _bounds(cluster: Cluster) -> dict[int, tuple[int, int]]:
    """Return log start and last stable offset of the partitions that answer. Raises ClusterError."""
    rows = read_ends(cluster, [TOPIC]).to_pylist()
    if any(row["error"] == ErrorReason.NOT_AUTHORIZED for row in rows):
        raise no_topic_right(TOPIC, "Read")
    return {
        row["partition"]: (row["log_start_offset"], row["last_stable_offset"]) for row in rows if row["error"] is None
    }
