"""The facts of a small cluster, some of them unknown. Times are Unix milliseconds."""

from __future__ import annotations

import dataclasses
from typing import Any

from exporters.cluster import model
from exporters.cluster.model import ClusterFacts
from tests.exporters.snapshots import NOON, table

_PARTITION: dict[str, Any] = {
    "topic": "orders",
    "leader_epoch": 3,
    "replicas": 2,
    "in_sync_replicas": 2,
    "under_replicated": False,
    "preferred_leader": True,
    "replica_brokers": [1, 2],
    "in_sync_brokers": [1, 2],
    "offline_brokers": [],
}


def facts(**changes: Any) -> ClusterFacts:
    """Return two brokers and a topic whose second partition has no leader, with changes."""
    whole = {"partition": 0, "leader": 1, **_PARTITION}
    lost = {**_PARTITION, "partition": 1, "in_sync_replicas": 1, "under_replicated": True, "preferred_leader": False}
    partitions = table(model.TOPIC_PARTITIONS, [whole, {**lost, "in_sync_brokers": [2], "offline_brokers": [1]}])
    configs = table(
        model.CONFIGS,
        [
            {
                "scope": "broker",
                "name": "1",
                "key": "offsets.retention.minutes",
                "value": "10080",
                "source": "default_config",
            },
            {"scope": "broker", "name": "2", "key": "offsets.retention.minutes", "unknown_reason": "unreachable"},
            {
                "scope": "topic",
                "name": "__consumer_offsets",
                "key": "cleanup.policy",
                "value": "compact",
                "source": "dynamic_topic_config",
            },
            {
                "scope": "topic",
                "name": "orders",
                "key": "retention.ms",
                "value": "604800000",
                "source": "default_config",
            },
        ],
    )
    seen = ClusterFacts(
        taken_at=NOON / 1000,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
        controller=3000,
        controller_unknown_reason=None,
        polls=table(model.POLLS, [{"poll_time": NOON, "poll_seconds": 0.25, "cleaner_suspect": True}]),
        brokers=table(
            model.BROKERS,
            [
                {"broker": 1, "host": "kafka-1", "port": 9092, "rack": "eu-1a", "leads": 1, "holds": 2},
                {"broker": 2, "host": "kafka-2", "port": 9092, "leads": 0, "holds": 2},
            ],
        ),
        controllers=table(model.CONTROLLERS, [{"broker": 3000, "active": True}]),
        cluster_topics=table(
            model.CLUSTER_TOPICS,
            [
                {
                    "topic": "orders",
                    "partitions": 2,
                    "replication_factor": 2,
                    "under_replicated": 1,
                    "leaderless": 1,
                    "at_min_isr": 0,
                    "under_min_isr": 1,
                    "preferred_leaders_ratio": 0.5,
                    "brokers_skewed_ratio": 0.0,
                    "brokers_spread_ratio": 1.0,
                    "leaders_skewed_ratio": 0.33,
                    "under_replicated_ratio": 0.5,
                }
            ],
        ),
        topic_partitions=partitions,
        partitions_shown=partitions,
        offsets_replicas=table(
            model.OFFSETS_REPLICAS,
            [
                {"broker": 1, "bytes": 2**40, "growth": -12.5},
                {"broker": 2, "unknown_reason": "not_authorized"},
            ],
        ),
        configs=configs,
        configs_shown=configs,
        cluster_totals=table(
            model.CLUSTER_TOTALS,
            [
                {
                    "leader_epoch": 12,
                    "metadata_high_watermark": 499,
                    "quorum_voters": 3,
                    "quorum_voters_behind": 1,
                    "reassigning_partitions": 1,
                    "adding_replicas": 1,
                    "removing_replicas": 0,
                    "version_sets": 2,
                    "quotas": 1,
                    "under_replicated_ratio": 0.5,
                }
            ],
        ),
        quorum_replicas=table(
            model.QUORUM_REPLICAS,
            [
                {
                    "replica": 3000,
                    "role": "voter",
                    "log_end_offset": 500,
                    "lag": 0,
                    "last_fetch_time": NOON,
                    "last_caught_up_time": NOON,
                },
                {
                    "replica": 1,
                    "role": "observer",
                    "log_end_offset": 480,
                    "lag": 20,
                    "last_fetch_time": NOON - 1000,
                    "last_caught_up_time": NOON - 9000,
                },
                {"replica": 2, "role": "observer"},
            ],
        ),
        reassignments=table(
            model.REASSIGNMENTS,
            [
                {
                    "topic": "orders",
                    "partition": 1,
                    "replica_brokers": [1, 2],
                    "adding_brokers": [1],
                    "removing_brokers": [],
                }
            ],
        ),
        reassigning_topics=table(model.REASSIGNING_TOPICS, [{"topic": "orders", "partitions": 1}]),
        features=table(model.FEATURES, [{"feature": "metadata.version", "level": 20}]),
        broker_features=table(
            model.BROKER_FEATURES,
            [{"broker": 1, "feature": "metadata.version", "min_level": 7, "max_level": 27}],
        ),
        share_partitions=table(
            model.SHARE_PARTITIONS,
            [
                {
                    "group": "jobs",
                    "topic": "orders",
                    "partition": 0,
                    "end": 2000,
                    "start_offset": 1600,
                    "lag": 390,
                    "finished": 10,
                    "returned": 2,
                    "most_deliveries": 3,
                    "acknowledged": 1590,
                    "archived": 1,
                    "returns": 3,
                },
                {
                    "group": "jobs",
                    "topic": "orders",
                    "partition": 1,
                    "end": 7,
                    "returned": 0,
                    "acknowledged": 0,
                    "archived": 0,
                    "returns": 0,
                },
            ],
        ),
        share_groups=table(model.SHARE_GROUPS, [{"group": "jobs", "partitions": 1, "lag": 390}]),
        share_reads=table(model.SHARE_READS, [{"read_time": NOON}]),
        quotas=table(
            model.QUOTAS,
            [{"user": "", "client_id": "billing-1", "ip": "", "key": "consumer_byte_rate", "value": 1024.0}],
        ),
        broker_disks=table(model.BROKER_DISKS, [{"broker": 1, "bytes": 2**41, "left_replicas": 2}]),
        topic_sizes=table(model.TOPIC_SIZES, [{"topic": "orders", "bytes": 4096}]),
        followers=table(model.FOLLOWERS, [{"topic": "orders", "partition": 1, "broker": 2, "lag": 700}]),
        unknown_facts=table(
            model.UNKNOWN_FACTS,
            [
                {"fact": "broker setting", "reason": "unreachable", "amount": 1},
                {"fact": "offsets topic size", "reason": "not_authorized", "amount": 1},
            ],
        ),
        cleaner_suspect=True,
        cleaner_evidence=("log.cleaner.enable is false on broker 1",),
        mixed_versions=("broker 2 differs from broker 1: metadata.version 7 to 25 instead of 7 to 27",),
        is_whole=True,
    )
    return dataclasses.replace(seen, **changes)
