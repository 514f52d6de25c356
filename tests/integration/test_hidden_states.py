"""Ticks while a real transaction is open on the offsets topic: hidden groups are shown as by Kafka's own tool.

The log is read to its last stable offsets, as by the job, and published by the real publisher.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import delete_group, delete_offsets, describe_groups, describe_state
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.offsets_topic import NAME
from stream.cluster.records.ranges import unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport.client import Cluster
from stream.groups.expiry.predict import OffsetsRetention
from stream.groups.fold import Fold, RecordColumns
from stream.groups.placement import Placement, partition_for
from stream.groups.reduce import StateLimits, reduce
from stream.groups.shard import empty_state
from stream.service.catch_up import CatchUpProgress
from stream.service.status import RUNNING, ServiceStatus
from stream.service.ticker import Ticker
from stream.tick.context_poller import ContextPoller
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.publisher import Publisher
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.integration.traffic import commit, commit_in, consumer, join_and_commit
from tests.support.commits import KEEP, SLOT_MS
from tests.support.producers import patient_producer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Producer

    from exporters.readmodel import GroupDetail

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

PARTITIONS = 4
RETENTION_SECONDS, SWEEP_SECONDS = 60, 3


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Return a broker with a topic and an offsets topic."""
    with Broker() as started:
        yield _prepared(started)


@pytest.fixture
def expiring_broker() -> Iterator[Broker]:
    """Return the same with an offsets retention of one minute."""
    settings = {
        "offsets.retention.minutes": str(RETENTION_SECONDS // 60),
        "offsets.retention.check.interval.ms": str(SWEEP_SECONDS * 1000),
    }
    with Broker(properties=settings) as started:
        yield _prepared(started)


def _prepared(broker: Broker) -> Broker:
    create_topics(broker.bootstrap, {"t": 2})
    commit(broker.bootstrap, "first", "t", {0: 0})
    return broker


@pytest.fixture
def ticks(broker: Broker) -> Iterator[Ticks]:
    """Return a monitor without state."""
    with Cluster([broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        yield Ticks(cluster)


class Ticks:
    """Reads the offsets topic and publishes, once per call of `tick`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.status = ServiceStatus("1", 60)
        self.status.phase = RUNNING
        self.status.progress = CatchUpProgress({}, {})
        # No grace period, because the transactions here stay open.
        lookups = LookupScheduler(cluster, LookupLimits(blocked_grace=0.0))
        self.publisher = Publisher(evaluator=VerdictEvaluator(), lookups=lookups)
        poller = ContextPoller(cluster, OffsetsRetention(None, None, "unknown"), 50, 10.0)
        self._ticker = Ticker(self.publisher, self.status, cluster, poller, tick_interval=10, trigger_interval=1)
        self._states = {partition: empty_state() for partition in range(PARTITIONS)}
        self._read_to: dict[int, int] = {}

    def tick(self) -> None:
        """Read up to the last stable offsets, and publish a snapshot."""
        for fetched in read_records(self.cluster, NAME, unread_ranges(self.cluster, NAME, self._read_to)):
            self._read_to |= {partition: position - 1 for partition, position in fetched.positions.items()}
            for partition, rows in itertools.groupby(fetched.rows(), lambda row: row[0]):
                self._apply(partition, [record for _, record in rows])
        assert self.status.progress is not None
        self.status.progress.finish({partition: at + 1 for partition, at in self._read_to.items()})
        assert self._ticker.tick(current=True) is not None

    def ticks(self, count: int = 3) -> None:
        """Tick `count` times; three ticks read and show hidden states."""
        for _ in range(count):
            self.tick()

    def _apply(self, partition: int, records: list[Any]) -> None:
        fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
        fold.add(
            RecordColumns(
                np.zeros(len(records), np.int32),
                np.array([record.offset for record in records], np.int64),
                np.array([record.timestamp for record in records], np.int64),
                pa.array([record.key for record in records], pa.binary()),
                pa.array([record.value for record in records], pa.binary()),
            )
        )
        ((_, delta),) = fold.drain()
        self._states[partition], change = reduce(self._states[partition], [delta], StateLimits(KEEP))
        self.publisher.apply([(partition, change)], catching_up=False)

    def group(self, name: str) -> dict[str, Any] | None:
        """Return the row of a group; None without one."""
        published = self.publisher.current()
        assert published is not None
        return next((row for row in published.snapshot.groups.to_pylist() if row["group"] == name), None)

    def state(self, name: str) -> str | None:
        """Return the shown state of a group."""
        row = self.group(name)
        return None if row is None else row["state"]

    def lags(self, name: str) -> dict[tuple[str, int], int | None]:
        """Return the lags of a group by topic and partition."""
        published = self.publisher.current()
        assert published is not None
        rows = published.snapshot.partitions.to_pylist()
        return {(row["topic"], row["partition"]): row["lag"] for row in rows if row["group"] == name}

    def expiry(self, name: str) -> list[Any]:
        """Return the expiry times of the offsets of a group."""
        published = self.publisher.current()
        assert published is not None
        return [row["offset_expiry_time"] for row in published.snapshot.partitions.to_pylist() if row["group"] == name]

    def detail(self, name: str) -> GroupDetail:
        """Return the details of a group."""
        detail = self.publisher.details(name)
        assert detail is not None
        return detail

    def checks(self) -> dict[str, int]:
        """Return the number of offsets per outcome of a prediction, without zeros."""
        rows = self.status.tick.terminations.checks.to_pylist()
        return {row["outcome"]: row["offsets"] for row in rows if row["offsets"]}


def names_of(partition: int, stem: str, *, count: int) -> list[str]:
    """Return `count` names of groups in this offsets partition."""
    named = (f"{stem}-{number}" for number in range(1_000))
    return [name for name in named if partition_for(name, PARTITIONS) == partition][:count]


@contextlib.contextmanager
def open_transaction(broker: Broker, holder: str, offsets: dict[int, int]) -> Iterator[Producer]:
    """Keep a transaction with offsets of this group open; it is aborted at the end unless committed."""
    producer = patient_producer(broker.bootstrap, f"of-{holder}")
    producer.begin_transaction()
    commit_in(producer, broker.bootstrap, holder, "t", offsets)
    try:
        yield producer
    finally:
        producer.abort_transaction(LIMIT)


def tool_states(broker: Broker) -> dict[str, str]:
    """Return the states of all groups from Kafka's tool."""
    return {row.group: row.state for row in describe_state(broker.bootstrap)}


def tool_offsets(broker: Broker, group: str) -> dict[tuple[str | None, int | None], int | None]:
    """Return the committed offsets of a group from Kafka's tool."""
    rows = describe_groups(broker.bootstrap)
    return {(row.topic, row.partition): row.current_offset for row in rows if row.group == group}


def test_deletions_behind_an_open_transaction_are_shown(broker: Broker, ticks: Ticks) -> None:
    """Before the end of the transaction: a simple group, a group with members, and one of two offsets."""
    holder, simple, modern, half = names_of(1, "gone", count=4)
    for group in (holder, simple):
        commit(broker.bootstrap, group, "t", {0: 0})
    commit(broker.bootstrap, half, "t", {0: 0, 1: 0})
    with consumer(broker.bootstrap, modern, group_protocol="consumer") as member:
        join_and_commit(member, "t", {0: 0, 1: 0})
    ticks.ticks(2)
    assert [ticks.state(group) for group in (simple, modern, half)] == ["Empty"] * 3
    with open_transaction(broker, holder, {0: 7}):
        ticks.ticks()
        delete_group(broker.bootstrap, simple)
        delete_group(broker.bootstrap, modern)
        delete_offsets(broker.bootstrap, half, "t", 1)
        ticks.ticks()
        assert {simple, modern} & tool_states(broker).keys() == set()
        assert [ticks.state(group) for group in (simple, modern, half)] == ["Dead", "Dead", "Empty"]
        assert (ticks.lags(simple), ticks.lags(modern)) == ({}, {})
        assert ticks.lags(half).keys() == tool_offsets(broker, half).keys() == {("t", 0)}
        assert [ticks.detail(group).transitions[-1].cause for group in (simple, modern)] == ["deleted", "deleted"]
    wait_until(
        lambda: ticks.tick() is None and not ticks.status.tick.blocked_partitions.num_rows, "the end of the transaction"
    )
    ticks.ticks(2)
    assert [ticks.state(group) for group in (simple, modern, half)] == ["Dead", "Dead", "Empty"]
    assert ticks.lags(half).keys() == {("t", 0)}


def test_static_member_that_returns_behind_an_open_transaction_is_shown(broker: Broker, ticks: Ticks) -> None:
    """The member is in the group again with its partitions, and the state is that of Kafka's tool."""
    holder, group = names_of(2, "static", count=2)
    commit(broker.bootstrap, holder, "t", {0: 0})
    options: dict[str, str | int | bool] = {"group_protocol": "consumer", "group_instance_id": "one"}
    with consumer(broker.bootstrap, group, **options) as member:
        join_and_commit(member, "t", {0: 0, 1: 0})
    ticks.ticks(2)
    before = ticks.group(group)
    assert before is not None
    assert (before["state"], before["members_away"]) == ("Reconciling", 1)
    with open_transaction(broker, holder, {0: 7}), consumer(broker.bootstrap, group, **options) as member:
        ticks.ticks()
        assert ticks.state(group) == "Reconciling"
        join_and_commit(member, "t", {0: 0, 1: 0})
        wait_until(lambda: tool_states(broker)[group] == "Stable", "the member to settle")
        ticks.ticks()
        shown = ticks.group(group)
        assert shown is not None
        assert (shown["state"], shown["members"], shown["members_away"]) == ("Stable", 1, 0)
        (member_row,) = ticks.detail(group).members
        assert (member_row.instance_id, member_row.away, member_row.assignment) == ("one", False, (("t", (0, 1)),))
        assert ticks.detail(group).unowned == ()
    wait_until(
        lambda: ticks.tick() is None and not ticks.status.tick.blocked_partitions.num_rows, "the end of the transaction"
    )
    ticks.ticks(2)
    assert ticks.state(group) == tool_states(broker)[group]


def test_offsets_behind_an_open_transaction_expire_unless_it_commits_them(expiring_broker: Broker) -> None:
    """The expired group is dead; the offset with a pending commit stays, without a predicted or missed expiry."""
    with Cluster([expiring_broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        _expire_behind_a_transaction(expiring_broker, Ticks(cluster))


def _expire_behind_a_transaction(broker: Broker, ticks: Ticks) -> None:
    holder, pending, expired = names_of(3, "old", count=3)
    for group in (holder, pending, expired):
        commit(broker.bootstrap, group, "t", {0: 0})
    ticks.tick()
    with open_transaction(broker, holder, {0: 7}) as producer:
        commit_in(producer, broker.bootstrap, pending, "t", {0: 5})
        ticks.ticks()
        assert (ticks.expiry(pending), ticks.expiry(holder)) == ([None], [None])
        (expiry_time,) = ticks.expiry(expired)
        assert expiry_time is not None
        wait_until(lambda: expired not in tool_states(broker), "the expiry", limit=RETENTION_SECONDS + 60.0, pause=1.0)
        time.sleep(4 * SWEEP_SECONDS)
        ticks.ticks()
        assert ticks.state(expired) == "Dead"
        assert ticks.detail(expired).transitions[-1].cause == "expired"
        assert tool_offsets(broker, pending) == {("t", 0): 0}, "the broker keeps it"
        row = ticks.group(pending)
        assert row is not None
        assert (ticks.state(pending), ticks.expiry(pending), row["verdict"]) == ("Empty", [None], "caught_up")
        assert ticks.checks().get("missing") is None
    wait_until(lambda: pending not in tool_states(broker), "the expiry of the pending offset", pause=1.0)
    wait_until(lambda: ticks.tick() is None and ticks.state(pending) == "Dead", "its tombstone")
    assert ticks.checks().keys() <= {"kept"}
