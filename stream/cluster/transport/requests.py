"""Requests about metadata, offsets and records. The Kafka library is used in `stream.cluster` only.

Every request sets the fields whose default would be wrong: no request creates a topic, and no broker that is too old
for a field may ignore it. Requests that one module sends are built there.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka.protocol.metadata import MetadataRequest

LATEST: Final = -1
EARLIEST: Final = -2
NEWEST: Final = -3
"""Timestamps that stand for the end of a partition, its start, and its record with the greatest timestamp (KIP-734)."""

_DEBUGGING_REPLICA: Final = -2
"""A replica id with which a follower answers too (org.apache.kafka.common.requests.ListOffsetsRequest)."""

OUT_OF_RANGE: Final = 1
"""Kafka's error code for a position that a log does not have (OFFSET_OUT_OF_RANGE)."""

# AclOperation.READ in Kafka's numbering, as it appears in the authorised operations of a topic (KIP-430).
READ: Final = 3


def metadata(topics: Collection[str] | None, *, operations: bool = False) -> Any:
    """Build a request for brokers, and for partitions and leaders of these topics; it creates no topic.

    None requests every topic that the user may describe; a broker leaves the others out without an error. With
    `operations` each topic has the operations that the user may do (KIP-430, brokers from 2.3).
    """
    return MetadataRequest(
        topics=None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=operations,
        min_version=4,  # before version 4 the broker would create the topics that do not exist
    )


def list_offsets(
    partitions: Mapping[str, Sequence[tuple[int, int]]], timestamp: int, *, committed: bool = False
) -> Any:
    """Build a request to a leader for an offset of each (partition, leader epoch) of these topics.

    `timestamp` is LATEST, EARLIEST or milliseconds. LATEST returns the high watermark, or with `committed` the last
    stable offset. A leader epoch other than the broker's returns an error instead of a stale offset (KIP-320).
    """
    timed = {name: [(index, epoch, timestamp) for index, epoch in indexes] for name, indexes in partitions.items()}
    return list_offsets_for_times(timed, committed=committed)


def replica_ends(partitions: Mapping[str, Sequence[tuple[int, int]]]) -> Any:
    """Build a request to a broker for the log end of its own replica of each (partition, leader epoch), led or not."""
    request = list_offsets(partitions, LATEST)
    request.replica_id = _DEBUGGING_REPLICA
    return request


def list_offsets_for_times(
    partitions: Mapping[str, Sequence[tuple[int, int, int]]], *, committed: bool = False, timeout_ms: int = 0
) -> Any:
    """Build a request to a leader for an offset of each (partition, leader epoch, timestamp) of these topics.

    As `list_offsets`, with a timestamp per partition; also NEWEST, which brokers before 3.0 do not support. A partition
    must not occur twice in one request. `timeout_ms` is how long the broker may wait for a remote storage (KIP-1075).
    """
    newest = any(timestamp == NEWEST for rows in partitions.values() for _, _, timestamp in rows)
    topic = ListOffsetsRequest.ListOffsetsTopic
    row = topic.ListOffsetsPartition
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1 if committed else 0,
        topics=[topic(name=name, partitions=[row(*each) for each in rows]) for name, rows in partitions.items()],
        timeout_ms=timeout_ms,
        # Version 1 has no isolation level: it returns the high watermark as the last stable offset. Before version 7,
        # NEWEST would be taken for a time later than all records.
        min_version=7 if newest else 2,
    )


def epoch_ends(topic: str, rows: Sequence[tuple[int, int, int]]) -> Any:
    """Build a request to a leader for the ends of earlier leader epochs in its log (KIP-320).

    Each row is (partition, current leader epoch, requested epoch). Brokers from 2.3: earlier ones want the rights of a
    broker for it.
    """
    of_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partitions = [of_topic.OffsetForLeaderPartition(*each) for each in rows]
    topics = [of_topic(topic=topic, partitions=partitions)]
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=topics, min_version=3)


def fetch(
    positions: Mapping[str, Sequence[tuple[int, int, int]]],
    *,
    most_bytes: int,
    most_bytes_each: int | None = None,
    committed: bool = False,
) -> Any:
    """Build a request to a leader for the batches of each (partition, leader epoch, position) of these topics.

    Up to the high watermark, including open transactions; with `committed` up to the last stable offset, and the answer
    lists the aborted transactions, whose records the caller has to leave out. A broker fills the answer in the order of
    the request. The first partition with records returns at least one batch of any size; the others return nothing if
    the limits leave no space for one.
    """
    most = most_bytes if most_bytes_each is None else most_bytes_each
    topic = FetchRequest.FetchTopic
    row = topic.FetchPartition
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=0,  # the requested records exist: do not wait for new ones
        min_bytes=0,
        max_bytes=most_bytes,
        isolation_level=1 if committed else 0,
        session_id=0,
        session_epoch=-1,
        topics=[
            topic(topic=name, partitions=[row(*each, partition_max_bytes=most) for each in rows])
            for name, rows in positions.items()
        ],
        min_version=5,  # version 4 has no log start offset, older ones have no transactions
        max_version=12,  # from version 13 on, requests have topic ids, which older brokers do not have
    )
