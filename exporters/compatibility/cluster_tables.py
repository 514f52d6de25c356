"""Derives the tables of the other exporters' metrics from the facts about the cluster.

The rules are those of `exporters.compatibility.snapshot_tables`.
"""

import dataclasses
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.cluster.model import ClusterFacts
from exporters.compatibility.other_exporter import OtherSource

_CLEANUP_POLICY: Final = "cleanup.policy"
_TOPIC_SCOPE: Final = "topic"


def other_cluster_facts(facts: ClusterFacts) -> ClusterFacts:
    """Return the facts with the tables of the other exporters."""
    columns = {
        OtherSource.CLUSTER: _cluster(facts),
        OtherSource.BROKERS: _brokers(facts),
        OtherSource.BROKER_ADDRESSES: _broker_addresses(facts.brokers),
        OtherSource.CLUSTER_TOPICS: _topics(facts),
        OtherSource.TOPIC_SIZES: {"topic_name": facts.topic_sizes["topic"], "bytes": facts.topic_sizes["bytes"]},
    }
    tables = {source.table: pa.table(made) for source, made in columns.items()}
    return dataclasses.replace(facts, derived=tables | {OtherSource.REPLICAS.table: facts.partitions_shown})


def _cluster(facts: ClusterFacts) -> dict[str, Any]:
    brokers = pa.array([len(facts.brokers)], pa.int32())
    return {
        # The protocol has none; KMinion guesses it from the supported requests.
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
