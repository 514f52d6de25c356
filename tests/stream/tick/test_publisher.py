"""The tick: ends after commits, one reference swapped, the last snapshot kept while Kafka is away."""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from exporters.text.exposition import ExpositionFormat
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.errors import Unreachable
from stream.service.catch_up import CatchUpProgress
from stream.service.status import CATCHING_UP, RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick import run_tick as ticks
from stream.tick.publisher import Publisher
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.store import VerdictStore
from tests.support.fleets import World, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pyarrow as pa

    from exporters.text.exposition import PublishedSnapshot
    from stream.cluster.transport.client import Cluster
    from stream.tick.run_tick import TickResult

CLUSTER = cast("Cluster", object())


class Ends:
    """Stands for the cluster's answer: what it was asked for, and what it answers or raises."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows
        self.asked: list[set[str]] = []
        self.error: Unreachable | None = None

    def __call__(self, _cluster: Cluster, topics: Collection[str]) -> pa.Table:
        """Answer like `read_ends`."""
        self.asked.append(set(topics))
        if self.error is not None:
            raise self.error
        return ends_of(self.rows)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Let the publisher ask us instead of a cluster."""
    answer = Ends([("t", 0, 10, 10, 0, None), (NAME, 0, 100, 90, 0, None), (NAME, 1, 5, 5, 0, None)])
    monkeypatch.setattr(ticks, "read_ends", answer)
    return answer


@pytest.fixture
def status() -> ServiceStatus:
    """Give the health of a monitor that has caught up."""
    status = ServiceStatus("1", 60)
    status.phase, status.cluster_id = RUNNING, "c"
    status.progress = CatchUpProgress({0: 80, 1: 5}, {0: 90, 1: 5})
    return status


def ticker_of(publisher: Publisher, status: ServiceStatus) -> Ticker:
    """Return a ticker that polls no context."""
    return Ticker(publisher, status, CLUSTER, cast("Any", None), tick_interval=10, trigger_interval=1)


def tick(publisher: Publisher, status: ServiceStatus) -> TickResult | None:
    """Run one tick."""
    return ticker_of(publisher, status).tick(current=False)


def world_of(offset: int) -> World:
    """Give a world in which g committed this on t-0."""
    world = World()
    world.read([(commit_key("g", "t", 0), commit_value(offset, 1))])
    return world


def test_a_tick_publishes_what_was_applied_before_it(ends: Ends, status: ServiceStatus) -> None:
    """The snapshot holds the commits, their lag, and is asked for just the topics that matter."""
    publisher = Publisher()
    assert publisher.current() is None
    publisher.apply([(0, world_of(4).change)], catching_up=False)
    assert tick(publisher, status) is not None
    published = publisher.current()
    assert published is not None
    assert published.snapshot.partitions.column("lag").to_pylist() == [6]
    assert ends.asked == [{"t", NAME}]
    assert status.monitor_status().ready
    assert status.tick.series == published.exposition.series > 0


def test_the_last_snapshot_stays_while_kafka_is_away(ends: Ends, status: ServiceStatus) -> None:
    """An answer that does not come changes nothing that is published; it is said, and forgotten when it is over."""
    publisher = Publisher()
    publisher.apply([(0, world_of(4).change)], catching_up=False)
    tick(publisher, status)
    before = publisher.current()
    ends.error = Unreachable("broker-1:9092 does not answer", "is it up?")
    assert tick(publisher, status) is None
    assert publisher.current() is before
    assert not status.monitor_status().kafka_reachable
    assert status.monitor_status().ready, "the snapshot is still fresh"
    ends.error = None
    assert tick(publisher, status) is not None
    assert publisher.current() is not before
    assert status.monitor_status().kafka_reachable


@pytest.mark.parametrize("phase", [CATCHING_UP, RUNNING])
def test_an_offsets_partition_without_a_leader_is_a_reason_of_readiness(
    ends: Ends, status: ServiceStatus, phase: str
) -> None:
    """While the catch-up waits for it at once, later when it has lasted; it is over with the first answer."""
    publisher, whole = Publisher(), ends.rows
    tick(publisher, status)
    status.phase, now = phase, time.time()
    ticker = ticker_of(publisher, status)
    look = functools.partial(ticker.tick, current=False) if phase == RUNNING else ticker.poll_offsets_topic
    ends.rows = [*whole[:2], (NAME, 1, None, None, None, "no_leader")]
    look()
    assert any("no leader: 1" in reason for reason in status.monitor_status().not_ready_reasons) is (
        phase == CATCHING_UP
    )
    status.unanswered = [dataclasses.replace(each, since=now - 61) for each in status.unanswered]
    assert "offsets partitions that have no leader: 1" in status.monitor_status().not_ready_reasons
    ends.rows = whole
    look()
    assert not any("no leader" in reason for reason in status.monitor_status().not_ready_reasons)


def test_the_reader_is_held_against_the_offsets_topic(ends: Ends, status: ServiceStatus) -> None:
    """Distance is what could have been read and was not; the gap is what an open transaction holds back."""
    publisher = Publisher()
    tick(publisher, status)
    rows = status.monitor_status().offsets_partitions.to_pylist()
    assert [(row["position"], row["distance"], row["stable_gap"]) for row in rows] == [(80, 10, 10), (5, 0, 0)]
    ends.rows = [(NAME, 0, None, None, None, "no_leader"), (NAME, 1, 4, 4, 0, None)]
    tick(publisher, status)
    rows = status.monitor_status().offsets_partitions.to_pylist()
    assert [(row["position"], row["distance"], row["stable_gap"]) for row in rows] == [(80, None, None), (5, 0, 0)]


def test_positions_are_those_before_the_ends(
    ends: Ends, status: ServiceStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy reader has passed the ends by the time a long tick is over: that is no topic that was cut."""
    progress = status.progress = CatchUpProgress({0: 90, 1: 5}, {0: 90, 1: 5})
    publisher = Publisher()

    def meanwhile(cluster: Cluster, topics: Collection[str]) -> pa.Table:
        found = ends(cluster, topics)
        progress.finish({0: 700})
        return found

    monkeypatch.setattr(ticks, "read_ends", meanwhile)
    looked = tick(publisher, status)
    assert looked is not None
    assert looked.positions == {0: 90, 1: 5}
    assert progress.positions[0] == 700


def test_details_are_those_of_what_is_shown(ends: Ends, status: ServiceStatus) -> None:  # noqa: ARG001 - answers for the cluster
    """Members and history of a group as shown; none before that, for a stranger, and after the grace."""
    publisher = Publisher(dead_grace=3600.0)
    now, world = int(time.time() * 1000), World()
    publisher.apply([(0, world.read([(group_key("g"), group_value(1, ["m"]))], time=now - 3000))], catching_up=False)
    assert publisher.details("g") is None, "nothing is shown yet"
    tick(publisher, status)
    told = publisher.details("g")
    assert told is not None
    assert [member.member_id for member in told.members] == ["m"]
    assert [(each.transition, each.came) for each in told.transitions] == [("created", 0), ("rebalanced", 1)]
    assert publisher.details("stranger") is None

    publisher.apply([(0, world.read([(group_key("g"), None)], time=now - 1000))], catching_up=False)
    tick(publisher, status)
    told = publisher.details("g")
    assert told is not None
    assert (told.members, told.transitions[-1].transition, told.transitions[-1].cause) == ((), "dead", "unknown")
    deaths = {row["cause"]: row["groups"] for row in status.monitor_status().deaths.to_pylist()}
    assert deaths == {"deleted": 0, "expired": 0, "topic deleted": 0, "unknown": 1}

    publisher = Publisher(dead_grace=0.5)
    publisher.seed([(0, world.state)])
    tick(publisher, status)
    assert publisher.details("g") is None


def test_what_is_not_true_any_more_is_not_shown(ends: Ends, status: ServiceStatus, tmp_path: Path) -> None:  # noqa: ARG001 - answers for the cluster
    """After a break in what was read there is neither snapshot nor detail."""
    publisher = Publisher(evaluator=VerdictEvaluator(store=VerdictStore(tmp_path)))
    publisher.apply([(0, world_of(4).change)], catching_up=False)
    tick(publisher, status)
    publisher.clear()
    assert (publisher.current(), publisher.details("g")) == (None, None)
    publisher.save_verdicts()
    assert VerdictStore(tmp_path).read() is None, "nor does the next process hear of it"


def test_verdicts_are_published_and_kept(ends: Ends, status: ServiceStatus, tmp_path: Path) -> None:
    """Snapshot, detail, counters and file tell of the same groups; a detail has what the judge said."""
    publisher = Publisher()
    publisher.evaluate_with(VerdictEvaluator(store=VerdictStore(tmp_path)))
    ends.rows = [("t", 0, 4, 4, 0, None), (NAME, 0, 100, 90, 0, None)]
    publisher.apply([(0, world_of(4).change)], catching_up=False)
    tick(publisher, status)
    published, told = publisher.current(), publisher.details("g")
    assert published is not None
    assert told is not None
    assert told.finding is not None
    shown = published.snapshot.groups.to_pylist()[0]
    assert (shown["verdict"], told.finding.verdict, told.partition_findings) == ("caught_up", "caught_up", ())
    assert [each.verdict for each in told.verdicts] == ["caught_up"]
    assert len(status.monitor_status().verdict_changes) == 20
    assert b'lagwarden_group_verdict{group="g",verdict="caught_up",severity="fine"} 1' in text_of(published)
    publisher.save_verdicts()
    kept = VerdictStore(tmp_path).read()
    assert kept is not None
    assert (kept.rules, list(kept.changes)) == ("lagwarden", ["g"])


def text_of(published: PublishedSnapshot) -> bytes:
    """Give the text of a snapshot."""
    parts = published.exposition.plain(ExpositionFormat.TEXT)
    return b"".join(each for part in parts for each in ((part,) if isinstance(part, bytes) else part))
