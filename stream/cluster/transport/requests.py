"""The requests of all modules of `stream.cluster`. The Kafka library is used in this package only.

Every request sets the fields whose default would be wrong: no request creates a topic, and no broker that is too old
for a field may ignore it. They change nothing on the cluster, with one exception: FindCoordinator makes the broker
create the coordinators' topic if it does not exist. So send it only for groups that are known to exist, because then
the topic exists too.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kafka.protocol import admin
from kafka.protocol.api_key import ApiKey
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest

LATEST: Final = -1
EARLIEST: Final = -2
"""Timestamps that stand for the end of a partition, and its start."""

_DEBUGGING_REPLICA: Final = -2
"""A replica id with which a follower answers too (org.apache.kafka.common.requests.ListOffsetsRequest)."""

OUT_OF_RANGE: Final = 1
"""Kafka's error code for a position that a log does not have (OFFSET_OUT_OF_RANGE)."""

# AclOperation.READ in Kafka's numbering, as it appears in the authorised operations of a topic (KIP-430).
READ: Final = 3

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
"""The type of the configured resource (org.apache.kafka.common.config.ConfigResource.Type)."""

_GROUP: Final = 0
"""The key type of groups (FindCoordinatorRequest's KeyType; 1 is that of transactional ids)."""
_CONTROLLER_MS: Final = 5_000


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

    As `list_offsets`, with a timestamp per partition. A partition must not occur twice in one request. `timeout_ms` is
    how long the broker may wait for a remote storage (KIP-1075).
    """
    topic = ListOffsetsRequest.ListOffsetsTopic
    row = topic.ListOffsetsPartition
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1 if committed else 0,
        topics=[topic(name=name, partitions=[row(*each) for each in rows]) for name, rows in partitions.items()],
        timeout_ms=timeout_ms,
        # Version 1 has no isolation level: it returns the high watermark as the last stable offset.
        min_version=2,
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


def find_coordinators(groups: Sequence[str]) -> Any:
    """Build a request to any broker for the coordinators of many groups (KIP-699, brokers from 3.0)."""
    return FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=list(groups), min_version=4)


def find_coordinator(group: str) -> Any:
    """Build a request to any broker for one coordinator, in the form of brokers before 3.0."""
    return FindCoordinatorRequest(key=group, key_type=_GROUP, max_version=3)


def describe_groups(groups: Sequence[str]) -> Any:
    """Build a request to a coordinator for the state and the members of these groups, as classic groups."""
    return admin.DescribeGroupsRequest(groups=list(groups))


def describe_configs(kind: int, resources: Collection[str], names: Collection[str]) -> Any:
    """Build a request for settings of topics (to any broker) or of one broker (to that broker)."""
    resource = admin.DescribeConfigsRequest.DescribeConfigsResource
    wanted = [resource(kind, name, list(names)) for name in resources]
    return admin.DescribeConfigsRequest(resources=wanted, min_version=1)  # version 0 has no source of a value


def describe_log_dirs(partitions: Mapping[str, Sequence[int]] | None) -> Any:
    """Build a request to a broker for the sizes of its replicas of these partitions, or of all (KIP-113)."""
    topic = admin.DescribeLogDirsRequest.DescribableLogDirTopic
    topics = None if partitions is None else [topic(name, list(indexes)) for name, indexes in partitions.items()]
    return admin.DescribeLogDirsRequest(topics=topics)


def describe_quorum() -> Any:
    """Build a request to any broker for the state of the metadata quorum (KIP-595); unsupported with ZooKeeper."""
    topic = admin.DescribeQuorumRequest.TopicData
    return admin.DescribeQuorumRequest(topics=[topic("__cluster_metadata", [topic.PartitionData(partition_index=0)])])


def list_partition_reassignments() -> Any:
    """Build a request for all reassignments in progress (KIP-455): to any broker, with ZooKeeper to the controller."""
    return admin.ListPartitionReassignmentsRequest(timeout_ms=_CONTROLLER_MS, topics=None)


def describe_client_quotas() -> Any:
    """Build a request to any broker for all quotas of users, clients and addresses (KIP-546, brokers from 2.6)."""
    return admin.DescribeClientQuotasRequest(components=[], strict=False)


def api_versions() -> Any:
    """Build a request to a broker for the versions of requests and the features that it supports (KIP-584)."""
    return ApiVersionsRequest(client_software_name="lagwarden", client_software_version="1")


def request_name(key: int) -> str:
    """Return Kafka's name of a request (org.apache.kafka.common.protocol.ApiKeys); its key if it is not known here."""
    return next((each.name for each in ApiKey if each == key), f"API key {key}")


def describe_producers(topic: str, partitions: Sequence[int]) -> Any:
    """Build a request to a leader for the active producers of these partitions (KIP-664, brokers from 2.8)."""
    of_topic = admin.DescribeProducersRequest.TopicRequest(topic, list(partitions))
    return admin.DescribeProducersRequest(topics=[of_topic])


def list_transactions(producers: Sequence[int]) -> Any:
    """Build a request to a broker for the transactions of these producers it coordinates (KIP-664, brokers from 3.0).

    The broker leaves out a transactional id that the user may not describe, without an error.
    """
    return admin.ListTransactionsRequest(state_filters=[], producer_id_filters=list(producers))


def describe_transactions(transactional_ids: Sequence[str]) -> Any:
    """Build a request to a transaction coordinator for the state of its transactions (KIP-664, brokers from 3.0)."""
    return admin.DescribeTransactionsRequest(transactional_ids=list(transactional_ids))
