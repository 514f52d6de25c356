"""Startup: waits for the cluster and the offsets topic, and for the ends of its partitions."""

import functools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import structlog

from stream.checkpoint.continuity import OffsetsTopicEnds
from stream.cluster.configs import read_topic_configs
from stream.cluster.offsets_topic import NAME, OffsetsTopic, describe
from stream.cluster.partition_offsets import read_ends, read_epoch_ends
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.errors import ExitCode, Refusal
from stream.groups.placement import EVERY_GROUP, InstancePart
from stream.service.status import WAITING, ServiceStatus
from stream.tick.ends_index import EndsIndex
from stream.tick.offsets_topic_lag import OffsetsTopicLag

_log = structlog.get_logger(__name__)
_RETRY_SECONDS: Final = 2.0
_WAIT_FOR_ALL_SECONDS: Final = 20.0
"""Longer than the election of a new leader takes, or the start of a broker."""


def wait_for_offsets_topic(
    cluster: Cluster, status: ServiceStatus, stopping: threading.Event, check: Callable[[], None]
) -> OffsetsTopic | None:
    """Return the offsets topic as soon as the cluster answers and has it; None if stopped before.

    An unreachable cluster is logged and tried again. `check` is called before each try; it may raise to end the wait.
    """
    while not stopping.is_set():
        check()
        try:
            topic = describe(cluster)
        except ClusterError as error:
            if not error.passes:
                raise
            if status.trouble != str(error):
                _log.warning("kafka unavailable at startup; trying again", cause=str(error))
            status.trouble = str(error)
        else:
            status.trouble, status.cluster_id = None, cluster.cluster_id
            if topic is not None:
                return topic
            if status.phase != WAITING:
                _log.info("offsets topic missing; no group has committed on this cluster yet", topic=NAME)
            status.phase = WAITING
        stopping.wait(_RETRY_SECONDS)
    return None


def check_part(part: InstancePart, topic: OffsetsTopic) -> None:
    """Raise Refusal if there are more instances than partitions: some would have no groups."""
    if part.instances > len(topic.partitions):
        raise Refusal(
            f"job.instance is {part}, but {NAME} has {len(topic.partitions)} partitions to share",
            f"run at most {len(topic.partitions)} instances",
            ExitCode.USAGE,
        )


def wait_for_ends(
    cluster: Cluster,
    topic: OffsetsTopic,
    status: ServiceStatus,
    stopping: threading.Event,
    part: InstancePart = EVERY_GROUP,
) -> OffsetsTopicEnds | None:
    """Return the ends of the offsets partitions of `part` as soon as all are known; None if stopped before.

    After a while those that are known are enough: the outage of one broker must not hide the groups of the others.
    Until the other partitions are read, `status` names them, and the monitor is not ready. Raises ClusterErrors that do
    not end by themselves.
    """
    partitions, lag = set(part.owned(topic.partitions)), OffsetsTopicLag(part)
    first_answer: float | None = None
    logged = None
    while not stopping.is_set():
        try:
            ends = EndsIndex(read_ends(cluster, [NAME]))
        except ClusterError as error:
            if not error.passes:
                raise
            status.trouble = trouble = str(error)
        else:
            lag.record_unanswered(ends, 0.0)  # since ever: no snapshot has what they hold
            status.record_unanswered(lag.unanswered)
            logs, now = part.of(log_bounds(ends)), time.monotonic()
            first_answer = now if first_answer is None and logs else first_answer
            if logs.keys() >= partitions or (first_answer is not None and now - first_answer >= _WAIT_FOR_ALL_SECONDS):
                asks = functools.partial(_epoch_ends, cluster)
                return OffsetsTopicEnds(logs, time.time(), None, part.of(leader_epochs(ends)), asks)
            trouble = "; ".join(status.unanswered_reasons())
        if trouble != logged:
            _log.warning("ends of the offsets topic unknown; trying again", cause=trouble)
        logged = trouble
        stopping.wait(_RETRY_SECONDS)
    return None


def _epoch_ends(cluster: Cluster, epochs: Mapping[int, int]) -> Mapping[int, int | None]:
    """Return where these leader epochs end. The planner asks again before it reads."""
    try:
        return read_epoch_ends(cluster, NAME, epochs)
    except ClusterError as error:
        if not error.passes:
            raise
        return {}


def read_tombstone_seconds(cluster: Cluster) -> float | None:
    """Return how long the offsets topic keeps tombstones (delete.retention.ms); None if the user may not read it."""
    name = "delete.retention.ms"
    milliseconds = read_topic_configs(cluster, [NAME], [name])[NAME][name].number()
    return None if milliseconds is None else milliseconds / 1000


def log_bounds(ends: EndsIndex) -> dict[int, tuple[int, int, int]]:
    """Return (log start offset, high watermark, last stable offset) of the offsets partitions that have all three."""
    rows = ends.rows_of_topic(NAME)
    columns = (ends.log_start_offset[rows], ends.high_watermark[rows], ends.last_stable_offset[rows])
    known = np.logical_and.reduce([column >= 0 for column in columns])
    offsets = zip(*(column[known].tolist() for column in columns), strict=True)
    return dict(zip(ends.partitions(rows[known]).tolist(), offsets, strict=True))


def leader_epochs(ends: EndsIndex) -> dict[int, int]:
    """Return the leader epochs of the offsets partitions that have one."""
    rows = ends.rows_of_topic(NAME)
    epochs = zip(ends.partitions(rows).tolist(), ends.leader_epoch[rows].tolist(), strict=True)
    return {partition: epoch for partition, epoch in epochs if epoch >= 0}
