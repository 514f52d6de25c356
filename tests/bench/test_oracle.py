"""The oracle, compared with a record-by-record computation."""

from __future__ import annotations

import numpy as np
import pytest

from bench import traffic as made
from bench.oracle import final_state
from bench.traffic import Kind, Traffic, chunks

DENSE = Traffic(9_000, groups=4, partitions_per_group=5)


@pytest.mark.parametrize("size", [9_000, 1_000, 37], ids=["one chunk", "nine chunks", "many odd chunks"])
def test_final_state_equals_a_record_by_record_computation(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Every key and group is equal for every chunk size, also deleted ones."""
    monkeypatch.setattr(made, "CHUNK", size)
    # Many tombstones remove keys, which are committed again within a chunk and over its borders.
    monkeypatch.setattr(made, "TOMBSTONES", 0.3)
    offsets: dict[int, tuple[int, int, int]] = {}
    generations: dict[int, int] = {}
    for chunk in chunks(DENSE):
        for kind, key, offset, time in zip(*(column.tolist() for column in _columns(chunk)), strict=True):
            if kind == Kind.COMMIT:
                offsets[key] = (offset, time, offsets.get(key, (0, 0, 0))[2] + 1)
            elif kind == Kind.OFFSET_TOMBSTONE:
                offsets.pop(key, None)
            elif kind == Kind.MEMBERSHIP:
                generations[key] = offset
            else:
                generations.pop(key, None)
    state = final_state(DENSE)
    assert set(np.flatnonzero(state.alive).tolist()) == offsets.keys()
    for key, (offset, time, commits) in offsets.items():
        assert (state.offset[key], state.time[key], state.commits[key]) == (offset, time, commits)
    assert set(np.flatnonzero(state.group_alive).tolist()) == generations.keys()
    assert {group: state.generation[group] for group in generations} == generations


def _columns(chunk: made.Chunk) -> tuple[np.ndarray, ...]:
    return chunk.kind, chunk.key, chunk.offset, chunk.time
