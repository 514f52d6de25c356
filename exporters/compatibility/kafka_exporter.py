"""The metrics of kafka_exporter (danielqsj/kafka_exporter, kafka_exporter.go), all of type gauge.

Derives the tables of all other exporters' metrics from the facts about the cluster, by the rules of `snapshot_tables`.
"""

import dataclasses
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.metric import ValueConversion
from exporters.cluster.model import ClusterFacts
from exporters.compatibility.other_exporter import READ_ONLY, OtherExporter, OtherSource, gauge
from exporters.group_search import rows_where

_TOPIC: Final = ("topic",)
_PARTITION: Final = ("topic", "partition")
_GROUP_TOPIC: Final = ("consumergroup", "topic")
_GROUP_PARTITION: Final = ("consumergroup", "topic", "partition")
_SHOWN_ONLY: Final = "At most `cluster.partitions_shown` partitions, those with problems first."

_CLUSTER: Final = (
    gauge("kafka_brokers", "Live brokers of the cluster.", OtherSource.CLUSTER, "brokers",
        instead="count by (cluster) (lagwarden_broker_info)"),
    gauge("kafka_broker_info", "A live broker with its advertised address, always 1.", OtherSource.BROKER_ADDRESSES,
        "one", ("id", "address"), conversion=ValueConversion.ONE, instead="lagwarden_broker_info"),
    gauge("kafka_topic_partitions", "Partitions of the topic.", OtherSource.CLUSTER_TOPICS, "partitions", _TOPIC,
        absent="Describe is not allowed on the topic", instead="lagwarden_topic_partitions"),
    gauge("kafka_topic_partition_leader", "Id of the broker that leads the partition.", OtherSource.REPLICAS, "leader",
        _PARTITION, absent="the partition has no leader", instead="lagwarden_topic_partition_leader",
        difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_leader_is_preferred", "1 if the first replica of the partition leads it, else 0.",
        OtherSource.REPLICAS, "preferred_leader", _PARTITION, instead="lagwarden_topic_partition_preferred_leader",
        difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_replicas", "Replicas of the partition.", OtherSource.REPLICAS, "replicas", _PARTITION,
        instead="lagwarden_topic_partition_replicas", difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_in_sync_replica", "In-sync replicas of the partition.", OtherSource.REPLICAS,
        "in_sync_replicas", _PARTITION, instead="lagwarden_topic_partition_in_sync_replicas", difference=_SHOWN_ONLY),
    gauge("kafka_topic_partition_under_replicated_partition",
        "1 if the partition has a replica that is not in sync, else 0.", OtherSource.REPLICAS, "under_replicated",
        _PARTITION, instead="lagwarden_topic_partition_under_replicated", difference=_SHOWN_ONLY),
)  # fmt: skip

_SNAPSHOT: Final = (
    gauge("kafka_topic_partition_current_offset", "High watermark of the partition.", OtherSource.LOG_ENDS,
        "high_watermark", _PARTITION, instead="lagwarden_topic_partition_end_offset", difference=READ_ONLY),
    gauge("kafka_topic_partition_oldest_offset", "Log start offset of the partition.", OtherSource.LOG_ENDS,
        "log_start_offset", _PARTITION, instead="lagwarden_topic_partition_start_offset", difference=READ_ONLY),
    gauge("kafka_consumergroup_current_offset",
        "Committed offset of the group; -1 without one, if the group has one for another partition of the topic.",
        OtherSource.PARTITIONS, "committed_or_minus_one", _GROUP_PARTITION,
        instead="lagwarden_partition_committed_offset"),
    gauge("kafka_consumergroup_current_offset_sum",
        "Sum of kafka_consumergroup_current_offset over the partitions of the topic, each -1 included.",
        OtherSource.GROUP_TOPICS, "committed_or_minus_one_sum", _GROUP_TOPIC,
        instead="sum by (cluster, group, topic) (lagwarden_partition_committed_offset)"),
    gauge("kafka_consumergroup_lag",
        "High watermark minus committed offset, negative if the commit is beyond the end; -1 without a commit.",
        OtherSource.PARTITIONS, "end_minus_committed", _GROUP_PARTITION, instead="lagwarden_partition_lag",
        difference="Negative only after a truncation or re-creation of the topic, never because of a race."),
    gauge("kafka_consumergroup_lag_sum",
        "Sum of kafka_consumergroup_lag over the partitions of the topic that have a commit.", OtherSource.GROUP_TOPICS,
        "end_minus_committed_sum", _GROUP_TOPIC, absent="no partition of the topic has a commit and a known end",
        instead="sum by (cluster, group, topic) (lagwarden_partition_lag)",
        difference="kafka_exporter writes 0 if it knows no end."),
    gauge("kafka_consumergroup_members", "Members of the group.", OtherSource.GROUPS, "members", ("consumergroup",),
        instead="lagwarden_group_members", difference="kafka_exporter before 1.10 writes 0 for groups of KIP-848."),
)  # fmt: skip

KAFKA_EXPORTER: Final = OtherExporter(
    "kafka_exporter",
    "kafka_exporter",
    "danielqsj/kafka_exporter",
    _CLUSTER + _SNAPSHOT,
    missing={
        "kafka_consumergroupzookeeper_lag_zookeeper": "Offsets in ZooKeeper are not read; Kafka 4 has none.",
        "kafka_exporter_build_info": "Use `lagwarden_build_info`.",
    },
    every_partition=True,
)


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
    topics = facts.cluster_topics
    names = topics.column("topic").cast(pa.string()).combine_chunks()
    policies = rows_where(facts.configs, scope="topic", key="cleanup.policy")
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
