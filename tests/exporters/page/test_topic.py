"""The page of one topic."""

import dataclasses
import urllib.parse
from typing import Any

from exporters.catalogue import brokers
from exporters.http.openapi.small_world import NOON, small_cluster
from exporters.page.topic import topic_page
from exporters.page.ui import topic_link
from exporters.readmodel import LOG_ENDS, TOPICS, VERDICT_GROUPS, Snapshot
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import HOSTILE_NAMES, small_snapshot, snapshot, table

NOW = NOON / 1000 + 5
SEVERITIES = [{"verdict": "ok", "severity": "fine"}, {"verdict": "stopped", "severity": "critical"}]


def world(*partitions: dict[str, Any], topics: list[dict[str, Any]], ends: list[dict[str, Any]]) -> Snapshot:
    """Return a snapshot with these rows; all groups are stable."""
    groups = [{"group": row["group"], "state": "Stable", "team": "payments"} for row in topics]
    return dataclasses.replace(
        snapshot(list(partitions), groups),
        topics=table(TOPICS, topics),
        log_ends=table(LOG_ENDS, ends),
        verdict_groups=table(VERDICT_GROUPS, SEVERITIES),
    )


ORDERS = world(
    {"group": "a", "topic": "orders", "partition": 0, "lag": 30},
    {"group": "b", "topic": "orders", "partition": 0, "lag": 95},
    {"group": "b", "topic": "orders", "partition": 1, "lag": None},
    {"group": "b", "topic": "other", "partition": 1, "lag": 7},
    topics=[
        {"group": "a", "topic": "orders", "partitions": 1, "lag_sum": 30, "lag_max": 30, "verdict": "ok"},
        {"group": "b", "topic": "orders", "partitions": 2, "lag_sum": 95, "lag_max": 95, "verdict": "stopped"},
        {"group": "c", "topic": "other", "partitions": 2, "lag_sum": 7, "lag_max": 7, "verdict": "ok"},
    ],
    ends=[
        {"topic": "orders", "partition": 0, "high_watermark": 1_100, "log_start_offset": 1_000},
        {"topic": "orders", "partition": 1, "high_watermark": 5, "log_start_offset": 5},
        {"topic": "other", "partition": 1, "high_watermark": 8, "log_start_offset": 0},
    ],
)


def read(name: str, data: Snapshot = ORDERS) -> Reader:
    return Reader(topic_page(PublishedSnapshot.build(data), name, None, NOW, root="./").html())


def test_the_groups_of_a_topic_are_shown_the_worst_first() -> None:
    """Each has its numbers of this topic only. A group that is critical in another topic makes no red icon."""
    page = read("orders")
    assert [row[:4] for row in page.tables["Groups"][1:]] == [["b", "stopped", "95", "95"], ["a", "ok", "30", "30"]]
    assert {"group?name=a", "group?name=b"} <= set(page.links)
    assert "group?name=c" not in page.links
    assert page.tables["Groups"][1][-2:] == ["Stable", "payments"]
    published = PublishedSnapshot.build(ORDERS)
    pages = [topic_page(published, name, None, NOW, root="./") for name in ("orders", "other")]
    assert [page.alarm for page in pages] == [True, False]


def test_partitions_show_how_much_of_the_kept_log_is_unread() -> None:
    """The share is that of the slowest group; it is unknown if nothing is kept or no lag is known."""
    assert read("orders").tables["Partitions"][1:] == [
        ["0", "1,000", "1,100", "100", "95", "95 %", "b"],
        ["1", "5", "5", "0", "unknown", "unknown", "\N{EN DASH}"],
    ]


def test_settings_are_in_words() -> None:
    """Durations and sizes are shown in words with the exact value as their title, and other values as they are."""
    for key, value, shown in (
        ("retention.ms", "604800000", '<span title="604800000 ms">7 d</span>'),
        ("retention.bytes", "-1", '<span title="-1">no limit</span>'),
        ("retention.ms", "-1", '<span title="-1">no limit</span>'),
        ("segment.bytes", "1073741824", '<span title="1073741824 bytes">1 GiB</span>'),
        ("cleanup.policy", "compact", "compact"),
        ("retention.bytes", "odd", "odd"),
    ):
        row = {"scope": "topic", "name": "orders", "key": key, "value": value, "source": "default_config"}
        known = dataclasses.replace(small_cluster(), configs=table(brokers.CONFIGS.schema, [row]))
        document = topic_page(PublishedSnapshot.build(ORDERS), "orders", known, NOW, root="./").html().decode()
        assert f"<dt>{key}</dt><dd>{shown}</dd>" in document


def test_the_page_has_the_facts_of_the_cluster() -> None:
    """The page has partitions, replication and configuration, also of a topic that no group reads."""
    published = PublishedSnapshot.build(snapshot())
    page = Reader(topic_page(published, "orders", small_cluster(), NOW, root="./").html())
    assert "Replication factor" in page.text
    assert "No group reads this topic." in page.text


def test_only_a_known_topic_of_any_name_has_a_page() -> None:
    """Else it is 404 with the name, or 503 before the first snapshot. Link and page have the exact name, as text."""
    missing = topic_page(PublishedSnapshot.build(small_snapshot()), "nowhere", small_cluster(), NOW, root="./")
    assert missing.code == 404
    assert "No group reads a topic named nowhere." in Reader(missing.html()).text
    assert topic_page(None, "nowhere", None, NOW, root="./").code == 503
    for name in HOSTILE_NAMES:
        query = urllib.parse.parse_qs(topic_link(name).attributes["href"].partition("?")[2], keep_blank_values=True)
        assert query == {"name": [name]}
        page = read(name, world(topics=[{"group": "g", "topic": name, "partitions": 1}], ends=[]))
        assert page.tags["script"] == 1
        assert page.tables["Groups"][1][0] == "g"
