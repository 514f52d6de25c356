"""The metrics of the cluster: known values only, and joined with those of a snapshot."""

from __future__ import annotations

import dataclasses
import gzip

import pyarrow as pa
import pytest

from exporters.catalogue.cluster import CLUSTER_METRICS
from exporters.cluster.exposition import PublishedCluster, join_expositions, render
from exporters.text.exposition import EMPTY, Exposition, ExpositionFormat
from exporters.text.exposition import render as render_snapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.exposition_text import plain_text, samples
from tests.exporters.snapshots import NOON, small_snapshot


def lines(exposition: Exposition) -> dict[str, float]:
    """Return the values by the text of their samples."""
    shown = [line for line in plain_text(exposition).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in shown)}


def test_every_known_value_has_a_sample() -> None:
    """Each metric has samples with its labels; a null value has no sample."""
    assert lines(render(facts())) == {
        'lagwarden_broker_info{broker="1",host="kafka-1",port="9092",rack="eu-1a"}': 1,
        'lagwarden_broker_info{broker="2",host="kafka-2",port="9092",rack=""}': 1,
        'lagwarden_broker_leaders{broker="1"}': 1,
        'lagwarden_broker_leaders{broker="2"}': 0,
        'lagwarden_broker_replicas{broker="1"}': 2,
        'lagwarden_broker_replicas{broker="2"}': 2,
        'lagwarden_controller{broker="3000"}': 1,
        'lagwarden_config_info{scope="broker",name="1",key="offsets.retention.minutes",value="10080",'
        'source="default_config"}': 1,
        'lagwarden_config_info{scope="topic",name="__consumer_offsets",key="cleanup.policy",value="compact",'
        'source="dynamic_topic_config"}': 1,
        'lagwarden_config_info{scope="topic",name="orders",key="retention.ms",value="604800000",'
        'source="default_config"}': 1,
        'lagwarden_topic_partitions{topic="orders"}': 2,
        'lagwarden_topic_replication_factor{topic="orders"}': 2,
        'lagwarden_topic_under_replicated_partitions{topic="orders"}': 1,
        'lagwarden_topic_under_replicated_ratio{topic="orders"}': 0.5,
        'lagwarden_topic_at_min_isr_partitions{topic="orders"}': 0,
        'lagwarden_topic_under_min_isr_partitions{topic="orders"}': 1,
        'lagwarden_topic_leaderless_partitions{topic="orders"}': 1,
        'lagwarden_topic_preferred_leaders_ratio{topic="orders"}': 0.5,
        'lagwarden_topic_brokers_skewed_ratio{topic="orders"}': 0,
        'lagwarden_topic_brokers_spread_ratio{topic="orders"}': 1,
        'lagwarden_topic_leaders_skewed_ratio{topic="orders"}': 0.33,
        'lagwarden_topic_partition_leader{topic="orders",partition="0"}': 1,
        'lagwarden_topic_partition_replicas{topic="orders",partition="0"}': 2,
        'lagwarden_topic_partition_replicas{topic="orders",partition="1"}': 2,
        'lagwarden_topic_partition_in_sync_replicas{topic="orders",partition="0"}': 2,
        'lagwarden_topic_partition_in_sync_replicas{topic="orders",partition="1"}': 1,
        'lagwarden_topic_partition_under_replicated{topic="orders",partition="0"}': 0,
        'lagwarden_topic_partition_under_replicated{topic="orders",partition="1"}': 1,
        'lagwarden_topic_partition_preferred_leader{topic="orders",partition="0"}': 1,
        'lagwarden_topic_partition_preferred_leader{topic="orders",partition="1"}': 0,
        'lagwarden_topic_partition_follower_lag{topic="orders",partition="1",broker="2"}': 700,
        "lagwarden_quorum_leader_epoch": 12,
        "lagwarden_quorum_high_watermark": 499,
        "lagwarden_quorum_voters": 3,
        "lagwarden_quorum_voters_behind": 1,
        'lagwarden_quorum_replica_lag{replica="3000",role="voter"}': 0,
        'lagwarden_quorum_replica_lag{replica="1",role="observer"}': 20,
        'lagwarden_quorum_replica_last_fetch_timestamp_seconds{replica="3000",role="voter"}': NOON / 1000,
        'lagwarden_quorum_replica_last_fetch_timestamp_seconds{replica="1",role="observer"}': NOON / 1000 - 1,
        'lagwarden_quorum_replica_last_caught_up_timestamp_seconds{replica="3000",role="voter"}': NOON / 1000,
        'lagwarden_quorum_replica_last_caught_up_timestamp_seconds{replica="1",role="observer"}': NOON / 1000 - 9,
        "lagwarden_reassigning_partitions": 1,
        "lagwarden_reassigning_adding_replicas": 1,
        "lagwarden_reassigning_removing_replicas": 0,
        'lagwarden_topic_reassigning_partitions{topic="orders"}': 1,
        "lagwarden_share_groups_timestamp_seconds": NOON / 1000,
        'lagwarden_share_group_lag{group="jobs"}': 390,
        'lagwarden_share_partition_start_offset{group="jobs",topic="orders",partition="0"}': 1600,
        'lagwarden_share_partition_lag{group="jobs",topic="orders",partition="0"}': 390,
        'lagwarden_share_partition_finished_records{group="jobs",topic="orders",partition="0"}': 10,
        'lagwarden_share_partition_returned_records{group="jobs",topic="orders",partition="0"}': 2,
        'lagwarden_share_partition_returned_records{group="jobs",topic="orders",partition="1"}': 0,
        'lagwarden_share_partition_most_deliveries{group="jobs",topic="orders",partition="0"}': 3,
        'lagwarden_share_partition_acknowledged_total{group="jobs",topic="orders",partition="0"}': 1590,
        'lagwarden_share_partition_acknowledged_total{group="jobs",topic="orders",partition="1"}': 0,
        'lagwarden_share_partition_archived_total{group="jobs",topic="orders",partition="0"}': 1,
        'lagwarden_share_partition_archived_total{group="jobs",topic="orders",partition="1"}': 0,
        'lagwarden_share_partition_returns_total{group="jobs",topic="orders",partition="0"}': 3,
        'lagwarden_share_partition_returns_total{group="jobs",topic="orders",partition="1"}': 0,
        "lagwarden_cluster_version_sets": 2,
        'lagwarden_cluster_feature_level{feature="metadata.version"}': 20,
        'lagwarden_broker_feature_max_level{broker="1",feature="metadata.version"}': 27,
        'lagwarden_broker_feature_min_level{broker="1",feature="metadata.version"}': 7,
        "lagwarden_cluster_under_replicated_ratio": 0.5,
        "lagwarden_cluster_quotas": 1,
        'lagwarden_client_quota{user="",client_id="billing-1",ip="",key="consumer_byte_rate"}': 1024,
        'lagwarden_broker_bytes{broker="1"}': 2**41,
        'lagwarden_broker_left_replicas_total{broker="1"}': 2,
        'lagwarden_topic_bytes{topic="orders"}': 4096,
        'lagwarden_offsets_topic_bytes{broker="1"}': 2**40,
        'lagwarden_offsets_topic_growth_bytes_per_second{broker="1"}': -12.5,
        "lagwarden_offsets_topic_cleaner_suspect": 1,
        "lagwarden_cluster_facts_timestamp_seconds": NOON / 1000,
        "lagwarden_cluster_facts_duration_seconds": 0.25,
        'lagwarden_cluster_facts_unknown{fact="broker setting",reason="unreachable"}': 1,
        'lagwarden_cluster_facts_unknown{fact="offsets topic size",reason="not_authorized"}': 1,
    }


def test_a_poll_without_results_has_only_its_own_series() -> None:
    """A poll without results has no metrics other than those of the poll itself."""
    found = {field.name: getattr(facts(), field.name) for field in dataclasses.fields(facts()) if field.name != "polls"}
    tables = {name: value.slice(0, 0) for name, value in found.items() if isinstance(value, pa.Table)}
    assert [family.metric.name for family in render(facts(**tables)).families] == [
        "lagwarden_offsets_topic_cleaner_suspect",
        "lagwarden_cluster_facts_timestamp_seconds",
        "lagwarden_cluster_facts_duration_seconds",
    ]


@pytest.mark.parametrize("form", ExpositionFormat)
def test_metrics_of_the_cluster_follow_those_of_a_snapshot(form: ExpositionFormat) -> None:
    """The metrics of the cluster follow those of the snapshot, plain and compressed; the parsers accept the text."""
    groups, cluster = render_snapshot(small_snapshot()), render(facts())
    both = join_expositions(groups, cluster)
    text = plain_text(both, form)
    assert text == plain_text(groups, form) + plain_text(cluster, form)
    assert gzip.decompress(b"".join(both.gzipped(form, b"# EOF\n"))).decode() == f"{text}# EOF\n"
    assert both.series == groups.series + cluster.series
    assert {metric.name for metric in CLUSTER_METRICS} <= {sample.name for sample in samples(text, form)}


def test_metrics_of_the_cluster_are_alone_before_the_first_snapshot() -> None:
    """Only the metrics of the cluster exist before the first snapshot, and names can select them."""
    alone = join_expositions(EMPTY, PublishedCluster.build(facts()).exposition)
    assert plain_text(alone) == plain_text(render(facts()))
    chosen = b"".join(map(bytes, alone.plain(ExpositionFormat.TEXT, {"lagwarden_controller"})))  # type: ignore[arg-type]
    assert chosen.splitlines()[2:] == [b'lagwarden_controller{broker="3000"} 1']
