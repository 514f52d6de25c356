"""Ticks while a real transaction is open on the offsets topic: hidden groups are shown as by Kafka's own tool."""

import contextlib
import itertools
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import delete_group, delete_offsets, describe_groups, describe_state
from sandbox.kafka.topics import create_topics
from stream.cluster.transport.client import Cluster
from tests.integration.publishing import PARTITIONS, Ticks
from tests.integration.traffic import FAST_HEARTBEATS, commit, commit_in, consumer, groups_in, join_and_commit
from tests.support.processes import LIMIT, patience, wait_until
from tests.support.producers import patient_producer

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(patience(400))]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Return a broker with a topic and an offsets topic."""
    with Broker(properties=FAST_HEARTBEATS) as started:
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
    """A deleted simple group, group with members and offset are shown before the transaction ends.

    So is a group whose only commit is in the transaction.
    """
    holder, simple, modern, half, only = itertools.islice(groups_in(1, PARTITIONS, "gone"), 5)
    for group in (holder, simple):
        commit(broker.bootstrap, group, "t", {0: 0})
    commit(broker.bootstrap, half, "t", {0: 0, 1: 0})
    with consumer(broker.bootstrap, modern, group_protocol="consumer") as member:
        join_and_commit(member, "t", {0: 0, 1: 0})
    ticks.ticks(2)
    assert [ticks.state(group) for group in (simple, modern, half)] == ["Empty"] * 3
    with open_transaction(broker, holder, {0: 7}) as producer:
        commit_in(producer, broker.bootstrap, only, "t", {0: 3})
        ticks.ticks()
        delete_group(broker.bootstrap, simple)
        delete_group(broker.bootstrap, modern)
        delete_offsets(broker.bootstrap, half, "t", 1)
        ticks.ticks()
        states = tool_states(broker)
        assert {simple, modern} & states.keys() == set()
        assert ticks.state(only) == states[only] == "Empty"
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
