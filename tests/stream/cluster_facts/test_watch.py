"""Tests of the watch thread: polls, failures, missing rights and stop."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from exporters.catalogue import brokers, topics
from exporters.cluster import model
from exporters.cluster.model import ClusterFacts
from exporters.http.openapi.small_world import small_cluster
from exporters.readmodel import Snapshot
from exporters.text.exposition import PublishedSnapshot
from sandbox.waiting import wait_until
from stream.cluster_facts.poll import PollOptions
from stream.cluster_facts.watch import ClusterWatch
from stream.config.loader import load
from stream.groups.placement import InstancePart
from tests.exporters.snapshots import table
from tests.support.scripted_cluster import AWAY


class Polls:
    """A fake ClusterPoll: each poll returns or raises the next result, and repeats the last one."""

    def __init__(self, *outcomes: ClusterFacts | Exception) -> None:
        self.looks: list[Snapshot | None] = []
        self.last = outcomes[-1]
        self._first = list(outcomes[:-1])

    def poll(self, groups: Snapshot | None, _now: float) -> ClusterFacts:
        self.looks.append(groups)
        outcome = self._first.pop(0) if self._first else self.last
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def poll_share_groups(self, now: float) -> ClusterFacts:
        """Return or raise the next result without the facts about the cluster."""
        return self.poll(None, now).only_share_groups()


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that creates a watch of scripted polls, with short pauses."""
    monkeypatch.setattr("stream.cluster_facts.watch._SOON_SECONDS", 0.01)

    def make(
        polls: Polls, published: PublishedSnapshot | None = None, interval: float = 0.01, **options: Any
    ) -> ClusterWatch:
        monkeypatch.setattr("stream.cluster_facts.watch.ClusterPoll", lambda *_, **__: polls)
        return ClusterWatch(contextlib.nullcontext, lambda: published, interval, options=PollOptions(**options))  # type: ignore[arg-type]

    return make


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def test_the_first_of_several_instances_has_the_facts(watching: Any) -> None:
    """Only the first instance has the common facts, so that sums count them once. Each instance has share groups."""
    seen = small_cluster()
    first, other = (watching(Polls(seen), part=InstancePart(index, 2)) for index in (0, 1))
    for watch, whole in ((first, seen), (other, None)):
        with watch:
            wait_until(lambda watch=watch: watch.current() is not None, "a poll")  # type: ignore[misc]
            published = watch.current()
        assert (published.whole_facts and published.whole_facts.brokers) is (whole and whole.brokers)
        assert published.facts.share_groups == seen.share_groups
    metrics = {family.metric.name for family in other.current().exposition.families}
    assert {"lagwarden_share_group_lag", "lagwarden_share_partition_lag"} <= metrics
    assert all(name.startswith("lagwarden_share_") for name in metrics)


def test_share_groups_are_polled_more_often_than_the_cluster(watching: Any) -> None:
    """Between two polls their progress is read twice; the other facts, and what of them is unknown, stay.

    Without share groups, and after a failed poll, nothing is read.
    """
    groups = table(topics.SHARE_GROUPS.schema, [{"group": "later", "partitions": 1, "lag": 7}])
    seen, later = small_cluster(), small_cluster(share_groups=groups, brokers=brokers.BROKERS.schema.empty_table())
    none = small_cluster(share_groups=topics.SHARE_GROUPS.schema.empty_table())
    for first, second, looks, shows in (
        (seen, later, 3, groups),
        (none, later, 1, none.share_groups),
        (seen, AWAY, 2, seen.share_groups),
    ):
        polls = Polls(first, second)
        watch = watching(polls)
        watch._poll_once(lambda polls=polls, watch=watch: watch._polled(polls))
        watch._poll_share_groups_until_next(polls)
        shown = watch.current().facts
        assert len(polls.looks) == looks
        assert (shown.brokers, shown.share_groups) == (seen.brokers, shows)
        assert shown.unknown_facts.sort_by("amount") == seen.unknown_facts.sort_by("amount")


def test_share_groups_stay_longer_than_the_other_facts(watching: Any) -> None:
    """The share groups alone stay after the third failure in a row, until their own limit."""
    seen = small_cluster(
        taken_at=time.time(), share_reads=table(topics.SHARE_READS.schema, [{"read_time": int(time.time() * 1000)}])
    )
    for kept, share_groups in ((600.0, seen.share_groups), (0.0, None)):
        polls = Polls(seen, AWAY)
        with watching(polls, share_kept_seconds=kept) as watch:
            wait_until(lambda watch=watch: watch._failed > 3, "failures")  # type: ignore[misc]
            published = watch.current()
        assert (None if published is None else published.facts.share_groups) == share_groups
        assert published is None or published.whole_facts is None


SHOWN = ("cleanup.policy", "max.message.bytes", "min.insync.replicas", "retention.bytes", "retention.ms")


def test_the_configuration_decides_what_is_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option names the settings of topics that have series, and hidden members hide the clients of quotas."""
    made: list[Any] = []

    def poll(_: Any, options: PollOptions) -> Polls:
        made.append((options.topic_settings, options.hide_clients))
        return Polls(small_cluster())

    monkeypatch.setattr("stream.cluster_facts.watch.ClusterPoll", poll)
    monkeypatch.setattr("stream.cluster_facts.watch.Cluster", lambda *_, **__: contextlib.nullcontext())
    chosen = {"cluster.topic_settings": "segment.ms, retention.ms", "http.hide_members": "true"}
    for flags, wanted in (({}, (SHOWN, False)), (chosen, (("segment.ms", "retention.ms"), True))):
        made.clear()
        with ClusterWatch.from_config(load(flags={"kafka.bootstrap_servers": "b:9092", **flags}), lambda: None):
            wait_until(lambda: bool(made), "the poll")
        assert made == [wanted]


def test_old_facts_are_dropped(watching: Any, logged: list[Any]) -> None:
    """The facts stay for two failed polls, are dropped with one line after the third, and return with a good one."""
    polls = Polls(small_cluster(), AWAY, AWAY, small_cluster(), AWAY)
    with watching(polls) as watch:
        wait_until(lambda: watch.current() is None and len(polls.looks) > 4, "the end of what was seen")
        assert len(polls.looks) >= 4 + 3
        polls.last = small_cluster()
        wait_until(lambda: watch.current() is not None, "the cluster to be back")
    lost = [line for line in logged if line["event"] == "cluster facts discarded"]
    assert [line["cause"] for line in lost] == [str(AWAY)]


def test_no_failure_ends_the_watch(watching: Any) -> None:
    """The next poll is made after any error of a poll."""
    for error in (AWAY, ValueError("an unexpected answer")):
        with watching(Polls(error, error, small_cluster())) as watch:
            wait_until(lambda watch=watch: watch.current() is not None, "the poll after two failures")  # type: ignore[misc]


def test_a_missing_right_is_named_once(watching: Any, logged: list[Any]) -> None:
    """One line names the right to grant for any number of refusals, or the fact if it has no entry among the rights.

    An unreachable fact names no right. The ACL to read the topic of share groups is optional: the polls go on.
    """
    several = [("controller", 1), ("offsets topic size", 3), ("topic setting", 7)]
    others = [("broker setting", "unreachable"), ("partition series", "not_shown")]
    cases: list[tuple[list[tuple[str, int]], list[str]]] = [
        (several, ["Describe on the cluster", "DescribeConfigs on topic *"]),
        ([(model.SHARE_GROUPS_FACT, 1)], ["Read on topic __share_group_state"]),
        ([("a new fact", 1)], ["the right to read: a new fact"]),
    ]
    for denied, grants in cases:
        logged.clear()
        rows = [{"fact": fact, "reason": "not_authorized", "amount": amount} for fact, amount in denied]
        rows += [{"fact": fact, "reason": reason, "amount": 7} for fact, reason in others]
        polls = Polls(small_cluster(unknown_facts=table(brokers.UNKNOWN_FACTS.schema, rows)))
        with watching(polls) as watch:
            wait_until(lambda polls=polls: len(polls.looks) > 3, "some polls")  # type: ignore[misc]
            assert watch.current() is not None
        assert [line["grant"] for line in logged] == [grants]


def test_a_connection_that_fails_is_logged(logged: list[Any]) -> None:
    """The cause is logged, and there are no facts."""

    def connect() -> Any:
        raise ValueError("no such file")

    with ClusterWatch(connect, lambda: None, 60) as watch:
        wait_until(lambda: bool(logged), "the line")
    assert (watch.current(), logged[0]["cause"]) == (None, "no such file")


def test_a_poll_that_hangs_does_not_delay_the_stop(watching: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stop does not wait for a broker that does not answer."""
    monkeypatch.setattr("stream.cluster_facts.watch._STOP_SECONDS", 0.05)
    entered, released = threading.Event(), threading.Event()

    class Hanging(Polls):
        def poll(self, groups: Snapshot | None, now: float) -> ClusterFacts:
            entered.set()
            released.wait(30)
            return super().poll(groups, now)

    with watching(Hanging(small_cluster())):
        assert entered.wait(30)
    assert not released.is_set()
    released.set()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "cluster-watch"], "the thread's end")
