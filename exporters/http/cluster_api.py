"""The JSON responses about the cluster (`/api/v1/cluster`, `/api/v1/topics/NAME`).

Fields have the names of the columns of `exporters.cluster.model`; `exporters.api_types` has their types. An unknown
value is `null`, with a reason. Before the first poll, and if polling is disabled, the status code is 503.
"""

import math
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final

import pyarrow.compute as pc
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exporters.api_types import cluster as api_types
from exporters.cluster.exposition import PublishedCluster
from exporters.cluster.model import SHARE_GROUPS_FACT, ClusterFacts
from exporters.group_search import rows_where
from exporters.http.api import encode, table_rows
from exporters.timestamps import rfc3339

BodyAndCode = tuple[bytes, int]
"""A response body and its status code."""

NOT_POLLED: Final = (
    "no facts about the cluster yet, or polling is disabled (cluster.interval), or another instance than the first was"
    " asked (job.instance)"
)
_NO_FACTS: Final[BodyAndCode] = encode({"error": NOT_POLLED}), 503
_OFFSETS_TOPIC: Final = "__consumer_offsets"


def cluster_routes(
    current: Callable[[], PublishedCluster | None],
    respond: Callable[[Request, Hashable, Callable[[], BodyAndCode]], Awaitable[Response]],
) -> list[Route]:
    """Return the routes about the cluster. `respond` renders and sends a body, once for concurrent equal keys."""

    async def cluster(request: Request) -> Response:
        published = current()
        return await respond(request, ("cluster", published), lambda: cluster_json(published))

    async def topic(request: Request) -> Response:
        published, name = current(), request.path_params["topic"]
        return await respond(request, ("topic", published, name), lambda: topic_json(published, name))

    return [Route("/api/v1/cluster", cluster), Route("/api/v1/topics/{topic}", topic)]


def cluster_json(published: PublishedCluster | None) -> BodyAndCode:
    """Return brokers, totals, settings, the offsets topic, quorum, reassignments, features, quotas and disks.

    Rendered once per poll and kept with it, so that replacing the poll also frees the response.
    """
    if published is None or published.whole_facts is None:
        return _NO_FACTS
    body = published.responses.get("cluster")
    if body is None:
        body = published.responses["cluster"] = encode(_cluster(published.facts))
    return body, 200


def topic_json(published: PublishedCluster | None, topic: str) -> BodyAndCode:
    """Return one topic with its settings and partitions. Settings are known of topics that groups read."""
    facts = None if published is None else published.whole_facts
    if facts is None:
        return _NO_FACTS
    found = table_rows(rows_where(facts.cluster_topics, topic=topic))
    if not found:
        return encode({"error": "no such topic, or no right to describe it", "topic": topic}), 404
    response: api_types.TopicResponse = {
        "time": rfc3339(facts.taken_at),
        **found[0],
        "bytes": next(iter(rows_where(facts.topic_sizes, topic=topic)["bytes"].to_pylist()), None),
        "configs": _configs(facts, "topic", topic),
        "by_partition": table_rows(rows_where(facts.topic_partitions, topic=topic).drop_columns(["topic"])),
        "followers": table_rows(rows_where(facts.followers, topic=topic).drop_columns(["topic"])),
    }
    return encode(response), 200


def _cluster(facts: ClusterFacts) -> api_types.ClusterResponse:
    is_unknown = SHARE_GROUPS_FACT in facts.unknown_facts["fact"].to_pylist()
    return {
        "time": rfc3339(facts.taken_at),
        "cluster_id": facts.cluster_id,
        "controller": facts.controller,
        "controller_unknown_reason": facts.controller_unknown_reason,
        "brokers": [_broker(facts, broker) for broker in table_rows(facts.brokers)],
        "totals": _totals(facts),
        "offsets_topic": {
            "by_broker": table_rows(facts.offsets_replicas),
            "cleaner_suspect": facts.cleaner_suspect,
            "cleaner_evidence": facts.cleaner_evidence,
            "configs": _configs(facts, "topic", _OFFSETS_TOPIC),
        },
        "quorum": _quorum(facts),
        "reassignments": None if _total(facts, "reassigning_partitions") is None else table_rows(facts.reassignments),
        "versions": _versions(facts),
        "quotas": None if _total(facts, "quotas") is None else list(map(_quota, table_rows(facts.quotas))),
        "disks": table_rows(facts.broker_disks),
        "share_groups": None if is_unknown else table_rows(facts.share_partitions),
        "unknown": table_rows(facts.unknown_facts),
    }


def _quota(row: api_types.QuotaRow) -> api_types.QuotaRow:
    """Return a quota with a value that JSON has: neither NaN nor infinite."""
    value = row["value"]
    return row if value is not None and math.isfinite(value) else {**row, "value": None}


def _quorum(facts: ClusterFacts) -> api_types.QuorumObject | None:
    epoch = _total(facts, "leader_epoch")
    if epoch is None:
        return None
    return {
        "leader_epoch": epoch,
        "high_watermark": _total(facts, "metadata_high_watermark"),
        "voters": _total(facts, "quorum_voters"),
        "voters_behind": _total(facts, "quorum_voters_behind"),
        "replicas": table_rows(facts.quorum_replicas),
    }


def _versions(facts: ClusterFacts) -> api_types.VersionsObject | None:
    if _total(facts, "version_sets") is None:
        return None
    return {
        "features": table_rows(facts.features),
        "by_broker": table_rows(facts.broker_features),
        "mixed": facts.mixed_versions,
    }


def _total(facts: ClusterFacts, name: str) -> int | None:
    """Return a number about the whole cluster; None if it is unknown."""
    return next(iter(facts.cluster_totals[name].to_pylist()), None)


def _broker(facts: ClusterFacts, broker: dict[str, Any]) -> api_types.BrokerObject:
    return {
        **broker,
        "controller": None if facts.controller is None else broker["broker"] == facts.controller,
        "configs": _configs(facts, "broker", str(broker["broker"])),
    }


def _configs(facts: ClusterFacts, scope: str, name: str) -> list[api_types.ConfigRow]:
    return table_rows(rows_where(facts.configs, scope=scope, name=name).drop_columns(["scope", "name"]))


def _totals(facts: ClusterFacts) -> api_types.TotalsObject:
    topics = facts.cluster_topics
    return {
        "topics": len(topics),
        "partitions": pc.sum(topics["partitions"]).as_py() or 0,
        "under_replicated": pc.sum(topics["under_replicated"]).as_py() or 0,
        "leaderless": pc.sum(topics["leaderless"]).as_py() or 0,
    }
