"""Requests about groups, configs, transactions and log directories; those about offsets are in `requests`.

They change nothing on the cluster, with one exception: FindCoordinator makes the broker create the coordinators' topic
if it does not exist. So send it only for groups and transactional ids that are known to exist, because then the topic
exists too.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kafka.protocol.admin.client_quotas import DescribeClientQuotasRequest
from kafka.protocol.admin.cluster import DescribeLogDirsRequest, DescribeQuorumRequest
from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.admin.groups import DescribeGroupsRequest
from kafka.protocol.admin.topics import ListPartitionReassignmentsRequest
from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest

_GROUP: Final = 0
"""The key type of groups (FindCoordinatorRequest's KeyType; 1 is that of transactional ids)."""

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
"""The type of the configured resource (org.apache.kafka.common.config.ConfigResource.Type)."""

_METADATA_PARTITION: Final = "__cluster_metadata"
_CONTROLLER_MS: Final = 5_000
_KEYS: Final = frozenset(map(int, ApiKey))


def find_coordinators(groups: Sequence[str]) -> Any:
    """Build a request to any broker for the coordinators of many groups (KIP-699, brokers from 3.0)."""
    return FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=list(groups), min_version=4)


def find_coordinator(group: str) -> Any:
    """Build a request to any broker for one coordinator, in the form of brokers before 3.0."""
    return FindCoordinatorRequest(key=group, key_type=_GROUP, max_version=3)


def describe_groups(groups: Sequence[str]) -> Any:
    """Build a request to a coordinator for the state and the members of these groups, as classic groups."""
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False)


def describe_configs(kind: int, resources: Collection[str], names: Collection[str]) -> Any:
    """Build a request for settings of topics (to any broker) or of one broker (to that broker)."""
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=resource, configuration_keys=list(names)
            )
            for resource in resources
        ],
        include_synonyms=False,
        include_documentation=False,
        min_version=1,  # version 0 has no source of a value
    )


def describe_quorum() -> Any:
    """Build a request to any broker for the state of the metadata quorum (KIP-595); unsupported with ZooKeeper."""
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    return DescribeQuorumRequest(topics=[topic(topic_name=_METADATA_PARTITION, partitions=[partition])])


def list_partition_reassignments() -> Any:
    """Build a request for all reassignments in progress (KIP-455): to any broker, with ZooKeeper to the controller."""
    return ListPartitionReassignmentsRequest(timeout_ms=_CONTROLLER_MS, topics=None)


def describe_client_quotas() -> Any:
    """Build a request to any broker for all quotas of users, clients and addresses (KIP-546, brokers from 2.6)."""
    return DescribeClientQuotasRequest(components=[], strict=False)


def api_versions() -> Any:
    """Build a request to a broker for the versions of requests and the features that it supports (KIP-584)."""
    return ApiVersionsRequest(client_software_name="lagwarden", client_software_version="1")


def request_name(key: int) -> str:
    """Return Kafka's name of a request (org.apache.kafka.common.protocol.ApiKeys); its key if it is not known here."""
    return ApiKey(key).name if key in _KEYS else f"API key {key}"


def describe_producers(topic: str, partitions: Sequence[int]) -> Any:
    """Build a request to a leader for the active producers of these partitions (KIP-664, brokers from 2.8)."""
    return DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=list(partitions))]
    )


def list_transactions(producers: Sequence[int]) -> Any:
    """Build a request to a broker for the transactions of these producers it coordinates (KIP-664, brokers from 3.0).

    The broker leaves out a transactional id that the user may not describe, without an error.
    """
    return ListTransactionsRequest(state_filters=[], producer_id_filters=list(producers))


def describe_transactions(transactional_ids: Sequence[str]) -> Any:
    """Build a request to a transaction coordinator for the state of its transactions (KIP-664, brokers from 3.0)."""
    return DescribeTransactionsRequest(transactional_ids=list(transactional_ids))


def describe_log_dirs(partitions: Mapping[str, Sequence[int]] | None) -> Any:
    """Build a request to a broker for the sizes of its replicas of these partitions, or of all (KIP-113)."""
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    if partitions is None:
        return DescribeLogDirsRequest(topics=None)
    return DescribeLogDirsRequest(
        topics=[topic(topic=name, partitions=list(indexes)) for name, indexes in partitions.items()]
    )
