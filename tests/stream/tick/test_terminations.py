"""The ledger: deaths by cause and predictions held against tombstones, of what is live alone."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from stream.groups.expiry.predict import OffsetsRetention
from stream.groups.membership.unassigned import UnassignedTracker
from stream.groups.reduce import StateLimits
from stream.tick.context import ClusterContext
from stream.tick.terminations import TerminationCounts, Terminations
from tests.support.fleets import World
from tests.support.raw import commit_key, commit_value, group_key, group_value

DAY = 86_400_000
RETENTION = OffsetsRetention(7 * DAY, 600_000, "broker")


class Life:
    """A world with one group that commits at time 0, and a ledger that watches it."""

    def __init__(self, live_from: int = 0) -> None:
        self.world = World(StateLimits(keep_slots=10, live_from=live_from))
        self.ledger = Terminations()
        self.catching_up = False
        self.topics = {"t": 1}
        self.recreated: dict[str, int] = {}
        self.read([(commit_key("g", "t", 0), commit_value(5, 0))], 0)

    def read(self, records: list[Any], time: int) -> None:
        """Let a batch happen."""
        self.world.read(records, time=time)
        self.ledger.record(self.world.news, catching_up=self.catching_up)

    def judge(self, now: int, *, current: bool = True, unread: frozenset[str] = frozenset()) -> TerminationCounts:
        """Let a tick happen at this time (ms)."""
        fleet = self.world.fleet.columns()
        self.asked = self.ledger.topics_in_question(fleet)
        around = ClusterContext(RETENTION, self.topics, recreated=self.recreated)
        self.context = around.for_groups(fleet, UnassignedTracker(), self.ledger.decide_causes(fleet, around))
        assert self.context.expiry is not None
        return self.ledger.check_predictions(
            fleet, self.context.expiry, RETENTION, now / 1000, current=current, unread=unread
        )

    @property
    def cause(self) -> str:
        """Why the group ended, as it is shown."""
        life = self.world.fleet.columns().histories["g"]
        return str(self.context.decided_cause("g", life.transitions[-1]))


def counts(table: Any) -> dict[str, int]:
    """Read a table of names and counts; zeros left out."""
    names, numbers = (column.to_pylist() for column in table.columns)
    return {name: number for name, number in zip(names, numbers, strict=True) if number}


@pytest.mark.parametrize(
    ("gone_at", "topics", "cause", "check"),
    [
        (7 * DAY + 1000, {"t": 1}, "expired", "kept"),
        (DAY, {"t": 1}, "deleted", "deleted"),
        (DAY, {"t": 0}, "topic deleted", "deleted"),
        (DAY, {}, "unknown", "deleted"),
    ],
    ids=["in its time", "before its time", "with its topic", "while the topics cannot be asked"],
)
def test_a_death_counts_once_by_its_cause(gone_at: int, topics: dict[str, int], cause: str, check: str) -> None:
    """The death of a group that only had offsets, and its offset's prediction, are counted and told in one line."""
    life = Life()
    life.judge(1000)
    life.topics = topics
    life.read([(commit_key("g", "t", 0), None)], gone_at)
    with structlog.testing.capture_logs() as lines:
        accounts = life.judge(gone_at + 1000)
    assert (counts(accounts.deaths), counts(accounts.checks)) == ({cause: 1}, {check: 1})
    assert [(line["group"], line["why"].split(":")[0]) for line in lines] == [("g", cause)]
    assert counts(life.judge(gone_at + 2000).deaths) == {cause: 1}


def test_a_cause_is_decided_once() -> None:
    """That its topic is deleted after a group was, or made anew after its topic was deleted, changes no cause."""
    life = Life()
    life.judge(1000)
    life.read([(commit_key("g", "t", 0), None)], DAY)
    life.judge(DAY + 1000)
    assert (life.asked, life.cause) == ({"t"}, "deleted")
    life.topics = {"t": 0}
    life.judge(DAY + 2000)
    assert (life.asked, life.cause) == (set(), "deleted")


def test_topic_made_anew_is_not_the_one_that_was_deleted() -> None:
    """What ended before the new one was seen ended with the old one."""
    life = Life()
    life.judge(1000)
    life.read([(commit_key("g", "t", 0), None)], DAY)
    life.recreated = {"t": DAY + 500}
    accounts = life.judge(DAY + 1000)
    assert (life.cause, counts(accounts.deaths)) == ("topic deleted", {"topic deleted": 1})


def test_what_the_state_remembers_is_judged_again_after_a_restart_and_not_counted() -> None:
    """Its topics are asked for at the first tick, for nobody else may commit to them any more."""
    life = Life()
    life.read([(commit_key("g", "t", 0), None)], DAY)
    life.ledger, life.topics = Terminations(), {"t": 0}
    accounts = life.judge(DAY + 1000)
    assert (life.asked, life.cause, counts(accounts.deaths)) == ({"t"}, "topic deleted", {})


def test_replayed_history_counts_nowhere() -> None:
    """A death that the initial catch-up reads is no news, and neither are its tombstones."""
    life = Life(live_from=100)
    life.catching_up = True
    life.read([(commit_key("g", "t", 0), None)], DAY)
    accounts = life.judge(2 * DAY)
    assert (counts(accounts.deaths), counts(accounts.checks)) == ({}, {})
    assert life.cause == "deleted", "history tells it all the same"


def test_death_while_the_monitor_was_down_counts_when_it_is_back() -> None:
    """What the catch-up after a restart reads is live; when a tombstone was read late, its prediction is not judged."""
    life = Life()
    life.judge(1000)
    life.catching_up = True
    life.read([(commit_key("g", "t", 0), None)], DAY)
    accounts = life.judge(2 * DAY)
    assert (counts(accounts.deaths), counts(accounts.checks)) == ({"deleted": 1}, {})


def test_offset_that_should_be_gone_is_missed_only_while_all_is_read() -> None:
    """Two looks of the broker and a minute after its hour; a reader that is behind cannot say so."""
    life = Life()
    hour = 7 * DAY
    late = hour + 2 * 600_000 + 61_000
    life.judge(hour - 1000, current=False)
    assert counts(life.judge(late, current=False).checks) == {}
    life.judge(late + 1)
    assert counts(life.judge(late + 2 * 600_000 + 62_000).checks) == {"missing": 1}


def test_the_errors_are_those_of_what_expired() -> None:
    """A tombstone nine minutes after its hour is an error of nine minutes; one before it is none."""
    life = Life()
    life.judge(1000)
    life.read([(commit_key("g", "t", 0), None)], 7 * DAY + 540_000)
    errors = life.judge(7 * DAY + 541_000).errors
    assert errors is not None
    assert (errors.count, errors.total) == (1, 540.0)


def test_many_deaths_at_once_are_told_in_few_lines() -> None:
    """Twenty by name, the others by their number."""
    life = Life()
    names = [f"g-{number}" for number in range(50)]
    life.read([(group_key(name), group_value(1, [])) for name in names], 10)
    life.read([(group_key(name), None) for name in names], 20)
    with structlog.testing.capture_logs() as lines:
        accounts = life.judge(30)
    assert sum(counts(accounts.deaths).values()) == 50
    assert [line["event"] for line in lines] == ["group died"] * 20 + ["more groups died"]
    assert lines[-1]["groups"] == 30


def test_a_tombstone_that_a_transaction_hides_is_not_missing() -> None:
    """Nor late when it is read at last; one that does not come after that is missing in its time."""
    for comes in (True, False):
        life = Life()
        life.judge(1000)
        due = 7 * DAY
        checks = {}
        for minute in range(0, 120, 10):
            checks = counts(life.judge(due + minute * 60_000, unread=frozenset({"g"})).checks)
        assert checks == {}
        if comes:
            life.read([(commit_key("g", "t", 0), None)], due + 300_000)
        for minute in range(120, 180, 10):
            checks = counts(life.judge(due + minute * 60_000).checks)
        assert checks == {"kept" if comes else "missing": 1}
