"""Tests of one tick: the order of its steps, and the content of its result."""

import dataclasses
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from exporters.compatibility.selection import OtherSelection
from exporters.selection.series import SeriesSelection, SeriesSelector
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.errors import Unreachable
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import RemovalCause
from stream.tick import run_tick as module
from stream.tick.context import UNKNOWN_CLUSTER, LookupResults
from stream.tick.hidden_commits.overlay import HiddenCommits
from stream.tick.run_tick import TickParts, read_facts, run_tick, try_groups
from tests.stream.groups import written
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value

COMMITTED = 1_000
RETENTION = OffsetsRetention(604_800_000, None, "broker")
CLUSTER: Any = None


class RecordedLookups:
    """Lookups without a result that record their calls; one commit is hidden in the log."""

    topics = frozenset({"hidden"})
    groups_with_records = frozenset({"g"})

    def __init__(self, calls: list[str]) -> None:
        self._calls, self.hidden = calls, self
        self._overlaid: GroupColumns | None = None

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self._calls.append(name)

    def look_up(self, *_: Any) -> LookupResults:
        self._calls.append("look_up")
        return LookupResults()

    def apply(self, state: GroupColumns, *_: Any) -> HiddenCommits:
        self._calls.append("apply")
        overlaid = self._overlaid or dataclasses.replace(state)
        return HiddenCommits(overlaid, np.ones(len(overlaid.runs), np.bool_), hidden_groups=frozenset("g"))


class Tick:
    """A tick over one group that committed offset 4 of t-0."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.topics: set[str] = set()
        self.records_of: frozenset[str] = frozenset()
        self.is_unreachable = False
        self.shard = ShardReader()
        self.shard.read([(commit_key("g", "t", 0), commit_value(4, COMMITTED))], time=COMMITTED)
        self.lookups: Any = RecordedLookups(self.calls)
        self.parts = TickParts(self.lookups)
        monkeypatch.setattr(module, "read_ends", self._read_ends)

    def _copy_state(self, records_of: frozenset[str]) -> GroupColumns:
        self.calls.append("copy state")
        self.records_of = records_of
        return self.shard.driver_state.columns(records_of)

    def _read_ends(self, _: object, topics: Collection[str]) -> pa.Table:
        self.calls.append("read ends")
        self.topics = set(topics)
        if self.is_unreachable:
            raise Unreachable("broker-1:9092 does not answer", "is it up?")
        return ends_of([("t", 0, 10, 10, 0, None), (NAME, 0, 100, 90, 0, None)])

    def run(self, poller: Any = None) -> Any:
        return run_tick(self.parts, read_facts(self.parts, self._copy_state, CLUSTER, poller, {0: 80}, current=True))


@pytest.fixture
def tick(monkeypatch: pytest.MonkeyPatch) -> Tick:
    """Return a tick with a cluster that answers."""
    return Tick(monkeypatch)


def test_the_steps_of_a_tick_are_in_order(tick: Tick) -> None:
    """End offsets are read after the state and the hidden commits; the caller starts the search of offset times."""
    tick.run()
    assert tick.calls == [
        "copy state",
        "read",
        "read ends",
        "look_up",
        "apply",
        "backfill_ends",
        "schedule",
    ]


def test_an_unreachable_cluster_ends_the_tick_before_the_evaluation(tick: Tick) -> None:
    """The error has the text of its cause, and no step follows the request for end offsets."""
    tick.is_unreachable = True
    with pytest.raises(Unreachable, match="does not answer"):
        tick.run()
    assert tick.calls == ["copy state", "read", "read ends"]


def test_the_evaluator_records_a_missed_tick(tick: Tick) -> None:
    """The end offsets are known again since the tick after it."""
    tick.run()
    tick.is_unreachable = True
    with pytest.raises(Unreachable):
        tick.run()
    tick.is_unreachable = False
    inputs = tick.run().evaluated.evaluation.window.inputs
    history = tick.parts.evaluator.end_history
    assert history.states.answered_since(history.find_rows(inputs, inputs.ends.place)).tolist() == [inputs.now]


def test_a_hidden_death_has_a_cause_and_leaves_no_offset_to_expire(tick: Tick) -> None:
    """The cause follows from what the tick knows, because only the log decides causes. No offset is left to expire."""
    hidden = ShardReader()
    hidden.read([(commit_key("g", "t", 0), commit_value(4, COMMITTED))], time=COMMITTED)
    hidden.read([(commit_key("g", "t", 0), None)], time=COMMITTED + 1)
    tick.lookups._overlaid = hidden.driver_state.columns()
    known = dataclasses.replace(UNKNOWN_CLUSTER, retention=RETENTION, partition_counts={"t": 1})
    derived = tick.run(SimpleNamespace(poll=lambda *_: known)).evaluated.derived
    assert len(derived.expiry.offset) == 0
    (*_, death) = hidden.driver_state.columns().histories["g"].transitions
    assert derived.causes.of("g", death, known) is RemovalCause.DELETED


def test_predictions_are_checked_with_what_the_log_hides(tick: Tick, monkeypatch: pytest.MonkeyPatch) -> None:
    """The members are those behind the transaction, and tombstones of hidden groups are not missed; rows are logged."""
    checked: list[Any] = []
    check = tick.parts.terminations.check_predictions
    monkeypatch.setattr(
        tick.parts.terminations,
        "check_predictions",
        lambda state, *args, **named: checked.append((state, named)) or check(state, *args, **named),
    )
    tick.shard.read([(commit_key("g", "t", 1), commit_value(4, COMMITTED))], time=COMMITTED)
    hidden = ShardReader()
    hidden.read([(commit_key("g", "t", 0), commit_value(4, COMMITTED)), written.group_epoch(2)], COMMITTED)
    tick.lookups._overlaid = hidden.driver_state.columns()
    tick.run()
    ((state, named),) = checked
    assert (list(state.memberships), len(state.runs)) == (["g"], 2)
    assert (named["unread"], named["current"]) == ({"g"}, True)


def test_a_trial_publishes_and_requests_nothing(tick: Tick) -> None:
    """A trial calls no lookup, requests no end offsets and records no verdict change."""
    facts = tick.run().evaluated.derived.facts
    tick.calls.clear()
    changes = tick.parts.evaluator.changes_of("g")
    try_groups(tick.parts, facts)
    assert tick.calls == []
    assert tick.parts.evaluator.changes_of("g") == changes


def test_the_table_for_other_exporters_has_rows_only_if_configured(tick: Tick) -> None:
    """The table is empty by default, and has rows and metrics with an exporter; a trial then raises no exception."""
    assert len(tick.run().published.snapshot.compatibility) == 0
    tick.parts.selector = SeriesSelector(SeriesSelection(compatibility=OtherSelection(("kafka_exporter",))))
    result = tick.run()
    published = result.published
    assert published.snapshot.compatibility.column("topic").to_pylist() == ["t"]
    assert {family.metric.name for family in published.exposition.families} >= {"kafka_consumergroup_lag"}
    try_groups(tick.parts, result.evaluated.derived.facts)
