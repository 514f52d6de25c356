"""The history of the partitions over many ticks: end offsets, log starts, and how long each has not moved.

It is lost with the process and filled again from ListOffsets by timestamp (`PartitionHistory.seed`); only verdicts are
kept over a restart (`stream.health.hysteresis`), and what is remembered of each row (`memory`).
"""

import bisect
import dataclasses
from typing import Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Flags, Ints
from stream.health.features import lag as lags
from stream.health.features.commit_windows import CommitWindowReader
from stream.health.features.end_history import EndHistory
from stream.health.features.end_states import EndStates, NameIds, PartitionIds, row_keys
from stream.health.features.lag import Lag
from stream.health.features.memory.columns import Memory
from stream.health.features.memory.row_memory import RowMemory
from stream.health.inputs import NO_COMMIT, GroupStage, HealthInputs

_LOG_START_POINTS: Final = 12
"""A log start moves by whole segments, a few times an hour: twelve points are six moves."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """The result of a recorded tick for the rows of its inputs; times in ms, -1 where not known."""

    lag: Lag
    history_row: Ints
    """Per row: the row of its partition in the histories; -1 where the ends are not known at this tick."""
    settled_since: Ints
    """Per group: since when it has been in its stage, see `PartitionHistory.settled_since`."""
    uncommitted: Flags
    """Per row: the ends are known, and the group has never committed an offset."""
    uncommitted_since: Ints
    """Per row: since when the partition belongs to its group without any commit; -1 for rows with a commit."""
    memory: Memory
    """Per row: what the group did on the partition at earlier ticks."""


class PartitionHistory:
    """The histories of all partitions, whichever groups read them, and the memory of what each group did on them."""

    def __init__(self, points: int = 48, *, tick: int = 10_000, packed: bytes | None = None) -> None:
        """Keep at most `points` points of the history of each end offset; ticks are `tick` ms apart.

        `packed` are rows that an earlier process stored; the memory continues with them.
        """
        self.memory = RowMemory(packed)
        self.commit_windows = CommitWindowReader()
        self.high_watermark = EndHistory(points)
        self.log_start = EndHistory(_LOG_START_POINTS)
        self._groups, self._topics = NameIds(), NameIds()
        self._partitions = PartitionIds()
        self._topics_removed = 0
        self._tick = tick
        self.states = EndStates.empty(0)
        """One row per row of the histories."""
        # By group name: when it was last observed to rebalance.
        self._rebalanced: dict[str, int] = {}
        # By group, topic and partition without a commit: since when it belongs to the group, when it was last observed.
        self._uncommitted: dict[tuple[str, str, int], tuple[int, int]] = {}

    def record(self, inputs: HealthInputs, absence: int) -> Observation:
        """Record one tick and return what it means for the rows of the inputs.

        A partition without a commit keeps its start time when it is absent for up to `absence` ms.
        """
        row_of_end = self.observe(inputs)
        committed = inputs.spans.last_offset
        places = lags.place(inputs.topic, inputs.partition)
        lag = inputs.lag
        if lag is None:
            lag = lags.lag(lags.Commits(places, committed, committed != NO_COMMIT), inputs.ends)
        history_row = np.where(lag.row >= 0, row_of_end[lag.row], -1) if len(row_of_end) else lag.row
        uncommitted = (committed == NO_COMMIT) & lag.known & (history_row >= 0)
        rows = np.flatnonzero(uncommitted)
        since = np.full(len(inputs), NOT_KNOWN, np.int64)
        since[rows] = self.uncommitted_since(inputs, rows, absence)
        memory = self.memory.record(
            inputs, row_keys(inputs, self._groups, self._topics), lag, self.high_watermark, history_row
        )
        return Observation(lag, history_row, self.settled_since(inputs), uncommitted, since, memory)

    def observe(self, inputs: HealthInputs) -> Ints:
        """Add the ends of one tick; return the history row of each of them, -1 where the end is not known."""
        partitions = self._stable_places(inputs, inputs.ends.place)
        if self._topics.removed > self._topics_removed:
            self._topics_removed = self._topics.removed
            self._keep_rows(self._partitions.retain(partitions))
        rows = self._partitions.assign(partitions)
        self._grow(len(self._partitions))
        if inputs.recreated is not None and len(inputs.recreated):
            self._clear(rows[np.isin(inputs.ends.place >> 32, inputs.recreated)])
        self._clear(self._cut_rows(inputs))
        self.states.record(rows, inputs, self._tick)
        known = np.flatnonzero(inputs.ends.known)
        self.high_watermark.observe(rows[known], inputs.now, inputs.ends.high_watermark[known])
        self.log_start.observe(rows[known], inputs.now, inputs.ends.log_start[known])
        return np.where(inputs.ends.known, rows, -1)

    def observe_again(self, now: int) -> None:
        """Record a tick at `now` (ms) at which all ends were those of the last one, and were known."""
        self.memory.known_again = now
        rows = np.flatnonzero(self.states.answered == self.states.answered.max(initial=0))
        self.states.answered[rows] = now
        self.high_watermark.observe(rows, now, self.states.end[rows])
        self.log_start.observe(rows, now, self.log_start.end_at(rows, np.full(len(rows), now)))

    def seed(self, inputs: HealthInputs, time: Ints, offset: Ints) -> None:
        """Prepend the answers of ListOffsets by timestamp; `offset[row, time]` has one row per row of `inputs.ends`.

        Call it once, right after the first `observe`. `EndHistory.seed` lists the values of an answer.
        """
        self.high_watermark.seed(self._partitions.assign(self._stable_places(inputs, inputs.ends.place)), time, offset)

    def add_past_ends(self, rows: Ints, time: Ints, offset: Ints) -> None:
        """Insert end offsets that became known later: rows of the histories, times (ms), end offsets."""
        self.high_watermark.insert(rows, time, offset)

    def find_rows(self, inputs: HealthInputs, places: Ints) -> Ints:
        """Return the history row of each place, which is numbered by the topics of `inputs`; -1: never observed."""
        return self._partitions.find(self._stable_places(inputs, places)) if len(places) else places

    def settled_since(self, inputs: HealthInputs) -> Ints:
        """Return since when (ms) each group has been in its stage, or when it was last observed to rebalance if later.

        -1 where not known. The end of a rebalance may be known before the record of it has been read.
        """
        names, stage = inputs.groups.names, inputs.groups.stage
        for at in np.flatnonzero(stage == GroupStage.REBALANCING).tolist():
            self._rebalanced[names[at]] = inputs.now
        since: Ints = inputs.groups.since.copy()
        for name, time in list(self._rebalanced.items()):
            at = bisect.bisect_left(names, name)
            if at == len(names) or names[at] != name or since[at] > time:
                del self._rebalanced[name]
            else:
                since[at] = time if stage[at] != GroupStage.REBALANCING else since[at]
        return since

    def uncommitted_since(self, inputs: HealthInputs, rows: Ints, absence: int) -> Ints:
        """Return since when (ms) each of these rows belongs to its group; `rows` are all rows without a commit.

        A rebalance does not change that time, nor does an absence of up to `absence` ms: the group may be restarted.
        """
        names, topics, now = inputs.groups.names, inputs.topics, inputs.now
        remembered = {key: times for key, times in self._uncommitted.items() if now - times[1] <= absence}
        since = np.empty(len(rows), np.int64)
        columns = (inputs.group[rows].tolist(), inputs.topic[rows].tolist(), inputs.partition[rows].tolist())
        formed_since = inputs.groups.since[inputs.group[rows]].tolist()
        for at, (group, topic, partition, formed) in enumerate(zip(*columns, formed_since, strict=True)):
            key = names[group], topics[topic], partition
            since[at] = remembered[key][0] if key in remembered else formed
            remembered[key] = int(since[at]), now
        self._uncommitted = remembered
        return since

    def _stable_places(self, inputs: HealthInputs, places: Ints) -> Ints:
        """Return places with the topic numbers of the histories instead of those of the inputs."""
        topics = self._topics.assign(inputs.topics)
        stable: Ints = (topics[places >> 32] << 32) | (places & 0xFFFFFFFF)
        return stable

    def _cut_rows(self, inputs: HealthInputs) -> Ints:
        """Return the rows whose log has lost its end and was written past it, as a commit of any group shows."""
        epoch, replaced = inputs.origins.leader_epoch, self.states.epoch_before[self.states.epoch_before >= 0]
        if epoch is None or not len(replaced):
            return np.empty(0, np.int64)
        at = np.flatnonzero((epoch > replaced.min()) & (inputs.spans.last_offset != NO_COMMIT))
        row = self.find_rows(inputs, lags.place(inputs.topic[at], inputs.partition[at]))
        return np.unique(row[self.states.cut_rows(row, epoch[at], inputs.spans.last_offset[at])])

    def _grow(self, rows: int) -> None:
        self.high_watermark.grow(rows)
        self.log_start.grow(rows)
        known = len(self.states.end)
        if rows > known:
            self.states = self.states.take(np.where(np.arange(rows) < known, np.arange(rows), -1))

    def _keep_rows(self, rows: Ints) -> None:
        self.high_watermark.keep_rows(rows)
        self.log_start.keep_rows(rows)
        self.states = self.states.take(rows)

    def _clear(self, rows: Ints) -> None:
        self.high_watermark.clear(rows)
        self.log_start.clear(rows)
        self.states.clear(rows)
