"""Commits fetched from coordinators while the log hides them, as runs that continue the runs of the log. Pure.

A fetched offset that differs from what was known of its key is taken for a commit made at the time of the fetch: a
rewind, progress and the commit window then come out as from the log, to within a tick. A fetched offset that repeats
what was known adds nothing, because nothing says when, or whether, it was committed again.

At the time of the fetch the log was readable up to `low` at least, and soon after that it ended at `high`, so the
commit behind a fetched offset has a log position between these. This decides, once the log can be read further, which
of the two is newer. As soon as the log has a newer record of a key, its fetched offsets are dropped.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.groups.commits import runs as run_columns
from stream.groups.commits.run_table import Runs, concat_runs, find_rows, join_runs, no_runs
from stream.groups.commits.runs import NEVER, TOPIC_ID
from stream.groups.commits.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.health.columns import Flags, Ints

NOT_LOGGED: Final = -1
"""Position and offset of a key without a commit in the log."""
_OFFSET_COMMIT_VERSION: Final = b"\x00\x01"
_UNBOUNDED: Final = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedOffsets:
    """Offsets fetched at one time (`time`, ms); one element per key, keys are unique."""

    time: int
    keys: pa.BinaryArray
    offset: Ints
    leader_epoch: NDArray[np.int32]
    """-1 where it is not known."""
    offsets_partition: Ints
    low: Ints
    """The last stable offset of the offsets partition before the fetch."""


@dataclasses.dataclass(frozen=True, slots=True)
class LoggedCommits:
    """The runs that the log has of some keys, one per key."""

    runs: Runs

    def find(self, keys: pa.BinaryArray) -> tuple[Ints, Ints, Ints]:
        """Return the row of each key, and the log position and the offset of its last commit; -1 where it has none."""
        row = find_rows(self.runs.keys, keys)
        spans = self.runs.spans
        if not len(spans):
            return row, np.full(len(row), NOT_LOGGED), np.full(len(row), NOT_LOGGED)
        position, offset = (
            np.where(row >= 0, column[row], NOT_LOGGED) for column in (spans.last_position, spans.last_offset)
        )
        return row, position, offset


class FetchedCommits:
    """The fetched commits by key, one run each."""

    def __init__(self, slot_ms: int, keep_slots: int) -> None:
        self._slot_ms = slot_ms
        self._keep_slots = keep_slots
        self.runs = no_runs()
        self._logged_position = self._low = self._high = self.offsets_partition = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.runs)

    def add(self, fetched: FetchedOffsets, logged: LoggedCommits) -> None:
        """Add fetched offsets; `logged` is what the log had at the time of the fetch."""
        _, position, logged_offset = logged.find(fetched.keys)
        self._drop_superseded(fetched.keys, position)
        row = find_rows(self.runs.keys, fetched.keys)
        known_offset = (
            np.where(row >= 0, self.runs.spans.last_offset[row], logged_offset) if len(self) else logged_offset
        )
        new = np.flatnonzero(fetched.offset != known_offset)
        self._append(fetched, new, position)

    def set_log_ends(self, ends: Mapping[int, int]) -> None:
        """Set `high` of the last fetched offsets to the high watermarks read after the fetch, by offsets partition."""
        unbounded = self._high == _UNBOUNDED
        for partition in np.unique(self.offsets_partition[unbounded]).tolist():
            if partition in ends:
                self._high[unbounded & (self.offsets_partition == partition)] = ends[partition]

    def drop(self, rows: Flags) -> None:
        """Remove some rows."""
        if rows.any():
            kept = ~rows
            self.runs = self.runs.take(kept)
            self._logged_position, self._low, self._high, self.offsets_partition = (
                column[kept] for column in (self._logged_position, self._low, self._high, self.offsets_partition)
            )

    def newer(self, logged: LoggedCommits, is_blocked: Flags) -> Flags:
        """Return which rows are newer than the log. `is_blocked`: the row's offsets partition still hides records.

        Once the log has reached the positions at which the commit may be, and no record is hidden any more, the log is
        right; until then the greater offset is taken to be the newer.
        """
        _, position, logged_offset = logged.find(self.runs.keys)
        offset = self.runs.spans.last_offset
        newer = (position < self._low) | (is_blocked & (position < self._high) & (offset > logged_offset))
        differs: Flags = offset != logged_offset
        return differs & newer

    def outdated(self, logged: LoggedCommits) -> Flags:
        """Return the rows for which the log is past every possible position, or has deleted the offset since."""
        _, position, _ = logged.find(self.runs.keys)
        outdated: Flags = (position >= self._high) | ((position == NOT_LOGGED) & (self._logged_position != NOT_LOGGED))
        return outdated

    def runs_after(self, logged: LoggedCommits, rows: Flags) -> Runs:
        """Return some rows as runs that can be joined to those of the log.

        Where the log has advanced since the first fetched offset of a key, only the last one follows it.
        """
        _, position, _ = logged.find(self.runs.keys)
        advanced = position != self._logged_position
        runs = self.runs
        if advanced.any():
            last = _single_commits(
                runs.keys, runs.spans.last_offset, runs.spans.last_time, self._low, runs.leader_epoch
            )
            last_only = self._with_slots(last)
            order = np.where(advanced, len(runs) + np.arange(len(runs)), np.arange(len(runs)))
            runs = concat_runs([runs, last_only]).take(order)
        return runs.take(rows)

    def _drop_superseded(self, keys: pa.BinaryArray, position: Ints) -> None:
        """Remove the rows of these keys whose log has advanced since: the next fetched offset follows the log."""
        row = find_rows(self.runs.keys, keys)
        found = np.flatnonzero(row >= 0)
        superseded = np.zeros(len(self), np.bool_)
        superseded[row[found]] = self._logged_position[row[found]] != position[found]
        self.drop(superseded)

    def _append(self, fetched: FetchedOffsets, new: Ints, position: Ints) -> None:
        if not len(new):
            return
        keys = fetched.keys.take(pa.array(new))
        times = np.full(len(new), fetched.time, np.int64)
        commits = _single_commits(keys, fetched.offset[new], times, fetched.low[new], fetched.leader_epoch[new])
        rows_before = len(self)
        self.runs = join_runs([self.runs, self._with_slots(commits)], self._keep_slots)
        row = find_rows(self.runs.keys, keys)
        added = np.full(len(self) - rows_before, NOT_LOGGED, np.int64)
        for name, column in (
            ("_logged_position", position[new]),
            ("_low", fetched.low[new]),
            ("_high", np.full(len(new), _UNBOUNDED)),
            ("offsets_partition", fetched.offsets_partition[new]),
        ):
            extended = np.concatenate([getattr(self, name), added])
            extended[row] = column
            setattr(self, name, extended)

    def _with_slots(self, commits: Runs) -> Runs:
        time, rows = commits.spans.last_time, np.arange(len(commits))
        slots = Slots(rows, time // self._slot_ms, commits.spans.last_offset, time, np.ones(len(commits), np.int64))
        return dataclasses.replace(commits, slots=slots)


def offset_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key of an offset as in the log (OffsetCommitKey, version 1), which is also the key of runs."""
    names = (name.encode("utf-8", "surrogatepass") for name in (group, topic))
    sized = (len(name).to_bytes(2, "big") + name for name in names)
    return b"".join((_OFFSET_COMMIT_VERSION, *sized, partition.to_bytes(4, "big", signed=True)))


def _single_commits(
    keys: pa.BinaryArray, offset: Ints, time: Ints, position: Ints, leader_epoch: NDArray[np.int32]
) -> Runs:
    """Return runs of one commit each, without slots. The topic id is null, as OffsetFetch does not return it."""
    count = len(offset)
    return Runs(
        keys=keys,
        spans=run_columns.single_record_spans(position, offset, time, np.zeros(count, np.bool_)),
        leader_epoch=leader_epoch,
        expire_time=np.full(count, NEVER, np.int64),
        metadata=pa.array([b""] * count, pa.binary()),
        topic_id=pa.nulls(count, TOPIC_ID),
        slots=no_runs().slots,
    )
