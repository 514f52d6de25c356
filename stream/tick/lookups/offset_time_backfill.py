"""Looks up past end offsets for the end histories of a process that has just started, by offsets for times.

Requests are bounded: partitions with unread records come first, because only their time lag depends on the past, and
with many partitions fewer times are requested. The times grow geometrically, because the precision of a history is a
share of the age that is read from it.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from stream.cluster.log_tails import TailRequest, read_tails
from stream.cluster.offsets_for_times import FIRST_TRUE_TIME, WANTED, read_offsets_for_times
from stream.cluster.partition_offsets import Leaders
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.health.columns import Ints, find_keys
from stream.health.features import lag as lags
from stream.health.features.end_history import NO_LATER_RECORD, NOT_ANSWERED
from stream.health.inputs import NO_COMMIT, HealthInputs
from stream.tick.inputs.times import AHEAD_MS
from stream.tick.lookups.budget import LookupLimits

TopicPartition = tuple[str, int]
"""Topic and partition."""
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
FINE: Final = (
    30 * _SECOND, _MINUTE, 2 * _MINUTE, 4 * _MINUTE, 8 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE,
    _HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, 24 * _HOUR, 72 * _HOUR, 168 * _HOUR,
)  # fmt: skip
"""Requested ages (ms before now) for few partitions."""
COARSE: Final = (_MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 6 * _HOUR)
"""Requested ages (ms before now) for many partitions."""
_ODD_SECONDS: Final = 0.5
"""Time in which first unread records are read after those that are first in their partition: the first tick waits."""


def backfill(
    cluster: Cluster, inputs: HealthInputs, leaders: Leaders, limits: LookupLimits, clock: Callable[[], float]
) -> tuple[Ints, Ints] | None:
    """Return times (ms, ascending) and the offset per end and time, for `PartitionHistory.seed`.

    The newest times are requested first; what was not answered in time is NOT_ANSWERED. None if nothing was answered.
    Where the first record of the log is the answer, it is that for all earlier times.
    """
    rows, ages = _rows_and_ages(inputs, limits.backfill_lookups)
    times = inputs.now - np.array(sorted(ages, reverse=True), np.int64)
    offsets = np.full((len(inputs.ends.place), len(times)), NOT_ANSWERED, np.int64)
    deadline = clock() + limits.backfill_seconds
    for column in reversed(range(len(times))):
        if not len(rows) or clock() >= deadline:
            break
        try:
            place, time = inputs.ends.place[rows], np.full(len(rows), times[column])
            answers = read_offsets_for_times(cluster, request_table(inputs.topics, place, time), leaders)
        except ClusterError:
            break
        log_start = inputs.ends.log_start[rows]
        is_first = answers.column("offset").fill_null(NO_LATER_RECORD).to_numpy() == log_start
        offsets[rows, column] = found = _offsets(answers, log_start, inputs.now)
        offsets[rows[is_first], :column] = found[is_first, None]
        rows = rows[~is_first]
    _drop_without_times(cluster, inputs, leaders, offsets)
    return (times, offsets) if (offsets != NOT_ANSWERED).any() else None


def drop_odd_records(
    cluster: Cluster,
    inputs: HealthInputs,
    leaders: Leaders,
    offsets: Ints,
    *,
    limits: LookupLimits,
    clock: Callable[[], float],
) -> frozenset[TopicPartition]:
    """Set NOT_ANSWERED for partitions where the first unread record of a group has no time that can be true.

    A look-up by time passes over such a record, or ends at it, wherever it stands: the answers do not say when it was
    written. Returns these partitions. Read are those that seem to wait for longer than the newest requested age, the
    first of each partition first, with what follows it; needs the right to read the topic. What is not read in time is
    believed.
    """
    row = _end_rows(inputs)
    first = np.maximum(inputs.spans.last_offset, inputs.ends.log_start[row]) if len(inputs.ends.place) else row
    newest = offsets[row, -1]
    is_late = (inputs.spans.last_offset != NO_COMMIT) & (row >= 0) & ((newest < 0) | (newest > first))
    is_late &= (first < inputs.ends.high_watermark[row]) & (offsets[row] != NOT_ANSWERED).any(axis=1)
    late = np.flatnonzero(is_late)
    late = late[np.lexsort((first[late], row[late]))]
    deadline = clock() + _ODD_SECONDS
    odd: set[TopicPartition] = set()
    while len(late) and clock() < deadline:
        bounds = np.append(np.flatnonzero(np.diff(row[late], prepend=-1)), len(late))[: limits.tails + 1]
        columns = inputs.ends.place[row[late[bounds[:-1]]]].tolist(), first[late[bounds[:-1]]].tolist()
        requests = [
            TailRequest(inputs.topics[place >> 32], place & 0xFFFFFFFF, offset, offset + 1, with_times=True)
            for place, offset in zip(*columns, strict=True)
        ]
        try:
            answers = read_tails(cluster, requests, leaders, seconds=deadline - clock(), clock=clock)
        except ClusterError:
            break
        rest = [late[bounds[-1] :]]
        for answer, begin, end in zip(answers, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            waiting = late[begin:end]
            read, times = np.searchsorted(answer.times[0], first[waiting]), answer.times[1]
            time = times[read[read < len(times)]]
            if ((time < FIRST_TRUE_TIME) | (time > inputs.now + AHEAD_MS)).any():
                offsets[row[waiting]] = NOT_ANSWERED
                odd.add((answer.wanted.topic, answer.wanted.partition))
            elif answer.reason is None:
                rest.append(waiting[(read == len(times)) & (first[waiting] > answer.wanted.data_from)])
        late = np.concatenate(rest)
    return frozenset(odd)


def _end_rows(inputs: HealthInputs) -> Ints:
    """Return the row of the ends of each row; -1: there is none."""
    return find_keys(inputs.ends.place, lags.place(inputs.topic, inputs.partition))


def _rows_and_ages(inputs: HealthInputs, lookups: int) -> tuple[Ints, tuple[int, ...]]:
    """Return the rows of the ends to request, and the ages to request for each of them."""
    is_known = inputs.ends.known & (inputs.ends.high_watermark > inputs.ends.log_start)
    has_unread = np.zeros(len(is_known), np.bool_)
    if len(is_known):
        at = _end_rows(inputs)
        has_unread[at[(at >= 0) & (inputs.spans.last_offset < inputs.ends.high_watermark[at])]] = True
    rows = np.concatenate([np.flatnonzero(is_known & has_unread), np.flatnonzero(is_known & ~has_unread)])
    ages = FINE if len(rows) * len(FINE) <= lookups else COARSE
    return rows[: lookups // len(ages)], ages


def request_table(topics: Sequence[str], place: Ints, time: Ints) -> pa.Table:
    """Return requests for the offsets of these places at these times (ms), schema WANTED."""
    names = pa.array(list(topics), pa.string())
    topic = pa.DictionaryArray.from_arrays(pa.array((place >> 32).astype(np.int32)), names)
    return pa.table([topic, pa.array((place & 0xFFFFFFFF).astype(np.int32)), pa.array(time)], schema=WANTED)


def _drop_without_times(cluster: Cluster, inputs: HealthInputs, leaders: Leaders, offsets: Ints) -> None:
    """Set NOT_ANSWERED for partitions at rest whose records have no time that can be true: they may be new."""
    at_rest = np.flatnonzero(((offsets == NO_LATER_RECORD) | (offsets == NOT_ANSWERED)).all(axis=1))
    at_rest = at_rest[(offsets[at_rest] == NO_LATER_RECORD).any(axis=1)]
    if not len(at_rest):
        return
    try:
        place, time = inputs.ends.place[at_rest], np.full(len(at_rest), FIRST_TRUE_TIME)
        answers = read_offsets_for_times(cluster, request_table(inputs.topics, place, time), leaders)
    except ClusterError:
        offsets[at_rest] = NOT_ANSWERED
        return
    offsets[at_rest[answers.column("offset").is_null().to_numpy()]] = NOT_ANSWERED


def _offsets(answers: pa.Table, log_start: Ints, now: int) -> Ints:
    """Return the offset of each answer, NOT_ANSWERED where it says nothing about the past end.

    An answer equal to the current log start says nothing, because retention deleted earlier records; only a log that
    starts at 0 is known to have been empty. Nor does a record with a time ahead of now, which a producer may write.
    """
    offset = answers.column("offset").fill_null(NO_LATER_RECORD).to_numpy()
    has_error = answers.column("error").is_valid().to_numpy()
    was_deleted = (offset == log_start) & (log_start > 0)
    is_ahead = answers.column("record_time").fill_null(0).to_numpy() > now + AHEAD_MS
    return np.where(has_error | was_deleted | is_ahead, NOT_ANSWERED, offset)
