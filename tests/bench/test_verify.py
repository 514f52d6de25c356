"""The comparison with the oracle finds every kind of wrong answer."""

import dataclasses

import numpy as np

from bench.oracle import FinalState, final_state
from bench.traffic import Traffic
from bench.verify import metric_differences

SIZE = Traffic(5_000, groups=10)


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


def test_one_wrong_element_is_a_difference() -> None:
    """A missing key, a wrong offset or time, and an empty exposition differ. The oracle's own state does not."""
    wanted = final_state(SIZE)
    assert metric_differences(exposition(wanted), wanted, SIZE) == []
    for column in ("alive", "offset", "time"):
        wrong = getattr(wanted, column).copy()
        at = np.flatnonzero(wanted.alive)[7]
        wrong[at] = wrong[at] + 1 if column != "alive" else False
        text = exposition(dataclasses.replace(wanted, **{column: wrong}))
        assert metric_differences(text, wanted, SIZE), column
    assert len(metric_differences("", wanted, SIZE)) == 3
