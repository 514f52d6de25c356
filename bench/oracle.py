"""The expected final state of the traffic, computed from its columns alone, without `decoders` and `stream`.

Measurements of the benchmark are valid only when the job's state equals this one.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bench.traffic import Chunk, Kind, Traffic, chunks


@dataclasses.dataclass(frozen=True, slots=True)
class FinalState:
    """The last state of every key and group; the other columns are undefined where `alive` is False."""

    alive: NDArray[np.bool_]
    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    commits: NDArray[np.int64]
    """Commits since the last tombstone of the key."""
    group_alive: NDArray[np.bool_]
    """True where the group's membership is known; its offsets may be known without it."""
    generation: NDArray[np.int64]

    def apply(self, chunk: Chunk) -> None:
        """Apply the next records."""
        self._apply_offsets(chunk)
        rows = (chunk.kind == Kind.MEMBERSHIP) | (chunk.kind == Kind.GROUP_TOMBSTONE)
        last = _last_rows(chunk.key, np.flatnonzero(rows), len(self.group_alive))
        seen = last >= 0
        self.group_alive[seen] = chunk.kind[last[seen]] == Kind.MEMBERSHIP
        self.generation[seen] = chunk.offset[last[seen]]

    def _apply_offsets(self, chunk: Chunk) -> None:
        deleted = chunk.kind == Kind.OFFSET_TOMBSTONE
        commits = np.flatnonzero(chunk.kind == Kind.COMMIT)
        last_delete = _last_rows(chunk.key, np.flatnonzero(deleted), len(self.alive))
        last_commit = _last_rows(chunk.key, commits, len(self.alive))
        self.commits[last_delete >= 0] = 0
        counted = commits[commits > last_delete[chunk.key[commits]]]
        self.commits[:] += np.bincount(chunk.key[counted], minlength=len(self.alive))
        seen = np.maximum(last_delete, last_commit) >= 0
        self.alive[seen] = (last_commit > last_delete)[seen]
        committed = last_commit >= 0
        self.offset[committed] = chunk.offset[last_commit[committed]]
        self.time[committed] = chunk.time[last_commit[committed]]


def initial_state(traffic: Traffic) -> FinalState:
    """Return the state before the first record."""
    keys, groups = traffic.keys, traffic.groups
    return FinalState(
        alive=np.zeros(keys, np.bool_),
        offset=np.zeros(keys, np.int64),
        time=np.zeros(keys, np.int64),
        commits=np.zeros(keys, np.int64),
        group_alive=np.zeros(groups, np.bool_),
        generation=np.zeros(groups, np.int64),
    )


def final_state(traffic: Traffic) -> FinalState:
    """Return the state after the whole traffic."""
    state = initial_state(traffic)
    for chunk in chunks(traffic):
        state.apply(chunk)
    return state


def _last_rows(key: NDArray[np.int32], rows: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    """Return for each key its last row among `rows` (ascending); -1 where there is none."""
    last = np.full(size, -1, np.int64)
    np.maximum.at(last, key[rows], rows)
    return last
