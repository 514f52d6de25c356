"""The requests about groups, configs, transactions and disks, built by name; those about offsets are in `requests`.

None of them changes anything on the cluster, with one exception to know of: a broker that is asked for a coordinator
creates the coordinators' topic where it does not exist yet. So ask only for groups and transactional ids that are known
to exist, because then the topic does too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafka.protocol.admin.cluster import DescribeLogDirsRequest, DescribeQuorumRequest
from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.admin.groups import DescribeGroupsRequest
from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

GROUP: Final = 0
TRANSACTION: Final = 1
"""What a coordinator coordinates (FindCoordinatorRequest's KeyType)."""

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
"""Whose config is asked for (org.apache.kafka.common.config.ConfigResource.Type)."""

_METADATA_PARTITION: Final = "__cluster_metadata"


def find_coordinators(keys: Sequence[str], kind: int) -> Any:
    """Ask any broker for the coordinators of many groups or transactional ids (KIP-699, brokers from 3.0)."""
    return FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys), min_version=4)


def find_coordinator(key: str, kind: int) -> Any:
    """Ask any broker for one coordinator, in the form that brokers before 3.0 know."""
    return FindCoordinatorRequest(key=key, key_type=kind, min_version=1 if kind else 0, max_version=3)


def describe_groups(groups: Sequence[str]) -> Any:
    """Ask a coordinator for the state and the members of these groups, as classic groups."""
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False)


def offset_fetch(groups: Sequence[str]) -> Any:
    """Ask a coordinator for all committed offsets of many groups (KIP-709, brokers from 3.0).

    Not for stable ones only: an offset that is overtaken by an open transaction is given all the same.
    """
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, member_id=None, member_epoch=-1, topics=None)
            for group in groups
        ],
        require_stable=False,
        min_version=8,
        max_version=9,  # from 10 on the answer names topics by their id
    )


def offset_fetch_of_one(group: str) -> Any:
    """Ask a coordinator for all committed offsets of one group, in the form that brokers before 3.0 know."""
    # Before version 2 a request for all topics would mean: for none.
    return OffsetFetchRequest(group_id=group, topics=None, require_stable=False, min_version=2, max_version=7)


def describe_configs(kind: int, resources: Collection[str], names: Collection[str]) -> Any:
    """Ask for some settings of topics (any broker answers) or of one broker (which must be asked itself)."""
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=resource, configuration_keys=list(names)
            )
            for resource in resources
        ],
        include_synonyms=False,
        include_documentation=False,
        min_version=1,  # version 0 does not tell where a value comes from
    )


def describe_quorum() -> Any:
    """Ask any broker which controller leads the metadata quorum (KIP-595); brokers with ZooKeeper do not know this."""
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    return DescribeQuorumRequest(topics=[topic(topic_name=_METADATA_PARTITION, partitions=[partition])])


def describe_producers(topic: str, partitions: Sequence[int]) -> Any:
    """Ask a leader for the producers that it knows of these partitions (KIP-664, brokers from 2.8)."""
    return DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=list(partitions))]
    )


def list_transactions(producers: Sequence[int]) -> Any:
    """Ask a broker which of these producers' transactions it coordinates (KIP-664, brokers from 3.0).

    A transactional id that the user may not describe is left out without a word.
    """
    return ListTransactionsRequest(state_filters=[], producer_id_filters=list(producers))


def describe_transactions(transactional_ids: Sequence[str]) -> Any:
    """Ask a transaction coordinator for the transactions that it coordinates (KIP-664, brokers from 3.0)."""
    return DescribeTransactionsRequest(transactional_ids=list(transactional_ids))


def describe_log_dirs(partitions: Mapping[str, Sequence[int]]) -> Any:
    """Ask a broker for the size on its disks of these partitions' replicas (KIP-113)."""
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    return DescribeLogDirsRequest(
        topics=[topic(topic=name, partitions=list(indexes)) for name, indexes in partitions.items()]
    )
