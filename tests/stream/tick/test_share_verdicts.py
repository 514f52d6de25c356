"""Share groups through whole ticks: from the facts of a poll to everything that shows a verdict."""

import json
from typing import Any, cast

import pytest

from exporters.catalogue import brokers, topics
from exporters.cluster import model
from exporters.cluster.model import ClusterFacts
from exporters.http.api import topic_groups_json
from exporters.http.openapi.small_world import small_cluster
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.tick import run_tick
from stream.tick.publisher import Publisher
from tests.exporters.snapshots import table
from tests.stream.groups import written
from tests.support.driver_states import ShardReader, ends_of

CLUSTER = cast("Cluster", object())
BEGIN = 1_700_000_000
NUMBERS = ("partitions", "lag_sum", "lag_max", "partitions_lag_unknown")


def polled(
    minute: int, *lags: int | None, unknown: str | None = None, finished: int = 0, partitions: int | None = None
) -> ClusterFacts:
    """Return the facts of a poll at that minute: group `g` with these lags in the partitions of `orders`.

    `partitions` is the number of all partitions of the group; None means these.
    """
    known = {"group": "g", "topic": "orders", "start_offset": 10, "finished": finished}
    zeros = dict.fromkeys(("returned", "acknowledged", "archived", "returns"), 0)
    rows = [{**known, **zeros, "partition": partition, "lag": lag} for partition, lag in enumerate(lags)]
    reasons = [{"fact": model.SHARE_GROUPS_FACT, "reason": unknown, "amount": 1}] if unknown else []
    return small_cluster(
        taken_at=BEGIN + 60.0 * minute,
        share_partitions=table(topics.SHARE_PARTITIONS.schema, rows),
        share_groups=table(
            topics.SHARE_GROUPS.schema, [{"group": "g", "partitions": partitions or len(rows), "lag": None}]
        ),
        share_reads=table(topics.SHARE_READS.schema, [] if unknown else [{"read_time": (BEGIN + 60 * minute) * 1000}]),
        unknown_facts=table(brokers.UNKNOWN_FACTS.schema, reasons),
    )


class Monitor:
    """A publisher with a share group of one member, ticked by hand."""

    def __init__(self) -> None:
        shard = ShardReader()
        shard.read([written.group_epoch(2, kind=11), written.sharer("m", "orders")], BEGIN * 1000)
        self.publisher = Publisher()
        self.publisher.apply([(0, shard.change)], catching_up=False)
        self.facts: ClusterFacts | None = None
        self.publisher.read_polls(lambda: self.facts)

    def tick(self, found: ClusterFacts | None) -> dict[str, Any]:
        self.facts = found
        self.publisher.tick(CLUSTER)
        self.publisher.finish_tick()
        (row,) = self.published.snapshot.with_sentences(self.published.snapshot.groups).to_pylist()
        return dict(row)

    @property
    def published(self) -> PublishedSnapshot:
        """Return what the last tick published."""
        published = self.publisher.current()
        assert published is not None
        return published

    def metrics(self) -> str:
        """Return the metrics about groups as text."""
        parts = self.published.exposition.plain(ExpositionFormat.TEXT)
        return b"".join(each for part in parts for each in ((part,) if isinstance(part, bytes) else part)).decode()

    def readers(self, topic: str) -> list[dict[str, Any]]:
        """Return the groups that read a topic, as the API has them."""
        answer = json.loads(topic_groups_json(self.published.snapshot, topic))
        return cast("list[dict[str, Any]]", answer["groups"])


@pytest.fixture
def monitor(monkeypatch: pytest.MonkeyPatch) -> Monitor:
    """Return a monitor of a cluster that answers the request for end offsets."""
    monkeypatch.setattr(run_tick, "read_ends", lambda *_: ends_of([(NAME, 0, 100, 100, 0, None)]))
    return Monitor()


def test_a_stopped_share_group_is_shown_everywhere(monitor: Monitor) -> None:
    """Table, metrics, legend, finding with evidence, findings of partitions, and history show the verdict."""
    assert monitor.tick(polled(0, 40, 7, 0))["verdict"] == "unknown"
    row = monitor.tick(polled(5, 40, 7, 0))
    assert (row["verdict"], row["severity"], row["verdict_partitions"]) == ("share_stopped", "critical", 2)
    assert row["sentence"].startswith("orders-0: The group has 1 member, but no record was")
    assert 'lagwarden_group_verdict{group="g",verdict="share_stopped",severity="critical"} 1' in monitor.metrics()
    legend = {each["verdict"]: each for each in monitor.published.snapshot.verdict_groups.to_pylist()}
    assert (legend["share_stopped"]["groups"], legend["share_stopped"]["severity"]) == (1, "critical")
    detail = monitor.publisher.details("g")
    assert detail is not None
    assert detail.finding is not None
    assert detail.finding.evidence["lag"] == 40
    assert detail.finding.sentence == row["sentence"]
    assert detail.share_progress_time == BEGIN + 300
    assert [(each.partition, each.lag, each.start_offset, each.verdict) for each in detail.share_partitions or ()] == [
        (0, 40, 10, "share_stopped"),
        (1, 7, 10, "share_stopped"),
        (2, 0, 10, "caught_up"),
    ]
    assert [(topic, partition, each.verdict) for topic, partition, each in detail.partition_findings] == [
        ("orders", 0, "share_stopped"),
        ("orders", 1, "share_stopped"),
    ]
    assert [each.verdict for each in detail.verdicts] == ["share_stopped"]


def test_a_share_group_has_its_lag_and_its_topics(monitor: Monitor) -> None:
    """The lag is the number of known records that are not finished; a topic has its own verdict.

    `lagwarden_share_group_lag` has that lag; a sum of `lagwarden_group_lag` is a sum of offsets.
    """
    monitor.tick(polled(0, 40, 7, None, 0))
    row = monitor.tick(polled(5, 40, 7, None, 0))
    assert {name: row[name] for name in NUMBERS} == dict(zip(NUMBERS, (4, 47, 40, 1), strict=True))
    (reader,) = monitor.readers("orders")
    assert {name: reader[name] for name in NUMBERS} == dict(zip(NUMBERS, (4, 47, 40, 1), strict=True))
    assert (reader["group"], reader["group_severity"], reader["verdict"]) == ("g", "critical", "share_stopped")
    assert monitor.readers("others") == []
    text = monitor.metrics()
    assert 'lagwarden_group_members{group="g"} 1' in text
    for name in ("group_lag", "group_lag_max", "group_partitions", "group_topic_lag"):
        assert f'lagwarden_{name}{{group="g"' not in text


def test_a_share_group_with_unknown_progress_is_listed_for_its_topic(monitor: Monitor) -> None:
    """The topic follows from the subscription of the members or from known partitions; the row has no numbers.

    The verdict is unknown, and its sentence has the reason of the poll, if there is one.
    """
    stories = {
        "not known here.": None,
        "(not_authorized)": polled(0, unknown="not_authorized"),
        "": polled(1, 40, partitions=2),
    }
    for reason, found in stories.items():
        row = monitor.tick(found)
        assert {row[name] for name in NUMBERS} == {None}
        assert (row["verdict"], row["severity"]) == ("unknown", "unknown")
        assert reason in row["sentence"]
        (reader,) = monitor.readers("orders")
        assert {reader[name] for name in (*NUMBERS, "verdict")} == {None}
