"""The cluster's facts as JSON: `/api/v1/cluster` and `/api/v1/topics/NAME`. Fields are called like the model's columns.

What is not known is `null`, with a reason beside it. Until the first poll, and where it is turned off, the answer is
503: never a number that is not known.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc
from starlette.routing import Route

from exporters.http.api import encode, moment, rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    import pyarrow as pa
    from starlette.requests import Request
    from starlette.responses import Response

    from exporters.cluster.exposition import PublishedCluster
    from exporters.cluster.model import ClusterFacts

Answer = tuple[bytes, int]
"""A body and its status code."""

_OFFSETS_TOPIC: Final = "__consumer_offsets"


def cluster_routes(
    current: Callable[[], PublishedCluster | None],
    respond: Callable[[Request, Hashable, Callable[[], Answer]], Awaitable[Response]],
) -> list[Route]:
    """Return the addresses of the cluster's facts; `respond` sends what a function gives, once for equal keys."""

    async def cluster(request: Request) -> Response:
        published = current()
        return await respond(request, ("cluster", published), lambda: cluster_answer(published))

    async def topic(request: Request) -> Response:
        published, name = current(), request.path_params["topic"]
        return await respond(request, ("topic", published, name), lambda: topic_answer(published, name))

    return [Route("/api/v1/cluster", cluster), Route("/api/v1/topics/{topic}", topic)]


def cluster_answer(published: PublishedCluster | None) -> Answer:
    """Give brokers, controller, totals, settings of brokers and of the offsets topic, and that topic's sizes."""
    return _not_polled() if published is None else (_cluster_json(published), 200)


def topic_answer(published: PublishedCluster | None, topic: str) -> Answer:
    """Give one topic with its settings and partitions; settings are asked of topics that groups read."""
    if published is None:
        return _not_polled()
    facts = published.facts
    found = rows(_where(facts.cluster_topics, topic=topic))
    if not found:
        return encode({"error": "no such topic, or no right to describe it", "topic": topic}), 404
    return (
        encode(
            {
                "time": moment(facts.taken_at),
                **found[0],
                "configs": rows(_where(facts.configs, scope="topic", name=topic).drop_columns(["scope", "name"])),
                "by_partition": rows(_where(facts.topic_partitions, topic=topic).drop_columns(["topic"])),
            }
        ),
        200,
    )


@functools.lru_cache(maxsize=1)
def _cluster_json(published: PublishedCluster) -> bytes:
    facts = published.facts
    of_brokers = _where(facts.configs, scope="broker")
    of_offsets = _where(facts.configs, scope="topic", name=_OFFSETS_TOPIC).drop_columns(["scope", "name"])
    return encode(
        {
            "time": moment(facts.taken_at),
            "cluster_id": facts.cluster_id,
            "controller": facts.controller,
            "controller_unknown_reason": facts.controller_unknown_reason,
            "brokers": [
                {
                    **broker,
                    "controller": None if facts.controller is None else broker["broker"] == facts.controller,
                    "configs": rows(_where(of_brokers, name=str(broker["broker"])).drop_columns(["scope", "name"])),
                }
                for broker in rows(facts.brokers)
            ],
            "totals": _totals(facts),
            "offsets_topic": {
                "by_broker": rows(facts.offsets_replicas),
                "cleaner_suspect": facts.cleaner_suspect,
                "cleaner_evidence": facts.cleaner_evidence,
                "configs": rows(of_offsets),
            },
            "unknown": rows(facts.unknown_facts),
        }
    )


def _totals(facts: ClusterFacts) -> dict[str, Any]:
    topics = facts.cluster_topics
    sums = {name: pc.sum(topics[name]).as_py() or 0 for name in ("partitions", "under_replicated", "leaderless")}
    return {"topics": len(topics), **sums}


def _where(table: pa.Table, **wanted: str) -> pa.Table:
    for name, value in wanted.items():
        table = table.filter(pc.equal(table[name], value))
    return table


def _not_polled() -> Answer:
    return encode({"error": "the cluster's facts are not known yet, or turned off (cluster.interval)"}), 503
