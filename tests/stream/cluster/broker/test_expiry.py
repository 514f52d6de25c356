"""A real broker forgets within a minute: when, whose and what, against what was predicted.

One broker, one wait: groups of every way to expire, to be deleted and to live on are made side by side, and a small
driver reads the offsets topic as the job does, batch after batch.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.clients.members import Member
from sandbox.kafka.topics import create_topics
from sandbox.waiting import eventually, wait_until
from stream.cluster import offsets_topic
from stream.cluster.retention_config import read_retention
from stream.cluster.transport.client import Cluster
from stream.groups.driver_state import DriverState, GroupColumns
from stream.groups.expiry.causes import RemovalCause, cause_of, transition_sentence
from stream.groups.expiry.check import ExpiryCheck, PredictionOutcome, predict_removed
from stream.groups.expiry.predict import NEVER, OffsetsRetention, predict
from stream.groups.fold import Fold, RecordColumns
from stream.groups.lifecycle.model import Transition, TransitionType
from stream.groups.placement import Placement
from stream.groups.reduce import reduce
from stream.groups.shard import ShardState, empty_state
from stream.offline.live import LiveTopics

if TYPE_CHECKING:
    from stream.groups.driver_state import RemovedOffset
    from stream.offline.rows import TopicAndPartition
    from tests.conftest import MakeBroker

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(240)]

MINUTE: Final = 60_000
INTERVAL: Final = 1_000
GAP: Final = 10.0
"""Seconds between commits and leaving: by so much the two clocks of a group differ."""
EARLIEST: Final = 1_000
"""A tombstone carries the time when its batch was begun, which lies this little (ms) before the broker looked."""
LIMIT: Final = 150.0

EXPIRING: Final = {("classic", "orders"), ("newer", "orders"), ("simple", "orders"), ("living", "left")}
DELETED: Final = {("deleted", "orders"), ("dropped", "gone")}


class Driver:
    """Reads what was written since the last time, as the job's driver does, and keeps the results."""

    def __init__(self, cluster: Cluster, retention: OffsetsRetention) -> None:
        self.state = DriverState()
        self.watch = ExpiryCheck()
        self.outcomes: dict[tuple[str, str], PredictionOutcome | None] = {}
        self.forgotten: dict[tuple[str, str], tuple[RemovedOffset, int]] = {}
        """The removed offsets by group and topic, with the predicted time."""
        self.transitions: list[tuple[str, Transition]] = []
        self._cluster = cluster
        self._retention = retention
        self._read: dict[TopicAndPartition, int] = {}
        self._states: dict[int, ShardState] = {}

    def step(self) -> GroupColumns:
        """Apply new records, evaluate tombstones with the state before them, and find missing ones."""
        before = self.state.columns()
        self._take_in(before)
        columns = self.state.columns()
        hours = predict(columns, self._retention).offset
        self.watch.update(columns.runs.keys, hours, int(time.time() * 1000), self._retention)
        return columns

    def _take_in(self, before: GroupColumns) -> None:
        fold = Fold(Placement(1, 1), slot_ms=1000, keep_slots=3)
        rows = list(LiveTopics(self._cluster, [offsets_topic.NAME]).rows(self._read))
        if not rows:
            return
        self._read |= {row.place: row.offset for row in rows}
        fold.add(
            RecordColumns(
                np.array([row.partition for row in rows], np.int32),
                np.array([row.offset for row in rows], np.int64),
                np.array([row.timestamp for row in rows], np.int64),
                pa.array([row.key for row in rows], pa.binary()),
                pa.array([row.value for row in rows], pa.binary()),
            )
        )
        for shard, delta in fold.drain():
            self._states[shard], change = reduce(self._states.get(shard, empty_state()), [delta], 3)
            news = self.state.apply(shard, change)
            self.transitions += news.transitions
            hours = predict_removed(news.removed_offsets, before.memberships, self._retention)
            outcomes = self.watch.record_tombstones(news.removed_offsets, hours, self._retention)
            for each, hour, outcome in zip(news.removed_offsets, hours.tolist(), outcomes, strict=True):
                self.forgotten[each.group, each.topic] = each, hour
                self.outcomes[each.group, each.topic] = outcome

    def ends(self) -> dict[str, Transition]:
        """Return the last removal of each group, of some offsets or of all of it."""
        return {name: each for name, each in self.transitions if each.removal is not None}


def joined(bootstrap: str, group: str, topics: list[str], kind: str = "classic") -> Member:
    """Add a member that joins and owns these topics' only partitions."""
    member = Member(bootstrap, group, kind)  # type: ignore[arg-type] # one of the kinds
    _subscribe(member, topics)
    return member


def _subscribe(member: Member, topics: list[str]) -> None:
    member.consumer.subscribe(topics)

    def owns_them() -> bool:
        member.consumer.poll(0.1)
        return {each.topic for each in member.consumer.assignment()} == set(topics)

    wait_until(owns_them, f"a member to own {', '.join(topics)}")


def commit(member: Member, *topics: str) -> None:
    """Commit an offset of each of these topics."""
    eventually(functools.partial(member.commit, [TopicPartition(topic, 0, 5) for topic in topics]))


def exists(cluster: Cluster, topic: str) -> bool | None:
    """Ask the cluster whether a topic is there."""
    return bool(cluster.metadata([topic]).topics[0].error_code == 0)


def test_the_broker_forgets_what_was_predicted_when_it_was_predicted(make_broker: MakeBroker) -> None:
    """Every tombstone has its predicted time and cause; subscribed topics stay; no other removal is an expiration."""
    settings = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": str(INTERVAL)}
    bootstrap = make_broker(properties=settings).bootstrap
    create_topics(bootstrap, {"orders": 1, "left": 1, "gone": 1})
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    simple = {group: Member(bootstrap, group, "simple") for group in ("simple", "deleted", "dropped")}
    for group, topic in (("simple", "orders"), ("deleted", "orders"), ("dropped", "gone")):
        commit(simple[group], topic)
    classic = joined(bootstrap, "classic", ["orders"])
    newer = joined(bootstrap, "newer", ["orders"], "consumer")
    living = joined(bootstrap, "living", ["orders", "left"])
    for member in (classic, newer):
        commit(member, "orders")
    commit(living, "orders", "left")
    _subscribe(living, ["orders"])
    joined(bootstrap, "bare", ["orders"]).leave()
    with Cluster([bootstrap]) as cluster:
        retention = read_retention(cluster)
        assert retention == OffsetsRetention(MINUTE, INTERVAL, "broker")
        driver = Driver(cluster, retention)
        driver.step()
        eventually(lambda: [done.result(30) for done in admin.delete_consumer_groups(["deleted"]).values()])
        eventually(lambda: [done.result(30) for done in admin.delete_topics(["gone"]).values()])
        time.sleep(GAP)
        for member in (classic, newer):
            member.leave()
        wait_until(lambda: _empty(driver.step()) >= {"classic", "newer"}, "both groups to be empty")
        columns = driver.state.columns()
        expiry = predict(columns, retention)
        hours = dict(
            zip(
                zip(columns.group.to_pylist(), columns.topic.to_pylist(), strict=True),
                expiry.offset.tolist(),
                strict=True,
            )
        )
        wait_until(lambda: bool(driver.step()) and driver.forgotten.keys() >= EXPIRING, "expiry", limit=LIMIT, pause=1)
        wait_until(lambda: bool(driver.step()) and _dead(driver) >= {"classic", "newer", "simple"}, "the groups' ends")
        causes = {
            name: cause_of(end.removal, retention, functools.partial(exists, cluster))
            for name, end in driver.ends().items()
            if end.removal is not None
        }
    # What expired did so by the hour that had been predicted long before, and not by the other clock.
    for key in EXPIRING:
        gone, hour = driver.forgotten[key]
        assert (key, hour) == (key, hours[key])
        assert gone.time >= hour - EARLIEST, key
        assert driver.outcomes[key] is PredictionOutcome.KEPT, (key, gone.time - hour)
    emptied = columns.memberships["classic"].state_time
    assert emptied is not None
    assert hours["classic", "orders"] == emptied + MINUTE > driver.forgotten["classic", "orders"][0].last_time + MINUTE
    left = driver.state.columns().histories["newer"]
    when = next(each.time for each in left.transitions if each.type is TransitionType.EMPTIED)
    assert driver.forgotten["newer", "orders"][0].time < when + MINUTE
    # The groups themselves.
    names = ["classic", "newer", "simple"]
    for name, end in zip(names, expiry.for_groups(names)[1].tolist(), strict=True):
        assert driver.ends()[name].type is TransitionType.DEAD
        assert driver.ends()[name].time >= end - EARLIEST, name
    # What is subscribed to is still there, and never goes.
    columns = driver.state.columns()
    kept = predict(columns, retention)
    assert list(zip(columns.group.to_pylist(), columns.topic.to_pylist(), kept.offset.tolist(), strict=True)) == [
        ("living", "orders", NEVER)
    ]
    # No other removal is an expiration.
    assert {key: driver.outcomes[key] for key in DELETED} == dict.fromkeys(DELETED, PredictionOutcome.DELETED)
    assert driver.forgotten.keys() == EXPIRING | DELETED
    none = dict.fromkeys(PredictionOutcome, 0)
    assert driver.watch.outcomes() == none | {
        PredictionOutcome.KEPT: len(EXPIRING),
        PredictionOutcome.DELETED: len(DELETED),
    }
    assert driver.watch.errors().count == len(EXPIRING)
    expired = dict.fromkeys(("classic", "newer", "simple", "living", "bare"), RemovalCause.EXPIRED)
    assert causes == {**expired, "deleted": RemovalCause.DELETED, "dropped": RemovalCause.TOPIC_DELETED}
    said = transition_sentence(driver.ends()["living"], RemovalCause.EXPIRED, retention)
    assert said.startswith("expired: 1 offset of left, last commit ")
    assert said.endswith(" UTC, retention 1 min")
    for each in (*simple.values(), living):
        each.leave()


def _empty(columns: GroupColumns) -> set[str]:
    return {name for name, known in columns.memberships.items() if known.state == "Empty"}


def _dead(driver: Driver) -> set[str]:
    return {name for name, each in driver.ends().items() if each.type is TransitionType.DEAD}
