"""Where partitions ended in the past: offsets-for-times that go before the histories of a process that has just begun.

Owns which partitions are asked for which times, so that it stays bounded: those where something is unread first, for
only there an age depends on the past; with many of them, fewer times. Times go back geometrically, because a history
is as exact as a share of the age that it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.cluster.offsets_for_times import WANTED, read_offsets_for_times
from stream.cluster.transport.errors import ClusterError
from stream.health.features.end_history import NO_LATER_RECORD, NOT_ANSWERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cluster.transport.client import Cluster
    from stream.health.columns import Ints
    from stream.health.inputs import HealthInputs
    from stream.tick.lookups.budget import LookupLimits

_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
FINE: Final = (
    30 * _SECOND, _MINUTE, 2 * _MINUTE, 4 * _MINUTE, 8 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE,
    _HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, 24 * _HOUR, 72 * _HOUR, 168 * _HOUR,
)  # fmt: skip
COARSE: Final = (_MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 6 * _HOUR)
"""How long before now (ms)."""


def seed(
    cluster: Cluster, seen: HealthInputs, allowances: LookupLimits, clock: Callable[[], float]
) -> tuple[Ints, Ints] | None:
    """Give times (ms, ascending) and the answer for each end and time, as `History.seed` wants.

    The newest times are asked for first; what could not be asked in time is NOT_ANSWERED. None where nothing was.
    """
    rows, ages = _chosen(seen, allowances.seed_lookups)
    times = seen.now - np.array(sorted(ages, reverse=True), np.int64)
    offsets = np.full((len(seen.ends.place), len(times)), NOT_ANSWERED, np.int64)
    deadline = clock() + allowances.seed_seconds
    for column in reversed(range(len(times))):
        if not len(rows) or clock() >= deadline:
            break
        try:
            told = read_offsets_for_times(cluster, _wanted(seen, rows, int(times[column])))
        except ClusterError:
            break
        offsets[rows, column] = _answers(told, seen.ends.log_start[rows])
    return (times, offsets) if (offsets != NOT_ANSWERED).any() else None


def _chosen(seen: HealthInputs, lookups: int) -> tuple[Ints, tuple[int, ...]]:
    """Choose rows of the ends, and how far back to ask for them."""
    known = seen.ends.known & (seen.ends.high_watermark > seen.ends.log_start)
    unread = np.zeros(len(known), np.bool_)
    place = (seen.topic.astype(np.int64) << 32) | seen.partition
    if len(known):
        at = np.minimum(np.searchsorted(seen.ends.place, place), len(known) - 1)
        behind = (seen.ends.place[at] == place) & (seen.spans.last_offset < seen.ends.high_watermark[at])
        unread[at[behind]] = True
    rows = np.concatenate([np.flatnonzero(known & unread), np.flatnonzero(known & ~unread)])
    ages = FINE if len(rows) * len(FINE) <= lookups else COARSE
    return rows[: lookups // len(ages)], ages


def _wanted(seen: HealthInputs, rows: Ints, time: int) -> pa.Table:
    place = seen.ends.place[rows]
    names = pa.array(list(seen.topics), pa.string())
    topic = pa.DictionaryArray.from_arrays(pa.array((place >> 32).astype(np.int32)), names)
    partition = pa.array((place & 0xFFFFFFFF).astype(np.int32))
    return pa.table([topic, partition, pa.array(np.full(len(rows), time, np.int64))], schema=WANTED)


def _answers(told: pa.Table, log_start: Ints) -> Ints:
    """Read the answers. Where a log begins by now is not where it ended before: retention has deleted what was there.

    Only a log that begins at 0 is known to have been empty.
    """
    offset = told.column("offset").fill_null(NO_LATER_RECORD).to_numpy()
    refused = told.column("error").is_valid().to_numpy()
    deleted = (offset == log_start) & (log_start > 0)
    return np.where(refused | deleted, NOT_ANSWERED, offset)
