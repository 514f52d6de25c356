"""The cluster's facts as JSON, asked in process."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from exporters.cluster.exposition import PublishedCluster
from exporters.http.routes import build_app
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import CONNECTING, status


def get(path: str, published: PublishedCluster | None) -> httpx.Response:
    """Ask an application that has this of the cluster, and no snapshot yet."""

    async def send() -> httpx.Response:
        app = build_app(lambda: None, lambda: status(**CONNECTING), cluster=lambda: published)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lagwarden") as client:
            return await client.get(path)

    return asyncio.run(send())


def test_the_cluster() -> None:
    """Brokers with their settings, the controller, totals, the offsets topic with its evidence, and the gaps."""
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
        "unknown": [
            {"fact": "broker setting", "reason": "unreachable", "amount": 1},
            {"fact": "offsets topic size", "reason": "not_authorized", "amount": 1},
        ],
    }


def test_no_controller_known() -> None:
    """Then no broker is said to be none either."""
    seen = facts(controller=None, controller_unknown_reason="not_authorized")
    answer = get("/api/v1/cluster", PublishedCluster.build(seen)).json()
    assert (answer["controller"], answer["controller_unknown_reason"]) == (None, "not_authorized")
    assert [broker["controller"] for broker in answer["brokers"]] == [None, None]


def test_a_topic() -> None:
    """Its totals, its settings and every partition with its brokers; a leader that is not there is null."""
    answer = get("/api/v1/topics/orders", PublishedCluster.build(facts())).json()
    assert (answer["topic"], answer["partitions"], answer["leaders_skewed_ratio"]) == ("orders", 2, 0.33)
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


def test_a_topic_beyond_what_is_shown_has_an_answer() -> None:
    """Only series are limited."""
    seen = facts(partitions_shown=facts().partitions_shown.slice(0, 0))
    assert len(get("/api/v1/topics/orders", PublishedCluster.build(seen)).json()["by_partition"]) == 2


@pytest.mark.parametrize(
    ("path", "published", "code"),
    [
        pytest.param("/api/v1/cluster", False, 503, id="cluster, before the first poll"),
        pytest.param("/api/v1/topics/orders", False, 503, id="topic, before the first poll"),
        pytest.param("/api/v1/topics/none", True, 404, id="a topic that is not there"),
        pytest.param("/api/v1/topics/%3Cscript%3E", True, 404, id="no name that a topic can have"),
    ],
)
def test_what_is_not_known(path: str, *, published: bool, code: int) -> None:
    """No facts is 503, no such topic 404, each with a sentence in JSON."""
    answer = get(path, PublishedCluster.build(facts()) if published else None)
    assert answer.status_code == code
    assert answer.json()["error"]


def test_metrics_of_the_cluster_do_not_wait_for_a_snapshot() -> None:
    """They stand in `/metrics` before any group is known."""
    text = get("/metrics", PublishedCluster.build(facts())).text
    assert 'lagwarden_controller{broker="3000"} 1\n' in text
    assert "lagwarden_controller{" not in get("/metrics", None).text
