"""The expected final state of the traffic, from its columns alone, and its differences from the state of the job.

The expected final state of the traffic, computed from its columns alone, without `decoders` and `stream`.

Measurements of the benchmark are valid only when the job's state equals this one.
"""

import dataclasses
import re
import struct
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.encoding import commit_keys
from bench.traffic import Chunk, Kind, Traffic, chunks
from stream.groups.driver_state import GroupColumns


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


_SAMPLE: Final = re.compile(
    r'^lagwarden_partition_(\w+)\{group="([^"]*)",topic="([^"]*)",partition="(\d+)"\} (\S+)$', re.MULTILINE
)
_EACH_PARTITION: Final = ("committed_offset", "commit_timestamp_seconds", "lag")


def differences(columns: GroupColumns, wanted: FinalState, traffic: Traffic) -> list[str]:
    """Return a line for each kind of difference between the job's state and the oracle's; empty when they agree."""
    number = {key: row for row, key in enumerate(commit_keys(traffic))}
    known = [number.get(_key(columns, row), -1) for row in range(len(columns.partition))]
    rows = np.array(known, np.int64)
    if (rows < 0).any() or len(np.unique(rows)) != len(rows):
        return ["the job has keys that were never written, or has some twice"]
    found = []
    alive = np.zeros(traffic.keys, np.bool_)
    alive[rows] = True
    if wrong := int((alive != wanted.alive).sum()):
        found.append(f"{wrong} of {traffic.keys} keys exist in only one of job and oracle")
    both = wanted.alive[rows]
    spans = columns.runs.spans
    for name, job, true in (
        ("offset", spans.last_offset, wanted.offset),
        ("commit time", spans.last_time, wanted.time),
        ("number of commits", spans.commits, wanted.commits),
    ):
        if wrong := int((job[both] != true[rows[both]]).sum()):
            found.append(f"{wrong} keys with a wrong {name}")
    return found + _membership_differences(
        {name: row.generation for name, row in columns.memberships.items()}, wanted, traffic
    )


def _membership_differences(generations: Mapping[str, int | None], wanted: FinalState, traffic: Traffic) -> list[str]:
    true = {
        traffic.group(number): generation
        for number, generation in enumerate(wanted.generation.tolist())
        if wanted.group_alive[number]
    }
    wrong = sum(generations.get(name) != true.get(name) for name in generations.keys() | true.keys())
    return [f"{wrong} groups with a wrong membership"] if wrong else []


def _key(columns: GroupColumns, row: int) -> bytes:
    """Return the record key of a row, encoded from its three columns, so that decoded names are checked too."""
    group, topic = columns.group[row].as_py().encode(), columns.topic[row].as_py().encode()
    lengths = struct.pack(">hh", 1, len(group)), struct.pack(">h", len(topic))
    return b"".join((lengths[0], group, lengths[1], topic, struct.pack(">i", int(columns.partition[row]))))


def metric_differences(text: str, wanted: FinalState, traffic: Traffic) -> list[str]:
    """Return how `/metrics` differs from the oracle: committed offset, commit time and lag of every partition."""
    shown: dict[str, dict[tuple[str, str, int], float]] = {}
    for name, group, topic, partition, value in _SAMPLE.findall(text):
        shown.setdefault(name, {})[group, topic, int(partition)] = float(value)
    true: dict[str, dict[tuple[str, str, int], float]] = {name: {} for name in _EACH_PARTITION}
    for key in np.flatnonzero(wanted.alive).tolist():
        group, partition = divmod(key, traffic.partitions_per_group)
        labels = (traffic.group(group), traffic.topic(group), partition)
        offset = int(wanted.offset[key])
        numbers = (offset, int(wanted.time[key]) / 1000, traffic.log_end - offset)
        for name, value in zip(_EACH_PARTITION, numbers, strict=True):
            true[name][labels] = value
    found = []
    for name in _EACH_PARTITION:
        here = shown.get(name, {})
        wrong = sum(here.get(labels) != true[name].get(labels) for labels in here.keys() | true[name].keys())
        if wrong:
            found.append(f"{wrong} partitions with a wrong {name} in /metrics")
    return found
