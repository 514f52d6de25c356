"""The benchmark's judge: it must find every kind of wrong answer, or its praise is worth nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bench.oracle import FinalState, final_state
from bench.traffic import Traffic
from bench.verify import metric_differences

SIZE = Traffic(5_000, groups=10)


@pytest.fixture(scope="module")
def wanted() -> FinalState:
    """Give the truth."""
    return final_state(SIZE)


def exposition(state: FinalState) -> str:
    """Write a state as `/metrics` does."""
    lines = ["# TYPE lagwarden_partition_lag gauge"]
    for key in np.flatnonzero(state.alive).tolist():
        group, partition = divmod(key, SIZE.partitions_per_group)
        labels = f'{{group="{SIZE.group(group)}",topic="{SIZE.topic(group)}",partition="{partition}"}}'
        lines += [
            f"lagwarden_partition_lag{labels} {SIZE.log_end - state.offset[key]}",
            f"lagwarden_partition_committed_offset{labels} {state.offset[key]}",
            f"lagwarden_partition_commit_timestamp_seconds{labels} {state.time[key] / 1000}",
        ]
    return "\n".join(lines)


def test_the_truth_is_true(wanted: FinalState) -> None:
    """A right answer has no differences."""
    assert metric_differences(exposition(wanted), wanted, SIZE) == []


@pytest.mark.parametrize("column", ["alive", "offset", "time"])
def test_one_wrong_element_is_found(wanted: FinalState, column: str) -> None:
    """One key that is dead, or has another offset or time, is one difference at least."""
    wrong = getattr(wanted, column).copy()
    at = np.flatnonzero(wanted.alive)[7]
    wrong[at] = wrong[at] + 1 if column != "alive" else False
    told = exposition(dataclasses.replace(wanted, **{column: wrong}))
    assert metric_differences(told, wanted, SIZE)


def test_silence_is_no_answer(wanted: FinalState) -> None:
    """An exposition without groups differs in everything."""
    assert len(metric_differences("", wanted, SIZE)) == 3
