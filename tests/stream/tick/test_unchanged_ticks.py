"""Ticks at which nothing changes: the published snapshot differs from a new one by ages only."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from exporters.catalogue.metric import Preset
from exporters.readmodel import Snapshot
from exporters.selection.series import Granularity, SeriesSelection, SeriesSelector
from stream.cluster.offsets_topic import NAME
from stream.tick import run_tick as module
from stream.tick.run_tick import TickParts, run_tick
from stream.tick.verdicts.evaluate import VerdictEvaluator
from tests.stream.tick.timeline import LIMITS, START
from tests.support.driver_states import ShardReader, ends_of
from tests.support.raw import commit_key, commit_value, group_key, group_value

TICK = 10
FEW = SeriesSelection(Preset.LEAN, granularity=Granularity.GROUP)
_AGES = {"time_lag", "time_lag_max", "time_lag_exact", "time_lag_max_exact"}
_PAST = {"produce_rate", "consume_rate", "trend", "catch_up_seconds", "scalable_lag", "sentence"}


def _shown(snapshot: Snapshot) -> list[Any]:
    """Return what does not depend on the time of the snapshot, and the common causes."""
    tables = snapshot.partitions, snapshot.groups, snapshot.topics, snapshot.log_ends, snapshot.findings
    names = [[name for name in table.column_names if name not in _AGES | _PAST] for table in tables]
    return [table.select(names_of).to_pylist() for table, names_of in zip(tables, names, strict=True)]


@pytest.mark.parametrize("seed", range(2))
def test_a_snapshot_that_is_kept_has_what_a_new_one_would_have(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts change at the same tick, also in the middle of an idle time; ages are at most two ticks too low."""
    dice, shard, second, kept, changed = np.random.default_rng(seed), ShardReader(), 0, 0, 0
    ends, verdicts = [100, 100], [""]
    groups = {name: str(dice.choice(["reads", "stops"])) for name in "abcd"}
    for name in "ab":
        shard.read([(group_key(name), group_value(1, ["m"]))], START * 1000)
    parts = [TickParts(evaluator=VerdictEvaluator(LIMITS), selector=SeriesSelector(FEW)) for _ in range(2)]
    offsets = [(NAME, 0, 100, 100, 0, None)]
    monkeypatch.setattr(module, "read_ends", lambda *_: ends_of([("t", 0, *ends, 0, None), *offsets]))
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: START + second))
    for phase in range(4):
        is_idle = phase % 2 == 1
        for number in range(int(dice.integers(6, 20))):
            second += TICK
            now = (START + second) * 1000
            if not is_idle:
                ends = [ends[0] + 50] * 2
                reading = [name for name, habit in groups.items() if habit == "reads" or phase == 0]
                at = {name: ends[0] - int(dice.choice([0, 5, 60])) for name in reading}
                shard.read([(commit_key(name, "t", 0), commit_value(end, now)) for name, end in at.items()], now)
            parts[1].last = None
            shots = []
            for each in parts:
                copy = cast("Any", shard.driver_state.columns)
                shots.append(run_tick(each, copy, cast("Any", None), None, {0: 100}, current=True).published.snapshot)
            assert _shown(shots[0]) == _shown(shots[1])
            assert shots[0].taken_at == shots[1].taken_at
            ages = zip(*(shot.partitions["time_lag"].to_pylist() for shot in shots), strict=True)
            assert all(new is None or -0.01 < new - old < 2 * TICK + 0.01 for old, new in ages)
            kept += parts[0].last is not None and parts[0].last.kept > 0
            verdicts.append(str(shots[1].groups["verdict"].to_pylist()))
            changed += is_idle and number > 0 and verdicts[-1] != verdicts[-2]
    assert kept > 6
    assert changed > 0
