"""The JSON responses about the cluster, in process."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import weakref

import httpx
import pytest

from exporters.cluster import model
from exporters.cluster.exposition import PublishedCluster
from exporters.http.cluster_api import cluster_json
from exporters.http.routes import build_app
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import CONNECTING, small_snapshot, status, table


def get(path: str, published: PublishedCluster | None) -> httpx.Response:
    """Send a request to an application with these facts and without a snapshot."""

    async def send() -> httpx.Response:
        app = build_app(lambda: None, lambda: status(**CONNECTING), cluster=lambda: published)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lagwarden") as client:
            return await client.get(path)

    return asyncio.run(send())


def test_the_cluster() -> None:
    """The response has brokers with settings, controller, totals, offsets topic with evidence, and unknown facts."""
    answer = get("/api/v1/cluster", PublishedCluster.build(facts()))
    assert answer.status_code == 200
    assert answer.json() == {
        "time": "2023-11-14T22:13:20.000Z",
        "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk",
        "controller": 3000,
        "controller_unknown_reason": None,
        "brokers": [
            {
                "broker": 1,
                "host": "kafka-1",
                "port": 9092,
                "rack": "eu-1a",
                "leads": 1,
                "holds": 2,
                "controller": False,
                "configs": [
                    {
                        "key": "offsets.retention.minutes",
                        "value": "10080",
                        "source": "default_config",
                        "unknown_reason": None,
                    }
                ],
            },
            {
                "broker": 2,
                "host": "kafka-2",
                "port": 9092,
                "rack": None,
                "leads": 0,
                "holds": 2,
                "controller": False,
                "configs": [
                    {
                        "key": "offsets.retention.minutes",
                        "value": None,
                        "source": None,
                        "unknown_reason": "unreachable",
                    }
                ],
            },
        ],
        "totals": {"topics": 1, "partitions": 2, "under_replicated": 1, "leaderless": 1},
        "offsets_topic": {
            "by_broker": [
                {"broker": 1, "bytes": 2**40, "growth": -12.5, "unknown_reason": None},
                {"broker": 2, "bytes": None, "growth": None, "unknown_reason": "not_authorized"},
            ],
            "cleaner_suspect": True,
            "cleaner_evidence": ["log.cleaner.enable is false on broker 1"],
            "configs": [
                {
                    "key": "cleanup.policy",
                    "value": "compact",
                    "source": "dynamic_topic_config",
                    "unknown_reason": None,
                }
            ],
        },
        "quorum": {
            "leader_epoch": 12,
            "high_watermark": 499,
            "voters": 3,
            "voters_behind": 1,
            "replicas": [
                {
                    "replica": 3000,
                    "role": "voter",
                    "directory": None,
                    "log_end_offset": 500,
                    "lag": 0,
                    "last_fetch_time": "2023-11-14T22:13:20.000Z",
                    "last_caught_up_time": "2023-11-14T22:13:20.000Z",
                },
                {
                    "replica": 1,
                    "role": "observer",
                    "directory": None,
                    "log_end_offset": 480,
                    "lag": 20,
                    "last_fetch_time": "2023-11-14T22:13:19.000Z",
                    "last_caught_up_time": "2023-11-14T22:13:11.000Z",
                },
                {
                    "replica": 2,
                    "role": "observer",
                    "directory": None,
                    "log_end_offset": None,
                    "lag": None,
                    "last_fetch_time": None,
                    "last_caught_up_time": None,
                },
            ],
        },
        "reassignments": [
            {
                "topic": "orders",
                "partition": 1,
                "replica_brokers": [1, 2],
                "adding_brokers": [1],
                "removing_brokers": [],
            }
        ],
        "versions": {
            "features": [{"feature": "metadata.version", "level": 20}],
            "by_broker": [{"broker": 1, "feature": "metadata.version", "min_level": 7, "max_level": 27}],
            "mixed": ["broker 2 differs from broker 1: metadata.version 7 to 25 instead of 7 to 27"],
        },
        "quotas": [{"user": "", "client_id": "billing-1", "ip": "", "key": "consumer_byte_rate", "value": 1024.0}],
        "disks": [{"broker": 1, "bytes": 2**41, "left_replicas": 2}],
        "share_groups": [
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
                "start_offset": None,
                "lag": None,
                "finished": None,
                "returned": 0,
                "most_deliveries": None,
                "acknowledged": 0,
                "archived": 0,
                "returns": 0,
            },
        ],
        "unknown": [
            {"fact": "broker setting", "reason": "unreachable", "amount": 1},
            {"fact": "offsets topic size", "reason": "not_authorized", "amount": 1},
        ],
    }


def test_an_unknown_controller_is_null() -> None:
    """An unknown controller is null; for each broker `controller` is null, too, not false."""
    polled = facts(controller=None, controller_unknown_reason="not_authorized")
    answer = get("/api/v1/cluster", PublishedCluster.build(polled)).json()
    assert (answer["controller"], answer["controller_unknown_reason"]) == (None, "not_authorized")
    assert [broker["controller"] for broker in answer["brokers"]] == [None, None]


def test_share_groups_that_are_unknown_are_null() -> None:
    """The list is null without the right to read the topic of share groups; without share groups it is empty."""
    unknown = table(model.UNKNOWN_FACTS, [{"fact": "share groups", "reason": "not_authorized", "amount": 1}])
    nothing = facts().share_partitions.slice(0, 0)
    polled = facts(share_partitions=nothing, unknown_facts=unknown)
    assert get("/api/v1/cluster", PublishedCluster.build(polled)).json()["share_groups"] is None
    none = PublishedCluster.build(facts(share_partitions=nothing))
    assert get("/api/v1/cluster", none).json()["share_groups"] == []


def test_unknown_facts_about_the_cluster_are_null() -> None:
    """Unknown lists of reassignments and quotas are null, not empty; an unknown quorum and versions are null."""
    nothing = facts().cluster_totals.slice(0, 0)
    answer = get("/api/v1/cluster", PublishedCluster.build(facts(cluster_totals=nothing))).json()
    assert {answer[name] for name in ("quorum", "reassignments", "versions")} == {answer["quotas"]} == {None}


def test_a_topic() -> None:
    """A topic has totals, settings and every partition with its brokers; a missing leader is null."""
    answer = get("/api/v1/topics/orders", PublishedCluster.build(facts())).json()
    assert (answer["topic"], answer["partitions"], answer["leaders_skewed_ratio"]) == ("orders", 2, 0.33)
    assert answer["bytes"] == 4096
    assert answer["followers"] == [{"partition": 1, "broker": 2, "lag": 700}]
    unsized = facts(topic_sizes=facts().topic_sizes.slice(0, 0))
    assert get("/api/v1/topics/orders", PublishedCluster.build(unsized)).json()["bytes"] is None
    assert answer["configs"] == [
        {"key": "retention.ms", "value": "604800000", "source": "default_config", "unknown_reason": None}
    ]
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


def test_a_topic_without_series_has_a_response() -> None:
    """A topic without series has a response, because `cluster.partitions_shown` limits only series."""
    polled = facts(partitions_shown=facts().partitions_shown.slice(0, 0))
    assert len(get("/api/v1/topics/orders", PublishedCluster.build(polled)).json()["by_partition"]) == 2


@pytest.mark.parametrize(
    ("path", "published", "code"),
    [
        pytest.param("/api/v1/cluster", False, 503, id="cluster, before the first poll"),
        pytest.param("/api/v1/topics/orders", False, 503, id="topic, before the first poll"),
        pytest.param("/api/v1/topics/none", True, 404, id="unknown topic"),
        pytest.param("/api/v1/topics/%3Cscript%3E", True, 404, id="invalid topic name"),
    ],
)
def test_unknown_facts_have_a_status_code(path: str, *, published: bool, code: int) -> None:
    """A request is 503 before the first poll and 404 for an unknown topic, with an error message in JSON."""
    answer = get(path, PublishedCluster.build(facts()) if published else None)
    assert answer.status_code == code
    assert answer.json()["error"]


def test_metrics_of_the_cluster_need_no_snapshot() -> None:
    """`/metrics` has the metrics of the cluster before any group is known."""
    text = get("/metrics", PublishedCluster.build(facts())).text
    assert 'lagwarden_controller{broker="3000"} 1\n' in text
    assert "lagwarden_controller{" not in get("/metrics", None).text


def test_a_replaced_poll_is_freed() -> None:
    """The rendered response does not keep a poll alive after the publisher has dropped it."""
    published = PublishedCluster.build(facts())
    assert cluster_json(published)[0] is cluster_json(published)[0]
    table = weakref.ref(published.facts.brokers)
    del published
    gc.collect()
    assert table() is None


def test_the_overview_page_has_the_mixed_versions_of_the_last_poll() -> None:
    """The page has the mixed versions that the API serves; before the first poll the page has no such line."""
    snapshot = PublishedSnapshot.build(small_snapshot())

    async def text(published: PublishedCluster | None) -> str:
        app = build_app(lambda: snapshot, status, cluster=lambda: published)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lagwarden") as client:
            return (await client.get("/", headers={"accept": "text/html"})).text

    assert "broker 2 differs from broker 1" in asyncio.run(text(PublishedCluster.build(facts())))
    assert "Mixed versions" not in asyncio.run(text(None))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_quota_that_is_no_finite_number_is_null(value: float) -> None:
    """A quota of NaN or infinity is null, because JSON has neither; the other facts are shown."""
    quota = {"user": "", "client_id": "billing-1", "ip": "", "key": "consumer_byte_rate", "value": value}
    published = PublishedCluster.build(facts(quotas=table(model.QUOTAS, [quota])))
    body, code = cluster_json(published)
    assert (json.loads(body)["quotas"], code) == ([{**quota, "value": None}], 200)
