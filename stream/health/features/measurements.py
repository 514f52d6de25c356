"""The measured position of each row: lag, first unread offset, tail of the log, distances to the ends, time lag.

Everything else in a window is derived from these columns.
"""

import dataclasses

import numpy as np

from stream.health.columns import Codes, Flags, Ints
from stream.health.features import control_records, lag, offset_out_of_range, time_lag
from stream.health.features.control_records import TailState
from stream.health.features.end_history import EndHistory
from stream.health.features.lag import OffsetDistances
from stream.health.features.partition_history import Observation, PartitionHistory
from stream.health.features.time_lag import TimeLag
from stream.health.inputs import NO_COMMIT, HealthInputs
from stream.health.limits import HealthLimits


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedTick:
    """The inputs of a tick, and what the history returned when it recorded them."""

    inputs: HealthInputs
    observation: Observation
    history: PartitionHistory
    limits: HealthLimits


@dataclasses.dataclass(frozen=True, slots=True)
class Measurements:
    """One element per row; the fields that `Window` has too mean the same there."""

    history_row: Ints
    """Row of the partition in the history of its ends; -1 where its ends are not known at this tick."""
    known: Flags
    out_of_range: Codes
    lag: Ints
    next_offset: Ints
    """The first offset that the group has not read."""
    tail: TailState
    ends: OffsetDistances
    time_lag: TimeLag
    known_until: Ints
    unread: Flags


def measure(tick: RecordedTick) -> Measurements:
    """Return the measurements of one tick."""
    inputs, observation, history = tick.inputs, tick.observation, tick.history
    committed, ends, tails = inputs.spans.last_offset, inputs.ends, inputs.tails
    places = lag.place(inputs.topic, inputs.partition)
    raw_lag, history_row = observation.lag, observation.history_row
    out_of_range = offset_out_of_range.classify(committed, raw_lag, ends, inputs.origins)
    truncated = history.states.is_truncated(history_row, inputs.now)
    out_of_range = offset_out_of_range.mark_truncated(out_of_range, truncated, inputs.origins)
    known = raw_lag.known & ~offset_out_of_range.is_unknown(out_of_range)
    distances = lag.distances(committed, raw_lag, ends)
    distances = offset_out_of_range.clear_distances_of_earlier_topics(distances, out_of_range)
    distances = dataclasses.replace(distances, lost=np.where(observation.memory.loss_unproven, 0, distances.lost))
    distances = control_records.remove_markers_from_lost(distances, committed, places, tails)
    end = distances.high_watermark
    next_offset = first_unread_offsets(inputs, history.high_watermark, history_row, known, distances.log_start)
    distance = np.where(known, np.maximum(end - next_offset, 0), 0)
    unread = control_records.remove_markers(distance, known, places, next_offset=next_offset, end=end, tails=tails)
    # The position of a group without a commit is an assumption: no verdict may rest on the tail of its partition.
    has_position = known & (committed != NO_COMMIT)
    at_rest = ends_at_rest(history.high_watermark, history_row, end, inputs.now - tick.limits.tick)
    tail = control_records.tail_state(unread, has_position, at_rest, next_offset, places, distances, tails)
    # A group that commits the last offset it has read has read the record at its next offset.
    last_read = observation.memory.last_read
    has_unread = unread.lag > last_read
    first = np.minimum(tail.first_unread + last_read, np.maximum(end, tail.first_unread))
    age = time_lag.time_lag(history.high_watermark, history_row, first, has_unread, known, inputs.now)
    return Measurements(
        history_row, known, out_of_range, unread.lag, next_offset, tail, distances, age, known_until(inputs), has_unread
    )


def known_until(inputs: HealthInputs) -> Ints:
    """Return the time (ms) up to which all commits of each row are known, never later than the tick."""
    if inputs.read_until is None:
        return np.full(len(inputs), inputs.now, np.int64)
    return np.minimum(inputs.read_until, inputs.now)


def first_unread_offsets(
    inputs: HealthInputs, history: EndHistory, history_row: Ints, known: Flags, log_start: Ints
) -> Ints:
    """Return the first offset that each group has not read: its committed offset, but not below the log start.

    A group without a commit is assumed to begin at the end offset that the partition had when the group formed.
    """
    committed = inputs.spans.last_offset
    next_offset = np.maximum(committed, log_start)
    rows = np.flatnonzero((committed == NO_COMMIT) & known & (history_row >= 0))
    if len(rows):
        formed = np.maximum(inputs.groups.since[inputs.group[rows]], history.oldest_time(history_row[rows]))
        next_offset[rows] = np.maximum(history.end_at(history_row[rows], formed), log_start[rows])
    return next_offset


def ends_at_rest(history: EndHistory, history_row: Ints, end: Ints, since: int) -> Flags:
    """Return the rows whose partition has had the same end offset since a time (ms)."""
    earlier = history.end_at(np.maximum(history_row, 0), np.full(len(history_row), since))
    at_rest: Flags = (history_row >= 0) & (earlier == end)
    return at_rest
