"""The JSON responses about the cluster, in process."""

from typing import Any

import httpx
import pyarrow as pa

from exporters.catalogue import brokers
from exporters.cluster.exposition import PublishedCluster
from exporters.http.openapi.small_world import small_cluster
from tests.exporters.serving import client
from tests.exporters.snapshots import CONNECTING, table


def get(path: str, published: PublishedCluster | None) -> httpx.Response:
    """Send a request to an application with these facts and without a snapshot."""
    return client(None, {"cluster": lambda: published}, **CONNECTING).get(path)


def cluster(**changes: Any) -> Any:
    """Return the response about the cluster, with changes of its facts."""
    answer = get("/api/v1/cluster", PublishedCluster.build(small_cluster(**changes)))
    assert answer.status_code == 200
    return answer.json()


def in_json(shown: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as in JSON: times in RFC 3339."""
    times = [field.name for field in shown.schema if pa.types.is_timestamp(field.type)]
    for row in (found := shown.to_pylist()):
        row |= {name: row[name] and f"{row[name]:%Y-%m-%dT%H:%M:%S}.000Z" for name in times}
    return found


def config(key: str, value: str | None, source: str | None, reason: str | None = None) -> dict[str, str | None]:
    return {"key": key, "value": value, "source": source, "unknown_reason": reason}


def test_the_cluster() -> None:
    """The response has brokers with settings, controller, totals, offsets topic with evidence, and unknown facts."""
    known = small_cluster()
    first, second = in_json(known.brokers)
    retention = "offsets.retention.minutes"
    found = cluster()
    assert found == {
        "time": "2023-11-14T22:13:20.000Z",
        "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk",
        "controller": 3000,
        "controller_unknown_reason": None,
        "brokers": [
            {**first, "controller": False, "configs": [config(retention, "10080", "default_config")]},
            {**second, "controller": False, "configs": [config(retention, None, None, "unreachable")]},
        ],
        "totals": {"topics": 1, "partitions": 2, "under_replicated": 1, "leaderless": 1},
        "offsets_topic": {
            "by_broker": in_json(known.offsets_replicas),
            "cleaner_suspect": True,
            "cleaner_evidence": ["log.cleaner.enable is false on broker 1"],
            "configs": [config("cleanup.policy", "compact", "dynamic_topic_config")],
        },
        "quorum": {
            "leader_epoch": 12,
            "high_watermark": 499,
            "voters": 3,
            "voters_behind": 1,
            "replicas": in_json(known.quorum_replicas),
        },
        "reassignments": in_json(known.reassignments),
        "versions": {
            "features": in_json(known.features),
            "by_broker": in_json(known.broker_features),
            "mixed": ["broker 2 differs from broker 1: metadata.version 7 to 25 instead of 7 to 27"],
        },
        "quotas": in_json(known.quotas),
        "disks": in_json(known.broker_disks),
        "share_groups": in_json(known.share_partitions),
        "unknown": in_json(known.unknown_facts),
    }
    assert found["brokers"][1]["rack"] is None
    assert [row["last_fetch_time"] for row in found["quorum"]["replicas"]] == [
        "2023-11-14T22:13:20.000Z",
        "2023-11-14T22:13:19.000Z",
        None,
    ]


def test_unknown_facts_about_the_cluster_are_null() -> None:
    """Unknown lists of reassignments and quotas are null, not empty; an unknown quorum and versions are null.

    An unknown controller is null, also for each broker; share groups are null without the right to read their topic.
    """
    found = cluster(controller=None, controller_unknown_reason="not_authorized")
    assert (found["controller"], found["controller_unknown_reason"]) == (None, "not_authorized")
    assert [broker["controller"] for broker in found["brokers"]] == [None, None]
    unknown = table(brokers.UNKNOWN_FACTS.schema, [{"fact": "share groups", "reason": "not_authorized", "amount": 1}])
    nothing = small_cluster().share_partitions.slice(0, 0)
    assert cluster(share_partitions=nothing, unknown_facts=unknown)["share_groups"] is None
    assert cluster(share_partitions=nothing)["share_groups"] == []
    found = cluster(cluster_totals=small_cluster().cluster_totals.slice(0, 0))
    assert [found[name] for name in ("quorum", "reassignments", "versions", "quotas")] == [None] * 4


def test_a_topic() -> None:
    """A topic has totals, settings and every partition with its brokers, also one without series; no leader is null."""
    answer = get("/api/v1/topics/orders", PublishedCluster.build(small_cluster())).json()
    assert (answer["topic"], answer["partitions"], answer["leaders_skewed_ratio"]) == ("orders", 2, 0.33)
    assert answer["bytes"] == 4096
    assert answer["followers"] == [{"partition": 1, "broker": 2, "lag": 700}]
    unsized = small_cluster(topic_sizes=small_cluster().topic_sizes.slice(0, 0))
    assert get("/api/v1/topics/orders", PublishedCluster.build(unsized)).json()["bytes"] is None
    assert answer["configs"] == [config("retention.ms", "604800000", "default_config")]
    assert answer["by_partition"][1] == {
        "partition": 1,
        "leader": None,
        "leader_epoch": 3,
        "replicas": 2,
        "in_sync_replicas": 1,
        "under_replicated": True,
        "preferred_leader": False,
        "replica_brokers": [1, 2],
        "in_sync_brokers": [2],
        "offline_brokers": [1],
    }
    polled = small_cluster(partitions_shown=small_cluster().partitions_shown.slice(0, 0))
    assert len(get("/api/v1/topics/orders", PublishedCluster.build(polled)).json()["by_partition"]) == 2


def test_unknown_facts_have_a_status_code() -> None:
    """A request is 503 before the first poll and 404 for an unknown topic, with an error message in JSON."""
    polled = PublishedCluster.build(small_cluster())
    for path, published, code in (
        ("/api/v1/cluster", None, 503),
        ("/api/v1/topics/orders", None, 503),
        ("/api/v1/topics/none", polled, 404),
        ("/api/v1/topics/%3Cscript%3E", polled, 404),
    ):
        answer = get(path, published)
        assert answer.status_code == code
        assert answer.json()["error"]
