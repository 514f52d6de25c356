"""Tests of the watch thread: polls, failures, missing rights and stop."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from exporters.cluster import model
from exporters.text.exposition import PublishedSnapshot
from sandbox.waiting import wait_until
from stream.cluster_facts.watch import ClusterWatch
from stream.config.loader import load
from stream.groups.instances import InstanceShare
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import snapshot, table
from tests.support.scripted_cluster import AWAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporters.cluster.model import ClusterFacts
    from exporters.readmodel import Snapshot


class Polls:
    """A fake ClusterPoll: each poll returns or raises the next result, and repeats the last one."""

    def __init__(self, *outcomes: ClusterFacts | Exception) -> None:
        self.looks: list[Snapshot | None] = []
        self.last = outcomes[-1]
        self._first = list(outcomes[:-1])

    def poll(self, groups: Snapshot | None, _now: float) -> ClusterFacts:
        """Return or raise the next result."""
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
        return ClusterWatch(contextlib.nullcontext, lambda: published, interval, 100, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    """Return the log lines."""
    with structlog.testing.capture_logs() as lines:
        yield lines


def test_the_result_of_a_poll_is_published(watching: Any) -> None:
    """The result has its series, and the poll receives the snapshot of groups."""
    groups = PublishedSnapshot.build(snapshot([{"group": "g", "topic": "t", "partition": 0}]))
    seen = facts()
    polls = Polls(seen)
    with watching(polls, groups) as watch:
        wait_until(lambda: len(polls.looks) > 2, "three polls")
        published = watch.current()
    assert (published.facts, polls.looks[0]) == (seen, groups.snapshot)
    assert published.exposition.series > 0


def test_the_first_of_several_instances_has_the_facts(watching: Any) -> None:
    """Only the first instance has the common facts, so that sums count them once. Each instance has share groups."""
    seen = facts()
    first, other = (watching(Polls(seen), share=InstanceShare(index, 2)) for index in (0, 1))
    for watch, whole in ((first, seen), (other, None)):
        with watch:
            wait_until(lambda watch=watch: watch.current() is not None, "a poll")  # type: ignore[misc]
            published = watch.current()
        assert published.whole_facts is whole
        assert published.facts.share_groups == seen.share_groups
    metrics = {family.metric.name for family in other.current().exposition.families}
    assert {"lagwarden_share_group_lag", "lagwarden_share_partition_lag"} <= metrics
    assert all(name.startswith("lagwarden_share_") for name in metrics)


def test_share_groups_stay_longer_than_the_other_facts(watching: Any) -> None:
    """The share groups alone stay after the third failure in a row, until their own limit."""
    seen = facts(taken_at=time.time(), share_reads=table(model.SHARE_READS, [{"read_time": int(time.time() * 1000)}]))
    for kept, share_groups in ((600.0, seen.share_groups), (0.0, None)):
        polls = Polls(seen, AWAY)
        with watching(polls, share_kept_seconds=kept) as watch:
            wait_until(lambda watch=watch: watch._failed > 3, "failures")  # type: ignore[misc]
            published = watch.current()
        assert (None if published is None else published.facts.share_groups) == share_groups
        assert published is None or published.whole_facts is None


@pytest.mark.parametrize("hide", [False, True])
def test_hidden_members_hide_the_clients_of_quotas(monkeypatch: pytest.MonkeyPatch, *, hide: bool) -> None:
    """Quotas name users and clients, so the option of the HTTP server decides whether they are read."""
    made: list[bool] = []

    def poll(*_: Any, hide_clients: bool, **__: Any) -> Polls:
        made.append(hide_clients)
        return Polls(facts())

    monkeypatch.setattr("stream.cluster_facts.watch.ClusterPoll", poll)
    monkeypatch.setattr("stream.cluster_facts.watch.Cluster", lambda *_, **__: contextlib.nullcontext())
    flags = {"kafka.bootstrap_servers": "b:9092", "http.hide_members": str(hide).lower()}
    with ClusterWatch.from_config(load(flags=flags), lambda: None):
        wait_until(lambda: bool(made), "the poll")
    assert made == [hide]


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        pytest.param(
            {},
            ("cleanup.policy", "max.message.bytes", "min.insync.replicas", "retention.bytes", "retention.ms"),
            id="the default",
        ),
        pytest.param(
            {"cluster.topic_settings": "segment.ms, retention.ms"}, ("segment.ms", "retention.ms"), id="chosen"
        ),
    ],
)
def test_the_chosen_settings_of_topics_are_polled(
    monkeypatch: pytest.MonkeyPatch, flags: dict[str, str], shown: tuple[str, ...]
) -> None:
    """The option names the settings of topics that have series."""
    made: list[tuple[str, ...]] = []

    def poll(*_: Any, topic_settings: tuple[str, ...], **__: Any) -> Polls:
        made.append(topic_settings)
        return Polls(facts())

    monkeypatch.setattr("stream.cluster_facts.watch.ClusterPoll", poll)
    monkeypatch.setattr("stream.cluster_facts.watch.Cluster", lambda *_, **__: contextlib.nullcontext())
    with ClusterWatch.from_config(load(flags={"kafka.bootstrap_servers": "b:9092", **flags}), lambda: None):
        wait_until(lambda: bool(made), "the poll")
    assert made == [shown]


def test_an_interval_of_zero_turns_the_watch_off(watching: Any) -> None:
    """An interval of 0 starts no thread and sends no request."""
    polls, before = Polls(facts()), set(threading.enumerate())
    with watching(polls, interval=0) as watch:
        assert (watch.current(), polls.looks) == (None, [])
        assert set(threading.enumerate()) <= before


def test_old_facts_are_dropped(watching: Any, logged: list[Any]) -> None:
    """The facts stay for two failed polls, are dropped with one line after the third, and return with a good one."""
    polls = Polls(facts(), AWAY, AWAY, facts(), AWAY)
    with watching(polls) as watch:
        wait_until(lambda: watch.current() is None and len(polls.looks) > 4, "the end of what was seen")
        assert len(polls.looks) >= 4 + 3
        polls.last = facts()
        wait_until(lambda: watch.current() is not None, "the cluster to be back")
    lost = [line for line in logged if line["event"] == "cluster facts discarded"]
    assert [line["cause"] for line in lost] == [str(AWAY)]


@pytest.mark.parametrize(
    "error", [AWAY, ValueError("an unexpected answer")], ids=["unreachable cluster", "unexpected error"]
)
def test_no_failure_ends_the_watch(watching: Any, error: Exception) -> None:
    """The next poll is made after any error of a poll."""
    polls = Polls(error, error, facts())
    with watching(polls) as watch:
        wait_until(lambda: watch.current() is not None, "the poll after two failures")


def test_a_missing_right_is_named_once(watching: Any, logged: list[Any]) -> None:
    """One line names the right to grant for any number of refusals. An unreachable fact names no right."""
    rows = [
        {"fact": "controller", "reason": "not_authorized", "amount": 1},
        {"fact": "offsets topic size", "reason": "not_authorized", "amount": 3},
        {"fact": "topic setting", "reason": "not_authorized", "amount": 7},
        {"fact": "broker setting", "reason": "unreachable", "amount": 7},
        {"fact": "partition series", "reason": "not_shown", "amount": 7},
    ]
    polls = Polls(facts(unknown_facts=table(model.UNKNOWN_FACTS, rows)))
    with watching(polls):
        wait_until(lambda: len(polls.looks) > 3, "some polls")
    assert [line["grant"] for line in logged] == [["Describe on the cluster", "DescribeConfigs on topic *"]]


def test_a_missing_right_to_share_groups_does_not_end_the_polls(watching: Any, logged: list[Any]) -> None:
    """The ACL to read their topic is optional: one line names this ACL, and the next poll is made."""
    rows = [{"fact": model.SHARE_GROUPS_FACT, "reason": "not_authorized", "amount": 1}]
    polls = Polls(facts(unknown_facts=table(model.UNKNOWN_FACTS, rows)))
    with watching(polls) as watch:
        wait_until(lambda: len(polls.looks) > 3, "some polls")
        assert watch.current() is not None
    assert [line["grant"] for line in logged] == [["Read on topic __share_group_state"]]


def test_a_fact_without_a_known_right_does_not_end_the_polls(watching: Any, logged: list[Any]) -> None:
    """A refused fact that has no entry among the rights is logged by its name."""
    rows = [{"fact": "a new fact", "reason": "not_authorized", "amount": 1}]
    polls = Polls(facts(unknown_facts=table(model.UNKNOWN_FACTS, rows)))
    with watching(polls):
        wait_until(lambda: len(polls.looks) > 3, "some polls")
    assert [line["grant"] for line in logged] == [["the right to read: a new fact"]]


def test_a_connection_that_fails_is_logged(logged: list[Any]) -> None:
    """The cause is logged, and there are no facts."""

    def connect() -> Any:
        raise ValueError("no such file")

    with ClusterWatch(connect, lambda: None, 60, 100) as watch:
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

    with watching(Hanging(facts())):
        assert entered.wait(30)
    assert not released.is_set()
    released.set()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "cluster-watch"], "the thread's end")
