"""The metrics of the cluster: known values only."""

import dataclasses

import pyarrow as pa

from exporters.cluster.exposition import PublishedCluster, join_expositions, render
from exporters.http.openapi.small_world import NOON, small_cluster
from exporters.text.exposition import EMPTY, Exposition, ExpositionFormat
from tests.exporters.exposition_text import named, plain_text

NOW = NOON / 1000


def lines(exposition: Exposition) -> dict[str, float]:
    """Return the values by the text of their samples."""
    shown = [line for line in plain_text(exposition).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in shown)}


def test_every_known_value_has_a_sample() -> None:
    """Each metric has samples with its labels; a null value has no sample."""
    place, _last = 'group="jobs",topic="orders",partition', "quorum_replica_last_*_timestamp_seconds"
    assert lines(render(small_cluster())) == {
        'lagwarden_broker_info{broker="1",host="kafka-1",port="9092",rack="eu-1a"}': 1,
        'lagwarden_broker_info{broker="2",host="kafka-2",port="9092",rack=""}': 1,
        **named('broker_*{broker="1"}', leaders=1, replicas=2, bytes=2**41, left_replicas_total=2),
        **named('broker_*{broker="2"}', leaders=0, replicas=2),
        'lagwarden_controller{broker="3000"}': 1,
        'lagwarden_config_info{scope="broker",name="1",key="offsets.retention.minutes",value="10080",'
        'source="default_config"}': 1,
        'lagwarden_config_info{scope="topic",name="__consumer_offsets",key="cleanup.policy",value="compact",'
        'source="dynamic_topic_config"}': 1,
        'lagwarden_config_info{scope="topic",name="orders",key="retention.ms",value="604800000",'
        'source="default_config"}': 1,
        **named('topic_*{topic="orders"}', partitions=2, replication_factor=2, bytes=4096, reassigning_partitions=1),
        **named('topic_*_partitions{topic="orders"}', under_replicated=1, at_min_isr=0, under_min_isr=1, leaderless=1),
        **named('topic_*_ratio{topic="orders"}', under_replicated=0.5, preferred_leaders=0.5, brokers_skewed=0),
        **named('topic_*_ratio{topic="orders"}', brokers_spread=1, leaders_skewed=0.33),
        **named('topic_partition_*{topic="orders",partition="0"}', leader=1, replicas=2, in_sync_replicas=2),
        **named('topic_partition_*{topic="orders",partition="0"}', under_replicated=0, preferred_leader=1),
        **named('topic_partition_*{topic="orders",partition="1"}', replicas=2, in_sync_replicas=1),
        **named('topic_partition_*{topic="orders",partition="1"}', under_replicated=1, preferred_leader=0),
        'lagwarden_topic_partition_follower_lag{topic="orders",partition="1",broker="2"}': 700,
        **named("quorum_*", leader_epoch=12, high_watermark=499, voters=3, voters_behind=1),
        'lagwarden_quorum_replica_lag{replica="3000",role="voter"}': 0,
        'lagwarden_quorum_replica_lag{replica="1",role="observer"}': 20,
        **named('quorum_replica_last_*_timestamp_seconds{replica="3000",role="voter"}', fetch=NOW, caught_up=NOW),
        **named(
            'quorum_replica_last_*_timestamp_seconds{replica="1",role="observer"}', fetch=NOW - 1, caught_up=NOW - 9
        ),
        **named("reassigning_*", partitions=1, adding_replicas=1, removing_replicas=0),
        "lagwarden_share_groups_timestamp_seconds": NOW,
        'lagwarden_share_group_lag{group="jobs"}': 390,
        **named(f'share_partition_*{{{place}="0"}}', start_offset=1600, lag=390, most_deliveries=3),
        **named(f'share_partition_*_records{{{place}="0"}}', finished=10, returned=2),
        **named(f'share_partition_*_total{{{place}="0"}}', acknowledged=1590, archived=1, returns=3),
        **named(f'share_partition_*{{{place}="1"}}', returned_records=0),
        **named(f'share_partition_*_total{{{place}="1"}}', acknowledged=0, archived=0, returns=0),
        'lagwarden_cluster_feature_level{feature="metadata.version"}': 20,
        **named('broker_feature_*_level{broker="1",feature="metadata.version"}', min=7, max=27),
        **named("cluster_*", version_sets=2, under_replicated_ratio=0.5, quotas=1),
        'lagwarden_client_quota{user="",client_id="billing-1",ip="",key="consumer_byte_rate"}': 1024,
        **named('offsets_topic_*{broker="1"}', bytes=2**40, growth_bytes_per_second=-12.5),
        "lagwarden_offsets_topic_cleaner_suspect": 1,
        **named("cluster_facts_*_seconds", timestamp=NOW, duration=0.25),
        'lagwarden_cluster_facts_unknown{fact="broker setting",reason="unreachable"}': 1,
        'lagwarden_cluster_facts_unknown{fact="offsets topic size",reason="not_authorized"}': 1,
    }


def test_metrics_of_the_cluster_are_alone_before_the_first_snapshot() -> None:
    """Names can select them. A poll without results has only the metrics of the poll itself."""
    found = {
        field.name: getattr(small_cluster(), field.name)
        for field in dataclasses.fields(small_cluster())
        if field.name != "polls"
    }
    tables = {name: value.slice(0, 0) for name, value in found.items() if isinstance(value, pa.Table)}
    assert [family.metric.name for family in render(small_cluster(**tables)).families] == [
        "lagwarden_offsets_topic_cleaner_suspect",
        "lagwarden_cluster_facts_timestamp_seconds",
        "lagwarden_cluster_facts_duration_seconds",
    ]
    alone = join_expositions(EMPTY, PublishedCluster.build(small_cluster()).exposition)
    assert plain_text(alone) == plain_text(render(small_cluster()))
    chosen = b"".join(map(bytes, alone.plain(ExpositionFormat.TEXT, {"lagwarden_controller"})))  # type: ignore[arg-type]
    assert chosen.splitlines()[2:] == [b'lagwarden_controller{broker="3000"} 1']
