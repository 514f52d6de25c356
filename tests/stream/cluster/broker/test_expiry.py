"""A real broker of each release removes offsets and groups: each removal has its predicted time and cause.

A broker with a retention of one minute has groups that expire, groups that are deleted and a group that stays. A
small driver reads the offsets topic as the job does.
"""

import functools
import time
from typing import Final

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.clients.members import Member
from sandbox.kafka.broker import create_topics
from sandbox.kafka.jars import BROKER
from sandbox.waiting import eventually, wait_until
from stream.cluster.retention_config import read_retention
from stream.cluster.transport.client import Cluster
from stream.groups.driver_state import DriverState, GroupColumns
from stream.groups.expiry.broker_rules import NEVER, ExpiryRules, OffsetsRetention
from stream.groups.expiry.causes import RemovalCause, cause_of, transition_sentence
from stream.groups.expiry.check import ExpiryCheck, PredictionOutcome
from stream.groups.expiry.predict import predict, predict_removed
from stream.groups.lifecycle.model import Transition, TransitionType
from stream.groups.row_order import RemovedOffset
from tests.integration.folded_log import FoldedLog
from tests.support.releases import Release, releases

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(240)]

MINUTE: Final = 60_000
INTERVAL: Final = 1_000
GAP: Final = 10.0
"""Seconds between the commits of a group and the leaving of its members: retention can start at either."""
EARLIEST: Final = 1_000
"""A tombstone has the time when the broker began its batch: at most these milliseconds before the check for expiry."""
LIMIT: Final = 150.0

RULES: Final[dict[ExpiryRules, set[str]]] = {
    ExpiryRules.PER_OFFSET: {"left", "orders"},
    ExpiryRules.EMPTY_ONLY: set(),
    ExpiryRules.UNSUBSCRIBED: {"left"},
    ExpiryRules.UNSUBSCRIBED_IF_STABLE: {"left"},
    ExpiryRules.NONE_PENDING: {"left"},
}
"""The topics whose offsets expire in a group with members that subscribes to `orders` only."""
DELETED: Final = {("deleted", "orders"), ("dropped", "gone")}


class Driver:
    """Applies new records as the job's driver does, and keeps the results of the expiry check."""

    def __init__(self, cluster: Cluster, retention: OffsetsRetention) -> None:
        self.state = DriverState()
        self.expiry_check = ExpiryCheck()
        self.outcomes: dict[tuple[str, str], PredictionOutcome | None] = {}
        self.removed: dict[tuple[str, str], tuple[RemovedOffset, int]] = {}
        """The removed offsets by group and topic, with the predicted time."""
        self.transitions: list[tuple[str, Transition]] = []
        self._cluster = cluster
        self._retention = retention
        self._log = FoldedLog(cluster)

    def step(self) -> GroupColumns:
        """Apply new records, evaluate tombstones with the state before them, and find missing tombstones."""
        before = self.state.columns()
        self._apply_records(before)
        columns = self.state.columns()
        predicted = predict(columns, self._retention).offset
        self.expiry_check.update(columns.runs.keys, predicted, int(time.time() * 1000), self._retention)
        return columns

    def _apply_records(self, before: GroupColumns) -> None:
        for shard, change in self._log.read():
            events = self.state.apply(shard, change)
            self.transitions += events.transitions
            predicted = predict_removed(events.removed_offsets, before.memberships, self._retention)
            outcomes = self.expiry_check.record_tombstones(events.removed_offsets, predicted, self._retention)
            for offset, expiry, outcome in zip(events.removed_offsets, predicted.tolist(), outcomes, strict=True):
                self.removed[offset.group, offset.topic] = offset, expiry
                self.outcomes[offset.group, offset.topic] = outcome

    def removals(self) -> dict[str, Transition]:
        """Return the last transition of each group that removed some of its offsets or the whole group."""
        return {name: each for name, each in self.transitions if each.removal is not None}


def joined(bootstrap: str, group: str, topics: list[str], kind: str = "classic") -> Member:
    """Return a new member that owns the only partition of each topic."""
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
    return bool(cluster.metadata([topic]).topics[0].error_code == 0)


@pytest.mark.parametrize("release", releases(BROKER))
@pytest.mark.usefixtures("make_broker")  # skips without Java
def test_the_broker_removes_each_offset_at_its_predicted_time(release: Release) -> None:
    """Every tombstone has its predicted time and cause; subscribed topics stay; no other removal is an expiration."""
    settings = {"offsets_retention_minutes": "1", "offsets_retention_check_interval_ms": str(INTERVAL)}
    with release.running(**settings) as broker:
        _expire(broker.bootstrap, release)


def _expire(bootstrap: str, release: Release) -> None:
    of_members = RULES[release.rules]
    leaving = {"classic"} if release.is_before("4.0") else {"classic", "newer"}
    removed_groups = {*leaving, "simple"}
    expiring = {(group, "orders") for group in removed_groups} | {("living", topic) for topic in of_members}
    create_topics(bootstrap, {"orders": 1, "left": 1, "gone": 1})
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    simple = {group: Member(bootstrap, group, "simple") for group in ("simple", "deleted", "dropped")}
    for group, topic in (("simple", "orders"), ("deleted", "orders"), ("dropped", "gone")):
        commit(simple[group], topic)
    classic = joined(bootstrap, "classic", ["orders"])
    members = [classic, *([joined(bootstrap, "newer", ["orders"], "consumer")] if "newer" in leaving else [])]
    living = joined(bootstrap, "living", ["orders", "left"])
    for member in members:
        commit(member, "orders")
    commit(living, "orders", "left")
    _subscribe(living, ["orders"])
    joined(bootstrap, "bare", ["orders"]).leave()
    with Cluster([bootstrap]) as cluster:
        retention = read_retention(cluster)
        assert retention == OffsetsRetention(MINUTE, INTERVAL, "broker", release.rules)
        driver = Driver(cluster, retention)
        driver.step()
        eventually(lambda: [done.result(30) for done in admin.delete_consumer_groups(["deleted"]).values()])
        eventually(lambda: [done.result(30) for done in admin.delete_topics(["gone"]).values()])
        time.sleep(GAP)
        for member in members:
            member.leave()
        wait_until(lambda: _empty(driver.step()) >= leaving, "the groups to be empty")
        columns = driver.state.columns()
        expiry = predict(columns, retention)
        predicted = dict(
            zip(
                zip(columns.group.to_pylist(), columns.topic.to_pylist(), strict=True),
                expiry.offset.tolist(),
                strict=True,
            )
        )
        wait_until(lambda: bool(driver.step()) and driver.removed.keys() >= expiring, "expiry", limit=LIMIT, pause=1)
        wait_until(lambda: bool(driver.step()) and _dead(driver) >= removed_groups, "the removal of the groups")
        causes = {
            name: cause_of(transition.removal, retention, functools.partial(exists, cluster))
            for name, transition in driver.removals().items()
            if transition.removal is not None
        }
    # Expired offsets were removed at the time predicted before their removal.
    for key in expiring:
        offset, expiry_time = driver.removed[key]
        assert (key, expiry_time) == (key, predicted[key])
        assert offset.time >= expiry_time - EARLIEST, key
        assert driver.outcomes[key] is PredictionOutcome.KEPT, (key, offset.time - expiry_time)
    emptied = columns.memberships["classic"].state_time
    if release.rules is not ExpiryRules.PER_OFFSET:
        assert emptied is not None
        assert (
            predicted["classic", "orders"]
            == emptied + MINUTE
            > driver.removed["classic", "orders"][0].last_time + MINUTE
        )
    if "newer" in leaving:
        history = driver.state.columns().histories["newer"]
        emptied = next(each.time for each in history.transitions if each.type is TransitionType.EMPTIED)
        assert driver.removed["newer", "orders"][0].time < emptied + MINUTE
    # Groups have the predicted time of their last offset, and are removed together with it.
    names = sorted(removed_groups)
    for name, predicted_end in zip(names, expiry.for_groups(names)[1].tolist(), strict=True):
        assert driver.removals()[name].type is TransitionType.DEAD
        assert predicted_end == predicted[name, "orders"], name
        assert driver.removals()[name].time == driver.removed[name, "orders"][0].time, name
    # The other offsets of a group with members stay and never expire.
    columns = driver.state.columns()
    kept = predict(columns, retention)
    assert set(zip(columns.group.to_pylist(), columns.topic.to_pylist(), kept.offset.tolist(), strict=True)) == {
        ("living", topic, NEVER) for topic in {"orders", "left"} - of_members
    }
    # No other removal is an expiration; the new coordinator of 3.7, early access, keeps the offsets of a deleted topic.
    is_kept = release.version == "3.7.2" and not release.classic
    deleted = {("deleted", "orders")} if is_kept else DELETED
    assert {key for key in DELETED if driver.outcomes[key] is PredictionOutcome.DELETED} == deleted
    assert driver.removed.keys() == expiring | DELETED
    none = dict.fromkeys(PredictionOutcome, 0)
    assert driver.expiry_check.counts == none | {
        PredictionOutcome.KEPT: len(expiring | DELETED - deleted),
        PredictionOutcome.DELETED: len(deleted),
    }
    assert driver.expiry_check.errors.sum() == len(expiring | DELETED - deleted)
    expired = dict.fromkeys((*removed_groups, "bare", *(["living"] if of_members else [])), RemovalCause.EXPIRED)
    dropped = RemovalCause.EXPIRED if is_kept else RemovalCause.TOPIC_DELETED
    assert causes == {**expired, "deleted": RemovalCause.DELETED, "dropped": dropped}
    if of_members == {"left"}:
        sentence = transition_sentence(driver.removals()["living"], RemovalCause.EXPIRED, retention)
        assert sentence.startswith("expired: 1 offset of left, last commit ")
        assert sentence.endswith(" UTC, retention 1 min")
    for member in (*simple.values(), living):
        member.leave()


def _empty(columns: GroupColumns) -> set[str]:
    return {name for name, known in columns.memberships.items() if known.state == "Empty"}


def _dead(driver: Driver) -> set[str]:
    return {name for name, each in driver.removals().items() if each.type is TransitionType.DEAD}
