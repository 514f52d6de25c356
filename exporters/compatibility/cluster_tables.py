"""Derives the tables of the other exporters' metrics from the facts about the cluster.

The rules are those of `exporters.compatibility.snapshot_tables`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.cluster.model import ClusterFacts
from exporters.compatibility.schemas import (
    OTHER_BROKER_ADDRESSES,
    OTHER_BROKERS,
    OTHER_CLUSTER,
    OTHER_CLUSTER_TOPICS,
    OTHER_REPLICAS,
    OTHER_TOPIC_SIZES,
    OtherClusterFacts,
)
from exporters.readmodel import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLEANUP_POLICY: Final = "cleanup.policy"
_TOPIC_SCOPE: Final = "topic"


def other_cluster_facts(facts: ClusterFacts) -> OtherClusterFacts:
    """Return the facts with the tables of the other exporters."""
    own = {field.name: getattr(facts, field.name) for field in dataclasses.fields(ClusterFacts)}
    return OtherClusterFacts(
        **own,
        other_cluster=_table(OTHER_CLUSTER, _cluster(facts)),
        other_brokers=_table(OTHER_BROKERS, _brokers(facts)),
        other_broker_addresses=_table(OTHER_BROKER_ADDRESSES, _broker_addresses(facts.brokers)),
        other_cluster_topics=_table(OTHER_CLUSTER_TOPICS, _topics(facts)),
        other_topic_sizes=_table(OTHER_TOPIC_SIZES, _topic_sizes(facts.topic_sizes)),
        other_replicas=facts.partitions_shown.select(OTHER_REPLICAS.names),
    )


def _cluster(facts: ClusterFacts) -> dict[str, Any]:
    brokers = pa.array([len(facts.brokers)], pa.int32())
    return {
        "cluster_version": pa.nulls(1, pa.string()),
        "broker_count": brokers,
        "controller_id": pa.array([facts.controller], pa.int32()),
        "cluster_id": pa.array([facts.cluster_id], pa.string()),
        "brokers": brokers,
    }


def _brokers(facts: ClusterFacts) -> dict[str, Any]:
    brokers, disks = facts.brokers, facts.broker_disks
    at = pc.index_in(brokers.column("broker"), value_set=disks.column("broker").combine_chunks())
    controller = pa.scalar(facts.controller, pa.int32())
    return {
        "broker_id": brokers.column("broker"),
        "address": brokers.column("host"),
        "port": brokers.column("port"),
        "rack_id": brokers.column("rack"),
        "is_controller": pc.equal(brokers.column("broker"), controller),
        "bytes": disks.column("bytes").take(at),
        "one": pa.repeat(pa.scalar(1, pa.int32()), len(brokers)),
    }


def _broker_addresses(brokers: pa.Table) -> dict[str, Any]:
    host, port = (brokers.column(name).cast(pa.string()) for name in ("host", "port"))
    return {
        "id": brokers.column("broker"),
        "address": pc.binary_join_element_wise(host, port, ":"),
        "one": pa.repeat(pa.scalar(1, pa.int32()), len(brokers)),
    }


def _topics(facts: ClusterFacts) -> dict[str, Any]:
    topics, configs = facts.cluster_topics, facts.configs
    names = topics.column("topic").cast(pa.string()).combine_chunks()
    is_policy = pc.and_(
        pc.equal(configs.column("scope").cast(pa.string()), _TOPIC_SCOPE),
        pc.equal(configs.column("key").cast(pa.string()), _CLEANUP_POLICY),
    )
    policies = configs.filter(is_policy)
    of_topic = policies.column("name").cast(pa.string()).combine_chunks()
    policy = policies.column("value").cast(pa.string()).combine_chunks().take(pc.index_in(names, value_set=of_topic))
    return {
        "topic": names,
        "topic_name": names,
        "partitions": topics.column("partitions"),
        "partition_count": topics.column("partitions"),
        "replication_factor": topics.column("replication_factor"),
        "cleanup_policy": policy,
    }


def _topic_sizes(sizes: pa.Table) -> dict[str, Any]:
    return {"topic_name": sizes.column("topic"), "bytes": sizes.column("bytes")}


def _table(schema: pa.Schema, columns: Mapping[str, Any]) -> pa.Table:
    return pa.table([_cast(columns[field.name], field.type) for field in schema], schema=schema)


def _cast(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if kind == NAME and not pa.types.is_dictionary(column.type):
        return column.dictionary_encode().cast(kind)
    return column.cast(kind)
