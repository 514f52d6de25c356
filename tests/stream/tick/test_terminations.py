"""Terminations: deaths by cause and tombstones against predictions, counted only for live records."""

import dataclasses
from typing import Any

import structlog

from exporters.readmodel import TerminationCounts
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.shard import StateLimits
from stream.tick.context import ClusterContext
from stream.tick.terminations import Terminations
from tests.stream.groups import written
from tests.stream.health.tables import wrong
from tests.stream.tick.health_inputs import derived
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value

DAY = 86_400_000
RETENTION = OffsetsRetention(7 * DAY, 600_000, "broker")


class Life:
    """One group that commits at time 0, and its terminations."""

    def __init__(self, live_from: int = 0) -> None:
        self.shard = ShardReader(StateLimits(keep_slots=10, live_from=live_from))
        self.terminations = Terminations()
        self.catching_up = False
        self.topics = {"t": 1}
        self.recreated: dict[str, int] = {}
        self.read([(commit_key("g", "t", 0), commit_value(5, 0))], 0)

    def read(self, records: list[Any], time: int) -> None:
        self.shard.read(records, time=time)
        self.terminations.record(self.shard.events, catching_up=self.catching_up)

    def tick(self, now: int, *, current: bool = True, unread: frozenset[str] = frozenset()) -> TerminationCounts:
        """Run a tick at this time (ms)."""
        state = self.shard.driver_state.columns()
        self.requested_topics = self.terminations.topics_in_question(state)
        self.cluster = ClusterContext(RETENTION, self.topics, recreated=self.recreated)
        causes = self.terminations.decide_causes(state, self.cluster)
        self.derived = dataclasses.replace(derived(state, ends_of([]), now / 1000, self.cluster), causes=causes)
        self.terminations.check_predictions(
            state, self.derived.expiry, RETENTION, now / 1000, current=current, unread=unread
        )
        return self.terminations.counts()

    @property
    def cause(self) -> str:
        life = self.shard.driver_state.columns().histories["g"]
        return str(self.derived.causes.of("g", life.transitions[-1], self.cluster))


def counts(table: Any) -> dict[str, int]:
    """Return a table of names and counts as a mapping, without zeros."""
    names, numbers = (column.to_pylist() for column in table.columns)
    return {name: number for name, number in zip(names, numbers, strict=True) if number}


def test_a_death_counts_once_by_its_cause() -> None:
    """The death of a group without members and the check of its offset are counted and logged once."""
    for removed_at, topics, cause, check in (
        (7 * DAY + 1000, {"t": 1}, "expired", "kept"),
        (DAY, {"t": 1}, "deleted", "deleted"),
        (DAY, {"t": 0}, "topic deleted", "deleted"),
        (DAY, {}, "unknown", "deleted"),
    ):
        life = Life()
        life.tick(1000)
        life.topics = topics
        life.read([(commit_key("g", "t", 0), None)], removed_at)
        with structlog.testing.capture_logs() as lines:
            counted = life.tick(removed_at + 1000)
        assert (counts(counted.deaths), counts(counted.checks)) == ({cause: 1}, {check: 1})
        assert [(line["group"], line["why"].split(":")[0]) for line in lines] == [("g", cause)]
        assert counts(life.tick(removed_at + 2000).deaths) == {cause: 1}


def test_a_cause_is_decided_once() -> None:
    """A topic that is deleted after the group does not change the cause, and is not requested again."""
    life = Life()
    life.tick(1000)
    life.read([(commit_key("g", "t", 0), None)], DAY)
    life.tick(DAY + 1000)
    assert (life.requested_topics, life.cause) == ({"t"}, "deleted")
    life.topics = {"t": 0}
    life.tick(DAY + 2000)
    assert (life.requested_topics, life.cause) == (set(), "deleted")


def test_what_the_first_tick_knows_decides_causes_of_the_replayed_log() -> None:
    """Causes of removals before the first tick stay as they were then; one that is hidden later depends on now."""
    life = Life(live_from=10**6)
    life.read([(commit_key("g", "t", 0), None)], DAY)
    life.tick(DAY + 1000)
    life.topics = {"t": 0}
    life.tick(DAY + 2000)
    assert life.cause == "deleted"
    (*_, death) = life.shard.driver_state.columns().histories["g"].transitions
    hidden = dataclasses.replace(death, position=death.position + 1)
    assert str(life.derived.causes.of("g", hidden, life.cluster)) == "topic deleted"


def test_a_death_while_the_monitor_was_down_is_counted_after_the_restart() -> None:
    """Records read by the catch-up after a restart are live; the prediction of a tombstone read late is not checked."""
    life = Life()
    life.tick(1000)
    life.catching_up = True
    life.read([(commit_key("g", "t", 0), None)], DAY)
    counted = life.tick(2 * DAY)
    assert (counts(counted.deaths), counts(counted.checks)) == ({"deleted": 1}, {})


def test_an_expired_offset_is_missing_only_while_all_records_are_read() -> None:
    """An offset is missing two retention checks and a minute after its expiry, but not while the reader is behind."""
    life = Life()
    expiry = 7 * DAY
    late = expiry + 2 * 600_000 + 61_000
    life.tick(expiry - 1000, current=False)
    assert counts(life.tick(late, current=False).checks) == {}
    life.tick(late + 1)
    assert counts(life.tick(late + 2 * 600_000 + 62_000).checks) == {"missing": 1}


def test_a_tombstone_hidden_by_a_transaction_is_not_missing() -> None:
    """A hidden tombstone is not late when it is read; a tombstone that never arrives is missing later."""
    for arrives in (True, False):
        life = Life()
        life.tick(1000)
        due = 7 * DAY
        checks = {}
        for minute in range(0, 120, 10):
            checks = counts(life.tick(due + minute * 60_000, unread=frozenset({"g"})).checks)
        assert checks == {}
        if arrives:
            life.read([(commit_key("g", "t", 0), None)], due + 300_000)
        for minute in range(120, 180, 10):
            checks = counts(life.tick(due + minute * 60_000).checks)
        assert checks == {"kept" if arrives else "missing": 1}


def member_of(*topics: str) -> Any:
    """Return the record of group g with a member that subscribes to these topics."""
    return written.classic(written.classic_member("m", wants=written.subscription(*topics), has=b""))


IN_T = [member_of("t")]
REMOVED: dict[str, tuple[Any, ...]] = {
    # Records, time of the removal, partition counts, recreated topics; whether it is forgotten and expired.
    "a member subscribes to the topic": (IN_T, DAY, {"t": 1}, {}, {True: False}),
    "no member subscribes: a tool may delete the offset": ([member_of("u")], DAY, {"t": 1}, {}, {False: False}),
    "a group without membership that has just committed": ([], 60_000, {"t": 1}, {}, {True: False}),
    "a group without membership that commits no more": ([], DAY, {"t": 1}, {}, {False: False}),
    "the offset has expired": ([], 7 * DAY + 1000, {"t": 1}, {}, {False: True}),
    "topic deleted": (IN_T, DAY, {"t": 0}, {}, {}),
    "topic created again": (IN_T, DAY, {"t": 1}, {"t": DAY + 500}, {}),
    "existence of the topic unknown": (IN_T, DAY, {}, {}, {}),
}


def test_removed_offsets_are_remembered_with_their_kind() -> None:
    """Those of living groups are forgotten. Each has the time of its tombstone, and is dropped after an hour."""

    def removal(
        records: list[Any], removed_at: int, topics: dict[str, int], recreated: dict[str, int]
    ) -> dict[bool, bool | None]:
        life = Life()
        if records:
            life.read(records, 500)
        life.tick(1000)
        life.topics, life.recreated = topics, recreated
        life.read([(commit_key("g", "t", 0), None)], removed_at)
        life.tick(removed_at + 1000)
        found = life.terminations.removed_commits(life.cluster, (removed_at + 1000) / 1000)
        assert life.terminations.removed_commits(life.cluster, (removed_at + 3_700_000) / 1000) == {}
        assert {(place, each.time) for place, each in found.items()} <= {(("g", "t", 0), removed_at)}
        return {each.is_forgotten: each.expired for each in found.values()}

    assert wrong(REMOVED, removal) == []


def test_many_deaths_at_once_make_few_log_lines() -> None:
    """Twenty deaths are logged by name, the others as a number."""
    life = Life()
    names = [f"g-{number}" for number in range(50)]
    life.read([(group_key(name), group_value(1, [])) for name in names], 10)
    life.read([(group_key(name), None) for name in names], 20)
    with structlog.testing.capture_logs() as lines:
        counted = life.tick(30)
    assert sum(counts(counted.deaths).values()) == 50
    assert [line["event"] for line in lines] == ["group died"] * 20 + ["more groups died"]
    assert lines[-1]["groups"] == 30
