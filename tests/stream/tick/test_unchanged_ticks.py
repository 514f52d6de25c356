"""Ticks at which nothing changes: what they evaluate, and what they publish."""

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from exporters.catalogue.metric import Preset
from exporters.readmodel import Snapshot
from exporters.selection.series import Granularity, SeriesSelection, SeriesSelector
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.errors import Unreachable
from stream.config.ownership import GroupPolicies
from stream.health.share.progress import ShareProgress
from stream.tick import run_tick as module
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.inputs.polled_cluster import PolledCluster
from stream.tick.run_tick import TickParts, TickResult, read_facts, run_tick
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.tick.timeline import LIMITS, START, TICK
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value

FEW = SeriesSelection(Preset.LEAN, granularity=Granularity.GROUP)
_AGES = {"time_lag", "time_lag_max", "time_lag_exact", "time_lag_max_exact"}
_PAST = {"produce_rate", "consume_rate", "trend", "catch_up_seconds", "scalable_lag", "sentence"}
_JUDGED = {"verdict", "severity", "verdict_since", "verdict_partitions"}


class Ticks:
    """Ticks of a monitor of the partition t-0, of which the caller changes what it likes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, shard: ShardReader) -> None:
        self.parts = TickParts(evaluator=VerdictEvaluator(LIMITS), selector=SeriesSelector(FEW))
        self.parts.polled = lambda: self.polled
        self.shard, self.second, self.positions = shard, 0, {0: 100}
        self.end: int | None = 100
        self.context, self.polled = UNKNOWN_CLUSTER, PolledCluster()
        self.is_unreachable = False
        monkeypatch.setattr(module, "read_ends", self._read_ends)
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: START + self.second))

    def _read_ends(self, *_: object) -> Any:
        if self.is_unreachable:
            raise Unreachable("broker-1:9092 does not answer", "is it up?")
        error = "no_leader" if self.end is None else None
        return ends_of([("t", 0, self.end, self.end, 0, error), (NAME, 0, 100, 100, 0, None)])

    def tick(self, parts: TickParts | None = None) -> TickResult:
        copy, any_of, parts = self.shard.driver_state.columns, cast("Any", self), parts or self.parts
        return run_tick(parts, read_facts(parts, cast("Any", copy), any_of, any_of, self.positions, current=True))

    def poll(self, *_: object) -> Any:
        return self.context

    def commit(self, group: str, offset: int) -> None:
        now = (START + self.second) * 1000
        self.shard.read([(commit_key(group, "t", 0), commit_value(offset, now))], now)

    def evaluated(self, ticks: int) -> list[bool]:
        """Run some ticks, and return which of them were evaluated."""
        found = []
        for _ in range(ticks):
            self.second += TICK
            found.append(self.tick().evaluated is not None)
        return found


def _shown(snapshot: Snapshot, names_of: Callable[[list[str]], list[str]]) -> list[Any]:
    """Return some of what does not depend on the time of the snapshot."""
    tables = snapshot.partitions, snapshot.groups, snapshot.topics, snapshot.log_ends
    return [table.select(names_of(table.column_names)).to_pylist() for table in tables]


def _read(names: list[str]) -> list[str]:
    return [name for name in names if name not in _AGES | _PAST | _JUDGED]


def _verdicts(snapshot: Snapshot) -> dict[str, str]:
    return dict(zip(*(snapshot.groups[name].to_pylist() for name in ("group", "verdict")), strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_a_snapshot_that_is_kept_has_what_a_new_one_would_have(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a monitor that evaluates each tick, what was read is the same at once, verdicts at most two ticks later.

    Ages are at most two ticks too low. Verdicts also change in the middle of an idle time.
    """
    dice, shard, kept, changed = np.random.default_rng(seed), ShardReader(), 0, 0
    ticks, every = (
        Ticks(monkeypatch, shard),
        TickParts(evaluator=VerdictEvaluator(LIMITS), selector=SeriesSelector(FEW)),
    )
    verdicts: list[dict[str, str]] = []
    groups = {name: str(dice.choice(["reads", "stops"])) for name in "abcd"}
    for name in "ab":
        shard.read([(group_key(name), group_value(1, ["m"]))], START * 1000)
    for phase in range(4):
        is_idle = phase % 2 == 1
        for number in range(int(dice.integers(8, 40) if is_idle else dice.integers(6, 20))):
            ticks.second += TICK
            if not is_idle:
                ticks.end = end = (ticks.end or 0) + 50
                for name in [name for name, habit in groups.items() if habit == "reads" or phase == 0]:
                    ticks.commit(name, end - int(dice.choice([0, 5, 60])))
            every.last = None
            result, new = ticks.tick(), ticks.tick(every).published.snapshot
            shown = result.published.snapshot
            assert _shown(shown, _read) == _shown(new, _read)
            assert shown.taken_at == new.taken_at
            ages = zip(*(shot.partitions["time_lag"].to_pylist() for shot in (shown, new)), strict=True)
            assert all(new is None or -0.01 < new - old < 2 * TICK + 0.01 for old, new in ages)
            verdicts.append(_verdicts(new))
            late = _verdicts(shown)
            assert all(late[name] in {each.get(name) for each in verdicts[-3:]} for name in late)
            kept += result.evaluated is None
            changed += is_idle and number > 0 and verdicts[-1] != verdicts[-2]
    assert kept > 6
    assert changed > 0


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """Return the ticks of a group that has read all, and of which nothing has changed for a while."""
    ticks = Ticks(monkeypatch, ShardReader())
    ticks.commit("g", 100)
    ticks.evaluated(20)
    return ticks


def test_one_of_three_ticks_is_evaluated_while_nothing_changes(ticks: Ticks) -> None:
    """The time of the snapshot is that of the last tick, and ages are those of the last evaluation."""
    found = ticks.evaluated(9)
    assert sum(found) == 3
    assert found[:3] == found[3:6] == found[6:]
    published = ticks.tick().published
    assert published.snapshot.taken_at == START + ticks.second


_TEAM: dict[str, str | None] = {"team": "a", "tier": None, "link": None, "max_severity": None}
CHANGES: dict[str, Callable[[Ticks], None]] = {
    "commit": lambda ticks: ticks.commit("g", 100),
    "group": lambda ticks: ticks.commit("new", 100),
    "end": lambda ticks: setattr(ticks, "end", 101),
    "truncated log": lambda ticks: setattr(ticks, "end", 99),
    "position": lambda ticks: setattr(ticks, "positions", {0: 99}),
    "topic": lambda ticks: setattr(ticks, "context", dataclasses.replace(ticks.context, partition_counts={"t": 2})),
    "share groups": lambda ticks: setattr(ticks, "polled", PolledCluster(ShareProgress(START * 1000, {"s": ()}))),
    "policies": lambda ticks: setattr(ticks.parts, "policies", GroupPolicies((("g", _TEAM),))),
    "unfinished search": lambda ticks: ticks.parts.evaluate_next(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_first_change_is_evaluated_at_once(ticks: Ticks, change: str) -> None:
    """Whatever has changed, and if the result has changed also the ticks after it, for as long as rules count."""
    CHANGES[change](ticks)
    assert all(ticks.evaluated(1 if change == "position" else 6))


def test_a_tick_without_an_answer_is_followed_by_evaluations(ticks: Ticks) -> None:
    """The ends are the same as before, but known again since then."""
    ticks.is_unreachable = True
    with pytest.raises(Unreachable):
        ticks.tick()
    ticks.is_unreachable = False
    assert all(ticks.evaluated(6))


def test_ticks_that_were_not_evaluated_are_remembered(ticks: Ticks) -> None:
    """The ends were known at them, no record was written before, and a leader that is lost now was there."""
    while ticks.evaluated(1)[0] or ticks.parts.last is None or ticks.parts.last.shown_again < 2:
        pass
    last = (START + ticks.second) * 1000
    ticks.second, ticks.end = ticks.second + 3 * TICK, None
    assert ticks.tick().evaluated is not None
    history, row = ticks.parts.evaluator.end_history, np.zeros(1, np.int64)
    assert history.memory.packed.rows().end_known_at.tolist() == [last]
    ticks.second, ticks.end = ticks.second + TICK, 101
    ticks.tick()
    assert history.states.answered_since(row).tolist() == [(START + ticks.second) * 1000]
    bracket = history.high_watermark.brackets(row, np.array([100]))
    assert (bracket.since.tolist(), bracket.until.tolist()) == ([last], [last + 4 * TICK * 1000])
