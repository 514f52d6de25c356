"""Converts a poll of the cluster to what a tick uses of it, once per poll."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from exporters.cluster.model import SHARE_GROUPS_FACT, ClusterFacts
from stream.health.columns import NOT_KNOWN, Ints
from stream.health.inputs import FailedReplica
from stream.health.share.progress import SharePartitionProgress, ShareProgress

_CHECKPOINTS: Final = ".checkpoints.internal"
"""The end of the name of a topic in which MirrorMaker 2 writes checkpoints of groups (DefaultReplicationPolicy)."""


class Replicas:
    """The replicas of all partitions as of a poll."""

    def __init__(self, facts: ClusterFacts) -> None:
        partitions = facts.topic_partitions
        topic = partitions["topic"].unify_dictionaries().combine_chunks()
        self._topics = {name: number for number, name in enumerate(topic.dictionary.to_pylist())}
        place = topic.indices.to_numpy(zero_copy_only=False).astype(np.int64) << 32
        place |= partitions["partition"].to_numpy()
        order = np.argsort(place, kind="stable")
        self._place = place[order]
        self._partitions = partitions.select(["replica_brokers", "offline_brokers"]).take(pa.array(order))
        self._leader = partitions["leader"].fill_null(NOT_KNOWN).to_numpy()[order]
        self._alive = facts.brokers["broker"].to_numpy()
        self._failed: dict[int, tuple[str, ...]] = {}
        for broker, directory in facts.failed_log_dirs:
            self._failed[broker] = (*self._failed.get(broker, ()), directory)

    def followers(self, topics: Sequence[str], topic: Ints, partition: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """Return the followers of partitions: the position of a partition, and a broker.

        `topic` holds positions in `topics`.
        """
        at, row, broker = self._listed("replica_brokers", self._rows(topics, topic, partition))
        is_follower = broker != self._leader[row]
        return at[is_follower], broker[is_follower]

    def failed(
        self, topics: Sequence[str], topic: Ints, partition: NDArray[np.integer[Any]]
    ) -> dict[int, tuple[FailedReplica, ...]]:
        """Return the replicas of partitions, by position, that are offline although their brokers are in the cluster.

        Positions without such a replica are absent; `topic` holds positions in `topics`.
        """
        at, _, broker = self._listed("offline_brokers", self._rows(topics, topic, partition))
        is_there = np.isin(broker, self._alive)
        failed: dict[int, tuple[FailedReplica, ...]] = {}
        for position, each in zip(at[is_there].tolist(), broker[is_there].tolist(), strict=True):
            failed[position] = (*failed.get(position, ()), FailedReplica(each, self._failed.get(each, ())))
        return failed

    def _listed(self, column: str, row: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the brokers in a column of these rows (-1: none): position in `row`, row, broker."""
        known = np.flatnonzero(row >= 0)
        found = self._partitions[column].take(pa.array(row[known]))
        at = known[pc.list_parent_indices(found).to_numpy()]
        return at, row[at], pc.list_flatten(found).to_numpy().astype(np.int64)

    def _rows(self, topics: Sequence[str], topic: Ints, partition: NDArray[np.integer[Any]]) -> Ints:
        number = np.array([self._topics.get(name, -1) for name in topics] or [-1], np.int64)[topic]
        place = (number << 32) | partition
        if not len(self._place):
            return np.full(len(place), NOT_KNOWN, np.int64)
        row = np.minimum(np.searchsorted(self._place, place), len(self._place) - 1)
        return np.where((number >= 0) & (self._place[row] == place), row, NOT_KNOWN)


@dataclasses.dataclass(frozen=True, slots=True)
class PolledCluster:
    """What a tick uses of the last poll. None: not polled, or discarded."""

    share_progress: ShareProgress | None = None
    replicas: Replicas | None = None
    """Also None in an instance that polls only its share groups."""
    checkpoint_topics: Sequence[str] = ()
    """The topics by which MirrorMaker 2 may have copied offsets of groups."""


NOT_POLLED: Final = PolledCluster()


class PollReader:
    """Returns the content of the last poll; the same object until the next one. Used by the tick thread."""

    def __init__(self, facts: Callable[[], ClusterFacts | None]) -> None:
        self._facts = facts
        self._source: ClusterFacts | None = None
        self._polled = NOT_POLLED

    def current(self) -> PolledCluster:
        """Return the content of the last poll; empty before the first one, and if the facts were discarded."""
        facts = self._facts()
        if facts is not self._source:
            self._source, self._polled = facts, NOT_POLLED if facts is None else polled_cluster(facts)
        return self._polled


def polled_cluster(facts: ClusterFacts) -> PolledCluster:
    """Return what a tick uses of a poll."""
    topics = facts.cluster_topics["topic"].cast(pa.string()).to_pylist()
    return PolledCluster(
        share_progress(facts),
        Replicas(facts) if facts.is_whole else None,
        [name for name in topics if name.endswith(_CHECKPOINTS)],
    )


def share_progress(facts: ClusterFacts) -> ShareProgress:
    """Return the progress of the share groups whose partitions all are in the facts, and the topics of the others."""
    read_at = facts.share_read_time
    taken_at = int(facts.taken_at * 1000) if read_at is None else read_at
    reasons = facts.unknown_facts.filter(pc.equal(facts.unknown_facts["fact"].cast(pa.string()), SHARE_GROUPS_FACT))
    if len(reasons):
        return ShareProgress(taken_at, {}, unknown_reason=str(reasons["reason"][0]))
    names = ("group", *SharePartitionProgress._fields)
    columns = [facts.share_partitions[name].to_pylist() for name in names]
    groups: dict[str, list[SharePartitionProgress]] = {}
    for group, *values in zip(*columns, strict=True):
        groups.setdefault(group, []).append(SharePartitionProgress(*values))
    partitions = dict(zip(*(facts.share_groups[name].to_pylist() for name in ("group", "partitions")), strict=True))
    complete = {name: tuple(rows) for name, rows in groups.items() if len(rows) == partitions.get(name)}
    incomplete = {name: frozenset(each.topic for each in rows) for name, rows in groups.items() if name not in complete}
    return ShareProgress(taken_at, complete, incomplete=incomplete)
