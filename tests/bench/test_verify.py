"""The comparison with the oracle finds every kind of wrong answer."""

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
    """Return the final state of the oracle."""
    return final_state(SIZE)


def exposition(state: FinalState) -> str:
    """Return a state as the text of `/metrics`."""
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


def test_correct_metrics_have_no_differences(wanted: FinalState) -> None:
    """The exposition of the oracle's state has no differences."""
    assert metric_differences(exposition(wanted), wanted, SIZE) == []


@pytest.mark.parametrize("column", ["alive", "offset", "time"])
def test_one_wrong_element_is_a_difference(wanted: FinalState, column: str) -> None:
    """A missing key, or a key with a wrong offset or time, is at least one difference."""
    wrong = getattr(wanted, column).copy()
    at = np.flatnonzero(wanted.alive)[7]
    wrong[at] = wrong[at] + 1 if column != "alive" else False
    text = exposition(dataclasses.replace(wanted, **{column: wrong}))
    assert metric_differences(text, wanted, SIZE)


def test_empty_exposition_is_a_difference(wanted: FinalState) -> None:
    """An exposition without groups differs in every metric."""
    assert len(metric_differences("", wanted, SIZE)) == 3
