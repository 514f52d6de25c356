"""The window as a whole: recorded columns, and no change of the history while it is built."""

import copy
import dataclasses
import functools
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream.health.evaluator import apply_rules
from stream.health.features.commit_windows import CommitWindowReader
from stream.health.features.memory.columns import Memory
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window, build, build_without_history
from stream.health.limits import HealthLimits
from stream.health.packed_columns import PackedTable
from tests.stream.health.random_inputs import sequence

RECORDED = Path(__file__).parent / "recorded_windows.json"
SEEDS = (*range(8), 23)
_NO_COLUMNS = frozenset({"inputs", "limits", "now"})


def columns(value: Any, name: str = "") -> dict[str, np.ndarray]:
    if isinstance(value, np.ndarray):
        return {name: value}
    fields = [field.name for field in dataclasses.fields(value) if field.name not in _NO_COLUMNS]
    return {
        key: column
        for field in fields
        for key, column in columns(getattr(value, field), f"{name}.{field}".strip(".")).items()
    }


@functools.cache
def evaluate(seed: int) -> list[tuple[Window, np.ndarray]]:
    limits = HealthLimits()
    history, made = PartitionHistory(96, tick=limits.tick), []
    for inputs in sequence(seed):
        if inputs is None:
            history.states.record_missed_tick()
            continue
        window = build(inputs, history.record(inputs, limits.first_commit_grace), history, limits)
        made.append((window, apply_rules(window)[0]))
    return made


def checksums(seed: int) -> dict[str, int]:
    """Return a checksum of each column over all ticks of a sequence."""
    sums: dict[str, int] = {}
    for window, verdict in evaluate(seed):
        for name, column in {**columns(window), "rule_verdict": verdict}.items():
            plain = np.round(column, 6) if column.dtype == np.float64 else column
            sums[name] = zlib.crc32(np.ascontiguousarray(plain).tobytes(), sums.get(name, 0))
    return sums


def record() -> None:
    """Write the checksums; to be called by hand, after an intended change of the columns only.

    `python -c "from tests.stream.health.features import test_window; test_window.record()"`
    """
    RECORDED.write_text(json.dumps({str(seed): checksums(seed) for seed in SEEDS}, indent=1) + "\n")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_inputs_have_the_recorded_columns(seed: int) -> None:
    """The columns have the recorded checksums: a change of the code that keeps all verdicts changes no column.

    Each column is in the recording, and each recorded column exists.
    """
    recorded = json.loads(RECORDED.read_text())[str(seed)]
    found = checksums(seed)
    assert [name for name in found | recorded if found.get(name) != recorded.get(name)] == []


@pytest.mark.parametrize("seed", [0, 5])
def test_building_a_window_changes_nothing(seed: int) -> None:
    """Building the window of a tick twice has the same result, and the history does not change."""
    limits = HealthLimits()
    history = PartitionHistory(tick=limits.tick)
    for inputs in filter(None, sequence(seed, 12)):
        observation = history.record(inputs, limits.first_commit_grace)
        before = copy.deepcopy(history)
        first, again = (columns(build(inputs, observation, history, limits)) for _ in range(2))
        other = columns(build(inputs, observation, before, limits))
        for name, column in first.items():
            np.testing.assert_array_equal(column, again[name])
            np.testing.assert_array_equal(column, other[name])


@pytest.mark.parametrize("seed", SEEDS)
def test_kept_commit_windows_equal_new_ones(seed: int) -> None:
    """What is kept of unchanged rows equals what all commits show, also while histories lose and get points."""
    limits, random = HealthLimits(), np.random.default_rng(seed)
    kept, new = (PartitionHistory(12, tick=limits.tick) for _ in range(2))
    for inputs in filter(None, sequence(seed)):
        new.commit_windows = CommitWindowReader()
        found = []
        rows = random.integers(0, max(len(kept.high_watermark), 1), 3)[: len(kept.high_watermark)]
        times, ends = inputs.now - random.integers(1, 600_000, len(rows)), random.integers(0, 1_000, len(rows))
        for history in (kept, new):
            history.add_past_ends(rows, times, ends)
            window = build(inputs, history.record(inputs, limits.first_commit_grace), history, limits)
            found.append((window.patience.tolist(), window.longest_pause.tolist(), window.trend.tolist()))
        assert found[0] == found[1]


def test_a_trimmed_window_keeps_its_columns() -> None:
    """The trimmed window has the columns of the window, without `behind`, and its limits, and no slots."""
    window = build_without_history(next(filter(None, sequence(3))), HealthLimits())
    assert len(window.inputs.slots) > 0
    packed = PackedTable.pack(window.memory, {Memory: ()})
    trimmed = window.trim(packed)
    assert len(trimmed.inputs.slots) == 0
    assert (trimmed.now, trimmed.limits) == (window.now, window.limits)
    kept = columns(dataclasses.replace(trimmed, memory=packed.rows()))
    assert kept.keys() == columns(window).keys()
    for name, column in columns(dataclasses.replace(window, behind=trimmed.behind)).items():
        np.testing.assert_array_equal(kept[name], column)
