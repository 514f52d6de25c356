"""Where the next batch ends, asked by the process in which Spark plans the batches.

Apart from the reading, because this process starts while nothing else can happen, and needs neither reader nor fold.
"""

import functools
from collections.abc import Mapping
from typing import Any

from stream.checkpoint.spark_offsets import TOPIC, SourceOffsets
from stream.cluster.partition_offsets import is_cut, read_ends, read_epoch_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import ClusterError, ErrorReason
from stream.errors import ExitCode, Refusal
from stream.spark.batch_plan import batch_ends
from stream.spark.reading_options import ClusterAccess, TopicReading


@functools.cache
def cluster_of(access: ClusterAccess) -> Cluster:
    """Return this process's client, which is opened at its first use and kept while Spark reuses the process."""
    return Cluster(access.bootstrap_servers, access.login, request_timeout=access.request_timeout)


def next_ends(
    options: TopicReading, starts: SourceOffsets, *, refuse_cut: bool = False
) -> tuple[SourceOffsets, SourceOffsets | None]:
    """Return where the next batch ends, given where it starts, and the ends of the topic.

    The ends of the topic are the last stable offsets of the partitions that answered, whatever the limit of a batch;
    None if no broker answered. Raises permanent ClusterErrors.

    A partition whose leader does not answer keeps its position; all do while no broker answers. A partition of this
    instance that was added to the topic is read from its log start offset. A partition whose log lost what was read of
    it keeps position and epoch: the driver sees the same and ends the query (`stream.checkpoint.topic_watch`); with
    `refuse_cut`, for a query that nothing watches, raises Refusal, as for the offsets of another cluster.
    """
    try:
        cluster = cluster_of(options.access)
        rows = options.part.of(_rows(cluster))
        owner = _owner(cluster, starts) if refuse_cut else None
        leader_epochs = {partition: row["leader_epoch"] for partition, row in rows.items()}
        epochs = {partition: epoch for partition, epoch in leader_epochs.items() if epoch is not None}
        held = _unconfirmed(cluster, starts, epochs, rows if refuse_cut else None)
    except ClusterError as error:
        if not error.passes:
            raise
        return starts, None
    added = {partition: row["log_start_offset"] for partition, row in rows.items() if partition not in starts.positions}
    latest = {partition: row["last_stable_offset"] for partition, row in rows.items()}
    stable = {partition: end for partition, end in latest.items() if partition not in held}
    ends = batch_ends({**starts.positions, **added}, stable, options.most_offsets)
    kept = {each: epoch for each, epoch in starts.epochs.items() if each not in stable}
    now = {each: epochs[each] for each in stable if each in epochs}
    return SourceOffsets(ends, {**kept, **now}, owner), SourceOffsets(latest, epochs, owner)


def _owner(cluster: Cluster, starts: SourceOffsets) -> str | None:
    """Return the id of the cluster, which has answered. Raises Refusal if the offsets are those of another."""
    if starts.cluster_id not in {None, cluster.cluster_id}:
        what = f"the query has read cluster {starts.cluster_id}, this is cluster {cluster.cluster_id}"
        raise Refusal(
            what, "set the brokers of that cluster, or start with a new checkpoint", ExitCode.CHECKPOINT_CLUSTER
        )
    return cluster.cluster_id


def _unconfirmed(
    cluster: Cluster,
    starts: SourceOffsets,
    epochs: Mapping[int, int],
    refuse_above: Mapping[int, Mapping[str, Any]] | None,
) -> set[int]:
    """Return the partitions with a new leader of which what was read is gone, or not known to be there.

    With the ends of `refuse_above`, raises Refusal if it is gone, also from a topic that was created again.
    """
    moved = starts.epochs_other_than(epochs)
    ends = read_epoch_ends(cluster, TOPIC, moved)
    cut = {each for each in moved if each in ends and is_cut(starts.positions[each], ends[each])}
    if refuse_above is not None:
        # No new leader answers before it knows the high watermark of the one before (KIP-207).
        cut |= {each for each, row in refuse_above.items() if starts.positions.get(each, 0) > row["high_watermark"]}
        if cut:
            names = ", ".join(map(str, sorted(cut)))
            what = f"partitions {names} of {TOPIC} no longer have the records that the query read last"
            advice = "after an unclean election or for a topic that was created again, start with a new checkpoint"
            raise Refusal(what, advice, ExitCode.TOPIC_CHANGED)
    return cut | {each for each in moved if each not in ends}


def _rows(cluster: Cluster) -> dict[int, dict[str, Any]]:
    """Return the ends (ENDS) of the partitions that answer. Raises ClusterError."""
    rows = read_ends(cluster, [TOPIC]).to_pylist()
    if any(row["error"] == ErrorReason.NOT_AUTHORIZED for row in rows):
        raise no_topic_right(TOPIC, "Read")
    return {row["partition"]: row for row in rows if row["error"] is None}
