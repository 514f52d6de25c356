"""Commits as coordinators answer them while the log hides them, as runs that go on where those of the log end.

Pure. An answer that differs from what was known of its key is taken for a commit made then: so a rewind, progress and
the commit window come out as they would have from the log, to the tick. An answer that repeats what was known says
nothing, for nobody tells when, or whether, it was committed again.

When it was asked for, the log was readable up to `low` at least, and soon after it ended at `high`, so the commit
behind an answer stands between these; that decides, once the log can be read further, which of the two is newer. As
soon as the log has anything newer of a key, the answers for it are forgotten.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.groups.commits import runs as run_columns
from stream.groups.commits.run_table import (
    Runs,
    concat_runs,
    find_rows,
    join_runs,
    no_runs,
)
from stream.groups.commits.runs import NEVER, TOPIC_ID
from stream.groups.commits.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.health.columns import Flags, Ints

NOTHING: Final = -1
"""Position and offset of a key that the log has no commit of."""
_COMMIT: Final = b"\x00\x01"
_ENDLESS: Final = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedOffsets:
    """What was answered at one moment (`time`, ms); one element per key, no key twice."""

    time: int
    keys: pa.BinaryArray
    offset: Ints
    leader_epoch: NDArray[np.int32]
    offsets_partition: Ints
    low: Ints


@dataclasses.dataclass(frozen=True, slots=True)
class LoggedCommits:
    """What the log tells of some keys: their runs, one per key."""

    runs: Runs

    def of(self, keys: pa.BinaryArray) -> tuple[Ints, Ints, Ints]:
        """Give the row of each key, the position of its last commit, and that commit's offset."""
        row = find_rows(self.runs.keys, keys)
        spans = self.runs.spans
        if not len(spans):
            return row, np.full(len(row), NOTHING), np.full(len(row), NOTHING)
        position, offset = (
            np.where(row >= 0, column[row], NOTHING) for column in (spans.last_position, spans.last_offset)
        )
        return row, position, offset


class FetchedCommits:
    """The commits that were asked for, by key."""

    def __init__(self, slot_ms: int, keep_slots: int) -> None:
        self._slot_ms = slot_ms
        self._keep_slots = keep_slots
        self.runs = no_runs()
        self._base = self._low = self._high = self.offsets_partition = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.runs)

    def take(self, answers: FetchedOffsets, log: LoggedCommits) -> None:
        """Take answers that were given when the log told this."""
        _, position, known = log.of(answers.keys)
        self._forget_moved(answers.keys, position)
        mine = find_rows(self.runs.keys, answers.keys)
        last = np.where(mine >= 0, self.runs.spans.last_offset[mine], known) if len(self) else known
        new = np.flatnonzero(answers.offset != last)
        self._add(answers, new, position)

    def bound(self, end: Mapping[int, int]) -> None:
        """Tell where the offsets partitions ended after the last answers had been given."""
        open_ = self._high == _ENDLESS
        for partition in np.unique(self.offsets_partition[open_]).tolist():
            if partition in end:
                self._high[open_ & (self.offsets_partition == partition)] = end[partition]

    def drop(self, rows: Flags) -> None:
        """Forget some rows."""
        if rows.any():
            kept = ~rows
            self.runs = self.runs.take(kept)
            self._base, self._low, self._high, self.offsets_partition = (
                column[kept] for column in (self._base, self._low, self._high, self.offsets_partition)
            )

    def newer(self, log: LoggedCommits, held: Flags) -> Flags:
        """Tell which rows say more than the log; `held`: what the row's offsets partition hides has not been read.

        Where the log has reached the stretch that the commit stands in, it tells the truth once nothing is hidden any
        more; until then the greater offset is taken to be the newer.
        """
        _, position, offset = log.of(self.runs.keys)
        asked = self.runs.spans.last_offset
        newer = (position < self._low) | (held & (position < self._high) & (asked > offset))
        differs: Flags = asked != offset
        return differs & newer

    def outdated(self, log: LoggedCommits) -> Flags:
        """Tell for which rows the log has gone beyond all that could be asked, or has told that the offset is gone."""
        _, position, _ = log.of(self.runs.keys)
        outdated: Flags = (position >= self._high) | ((position == NOTHING) & (self._base != NOTHING))
        return outdated

    def after(self, log: LoggedCommits, rows: Flags) -> Runs:
        """Give some rows as runs that may be joined to those of the log.

        Where the log has moved on since the first of the answers, only the last of them follows it.
        """
        _, position, _ = log.of(self.runs.keys)
        moved = position != self._base
        runs = self.runs
        if moved.any():
            last = _units(runs.keys, runs.spans.last_offset, runs.spans.last_time, self._low, runs.leader_epoch)
            one = self._with_slots(last)
            order = np.where(moved, len(runs) + np.arange(len(runs)), np.arange(len(runs)))
            runs = concat_runs([runs, one]).take(order)
        return runs.take(rows)

    def _forget_moved(self, keys: pa.BinaryArray, position: Ints) -> None:
        """Let go of answers after which the log has told more of the same keys: the new answer follows that."""
        mine = find_rows(self.runs.keys, keys)
        met = np.flatnonzero(mine >= 0)
        moved = np.zeros(len(self), np.bool_)
        moved[mine[met]] = self._base[mine[met]] != position[met]
        self.drop(moved)

    def _add(self, answers: FetchedOffsets, new: Ints, position: Ints) -> None:
        if not len(new):
            return
        keys = answers.keys.take(pa.array(new))
        times = np.full(len(new), answers.time, np.int64)
        units = _units(keys, answers.offset[new], times, answers.low[new], answers.leader_epoch[new])
        before = len(self)
        self.runs = join_runs([self.runs, self._with_slots(units)], self._keep_slots)
        row = find_rows(self.runs.keys, keys)
        more = np.full(len(self) - before, NOTHING, np.int64)
        for name, column in (
            ("_base", position[new]),
            ("_low", answers.low[new]),
            ("_high", np.full(len(new), _ENDLESS)),
            ("offsets_partition", answers.offsets_partition[new]),
        ):
            grown = np.concatenate([getattr(self, name), more])
            grown[row] = column
            setattr(self, name, grown)

    def _with_slots(self, units: Runs) -> Runs:
        time, rows = units.spans.last_time, np.arange(len(units))
        slots = Slots(rows, time // self._slot_ms, units.spans.last_offset, time, np.ones(len(units), np.int64))
        return dataclasses.replace(units, slots=slots)


def key_of(group: str, topic: str, partition: int) -> bytes:
    """Spell the key of a commit as the log does (OffsetCommitKey, version 1), which is the key of runs."""
    names = (name.encode("utf-8", "surrogatepass") for name in (group, topic))
    sized = (len(name).to_bytes(2, "big") + name for name in names)
    return b"".join((_COMMIT, *sized, partition.to_bytes(4, "big", signed=True)))


def _units(keys: pa.BinaryArray, offset: Ints, time: Ints, position: Ints, leader_epoch: NDArray[np.int32]) -> Runs:
    """See each answer as a run of one commit. What OffsetFetch does not tell of it (topic id) is not known."""
    count = len(offset)
    return Runs(
        keys=keys,
        spans=run_columns.units(position, offset, time, np.zeros(count, np.bool_)),
        leader_epoch=leader_epoch,
        expire_time=np.full(count, NEVER, np.int64),
        metadata=pa.array([b""] * count, pa.binary()),
        topic_id=pa.nulls(count, TOPIC_ID),
        slots=no_runs().slots,
    )
