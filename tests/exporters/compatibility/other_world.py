"""A cluster for the metrics of the other exporters: groups in several states, and facts about brokers and a topic.

The values of `snapshot_at` change with its second, so that rates and differences have values.
"""

import dataclasses
import pathlib
from typing import Any

import yaml

from exporters.catalogue import brokers as broker_tables
from exporters.catalogue import topics
from exporters.cluster.exposition import PublishedCluster, join_expositions
from exporters.cluster.model import ClusterFacts
from exporters.compatibility.selection import OtherSelection
from exporters.http.openapi.small_world import NOON, rows, small_cluster
from exporters.readmodel import COMPATIBILITY, PARTITIONS, Snapshot
from exporters.selection.series import SeriesSelection, SeriesSelector
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.exposition_text import plain_text
from tests.exporters.snapshots import snapshot, table

PUBLISHED = pathlib.Path(__file__).parent / "published"
_FIRST = ("m-1", "reader", "/10.0.0.1")
_SECOND = ("m-2", "reader", "/10.0.0.2")
_LEADER_SECONDS = 30
# One partition of `testtopic1` is not read by any group.
_PARTITIONS = {"shop-activity": 3, "payments": 1, "testtopic": 2, "incomplete": 2, "testtopic1": 2}
NAMES = ("kafka_exporter", "kafka_lag_exporter", "kminion", "burrow_exporter", "burrow")


def published(name: str) -> dict[str, Any]:
    """Return what an exporter publishes: its project, its metrics with their labels, queries and rules."""
    return yaml.safe_load((PUBLISHED / f"{name}.yaml").read_text("utf-8"))


def compatible_snapshot(places: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None) -> Snapshot:
    """Return the snapshot of partitions with the columns of PARTITIONS and COMPATIBILITY; missing ones are null.

    The log of a partition with a known end starts at offset 3, or at its end.
    """
    ends = {(row["topic"], row["partition"]): row.get("high_watermark") for row in places}
    names = sorted({row["group"] for row in places})
    made = snapshot(
        partitions=[{name: row[name] for name in row if name in PARTITIONS.names} for row in places],
        groups=[{"group": name} for name in names] if groups is None else groups,
        log_ends=rows(
            "topic partition high_watermark log_start_offset",
            *((*place, end, end and min(end, 3)) for place, end in sorted(ends.items())),
        ),
    )
    more = [{name: row.get(name) for name in COMPATIBILITY.names} for row in places]
    return dataclasses.replace(made, compatibility=table(COMPATIBILITY, more))


def snapshot_at(second: int = 0) -> Snapshot:
    """Return the groups at a second."""
    readers = {"protocol": "range", "protocol_type": "consumer"}
    return compatible_snapshot(
        [
            _place("bigquery-sink", "shop-activity", 0, 100 + second, 200 + 2 * second, owner=(0, *_FIRST)),
            _place("bigquery-sink", "shop-activity", 1, 70 + second, 75 + second, owner=(1, *_SECOND), status="WARN"),
            # Assigned, but never committed.
            _place("bigquery-sink", "shop-activity", 2, None, 7, owner=(1, *_SECOND), status=None),
            _place("consumergroup-A", "payments", 0, 10, 500, time_lag=400.0, status="STOP", complete=True),
            # The commit is beyond the end: the topic was truncated.
            _place("lost", "payments", 0, 600, 500),
            _place("rewinder", "payments", 0, 400 - second, 500, status="REWIND"),
            # The cluster returned no offsets.
            _place("silent", "unreachable", 0, 5, None, time_lag=None),
            _place("testgroup", "incomplete", 0, 5335, 5335),
            _place("testgroup", "incomplete", 1, 99888, 99898, complete=True),
            _place("testgroup", "testtopic", 0, 22663, 22763, complete=True),
            _place("testgroup", "testtopic", 1, 2488, 2498, complete=True),
            _place("testgroup", "testtopic1", 0, 99888, 99938, complete=True),
        ],
        [
            _group("bigquery-sink", "Stable", members=3, members_idle=1, commits=40 + 2 * second, **readers),
            _group("consumergroup-A", "Empty", members=0),
            _group("gone", "Dead", died_time=NOON, death_cause="expired"),
            _group("lost", None),
            _group("plain", None),
            _group("rewinder", "Stable", members=1, members_idle=0, **readers),
            _group("silent", None),
            _group("testgroup", None),
        ],
    )


def facts_at(second: int = 0) -> ClusterFacts:
    """Return two brokers and the topic shop-activity, whose second partition has one replica in sync.

    The leader of the first partition changes every half minute.
    """
    base = small_cluster()
    partition = {name: column[0] for name, column in base.partitions_shown.to_pydict().items()}
    partition |= {"topic": "shop-activity", "in_sync_replicas": 1}
    shown = [
        partition | {"partition": 0, "leader": 1 + second // _LEADER_SECONDS % 2},
        partition | {"partition": 1, "leader": None, "under_replicated": True, "preferred_leader": False},
    ]
    topic = base.cluster_topics.to_pylist()[0] | {"topic": "shop-activity", "partitions": 3}
    policy = {"scope": "topic", "name": "shop-activity", "key": "cleanup.policy", "value": "compact", "source": "x"}
    brokers = [row | {"rack": "europe-west1-b"} for row in base.brokers.to_pylist()]
    return dataclasses.replace(
        base,
        brokers=table(broker_tables.BROKERS.schema, brokers),
        cluster_topics=table(topics.CLUSTER_TOPICS.schema, [topic]),
        configs=table(broker_tables.CONFIGS.schema, [*base.configs.to_pylist(), policy]),
        partitions_shown=table(topics.TOPIC_PARTITIONS.schema, shown),
        topic_sizes=table(broker_tables.TOPIC_SIZES.schema, [{"topic": "shop-activity", "bytes": 4096}]),
    )


def exposition_text(other: str, second: int = 0) -> str:
    """Return the lines of `/metrics` under the names of an exporter."""
    selection = SeriesSelection(compatibility=OtherSelection((other,), published(other).get("cluster", "kafka")))
    of_groups = PublishedSnapshot.build(snapshot_at(second), SeriesSelector(selection)).exposition
    of_cluster = PublishedCluster.build(facts_at(second), selection).exposition
    text = plain_text(join_expositions(of_groups, of_cluster))
    return "".join(line for line in text.splitlines(keepends=True) if "lagwarden_" not in line)


def _place(
    group: str,
    topic: str,
    partition: int,
    committed: int | None,
    end: int | None,
    *,
    owner: tuple[int, str, str, str] | None = None,
    status: str | None = "OK",
    complete: bool = False,
    time_lag: float | None = 2.5,
) -> dict[str, Any]:
    number, member, client, host = owner or (None, None, None, None)
    has_commit = committed is not None
    return {
        "group": group,
        "topic": topic,
        "partition": partition,
        "committed_offset": committed,
        "high_watermark": end,
        "time_lag": time_lag if has_commit else None,
        "owner": number,
        "member_id": member,
        "client_id": client,
        "client_host": host,
        "burrow_status": status if has_commit else None,
        "burrow_complete": complete if has_commit else None,
        "topic_partitions": _PARTITIONS.get(topic),
    }


def _group(name: str, state: str | None, **more: Any) -> dict[str, Any]:
    return {"group": name, "kind": "classic" if state else "simple", "state": state, **more}
