"""How often groups commit, what they have not read and for how long, and which partitions are hot. Pure."""

from typing import Final

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import Runs
from stream.groups.commits.slots import Slots
from stream.health.columns import NOT_KNOWN, Flags, Ints, Reals, max_by_owner
from stream.health.features.window import Window
from stream.tick.inputs.rows import InputRows
from stream.tick.inputs.times import plausible_slots

HOT_RATIO: Final = 3.0
"""A partition is hot from this multiple of the mean rate of its siblings on."""
_FEWEST_SIBLINGS: Final = 2
_LOWEST_RATE: Final = 1.0
"""Offsets per second: below it, one record more or less decides about a ratio."""
_NO_INTERVAL: Final = np.iinfo(np.int64).max


def throughput_columns(rows: InputRows, window: Window, runs: Runs) -> dict[str, pa.Array]:
    """Return the columns `commit_interval`, `catch_up_seconds` and `unread_ratio` of GROUPS; null if not known.

    `runs` are those of the driver state, since the window of an evaluated tick has no slots any more.
    """
    groups = len(rows.groups)
    intervals = commit_intervals(plausible_slots(runs.slots, window.now), len(runs))
    shortest = -max_by_owner(-_or_none(rows.align(intervals, NOT_KNOWN)), rows.group, groups, -_NO_INTERVAL)
    unread = _greatest(unread_ratios(window, rows.committed), rows.group, groups)
    own = rows.committed
    catch_up = np.where(window.known, window.rates.catch_up_now, NOT_KNOWN)[own]
    return {
        "commit_interval": pa.array(shortest / 1000, mask=shortest == _NO_INTERVAL),
        "catch_up_seconds": longest_catch_up(catch_up, rows.group[own], groups),
        "unread_ratio": pa.array(unread, mask=np.isnan(unread)),
    }


def commit_intervals(slots: Slots, rows: int) -> Ints:
    """Return the mean time (ms) between the commits of each row in its window; -1 with commits in fewer than two slots.

    A slot knows the time of its last commit only, so the commits before that of the first slot do not count.
    """
    intervals = np.full(rows, NOT_KNOWN, np.int64)
    if not len(slots):
        return intervals
    changes = np.flatnonzero(np.diff(slots.row)) + 1
    first, last = np.concatenate(([0], changes)), np.concatenate((changes, [len(slots)])) - 1
    commits = np.add.reduceat(slots.commits, first) - slots.commits[first]
    time = slots.time[last] - slots.time[first]
    known = (last > first) & (commits > 0) & (time >= 0)
    intervals[slots.row[first[known]]] = time[known] // commits[known]
    return intervals


def longest_catch_up(times: Ints, group: Ints, groups: int) -> pa.Array:
    """Return the greatest of the times (ms, -1: not known) of each group in seconds; null if one is not known."""
    longest = max_by_owner(_or_none(times), group, groups, NOT_KNOWN)
    return pa.array(longest / 1000, mask=(longest == _NO_INTERVAL) | (longest == NOT_KNOWN))


def unread_ratios(window: Window, committed: Flags) -> Reals:
    """Return the unread share of the offsets that each row's partition has, from 0 to 1; NaN where it is not known.

    At 1, retention deletes what the group has not read. A partition without records has 0.
    """
    known = window.known & committed & (window.ends.margin >= 0)
    retained = window.lag + window.ends.margin
    ratio = np.divide(window.lag, retained, out=np.zeros(len(window)), where=known & (retained > 0))
    return np.where(known, ratio, np.nan)


def hot_ratios(topic: Ints, rate: Reals) -> pa.Array:
    """Return the rate of each hot partition relative to the mean of its siblings; null for all others.

    `topic` and `rate` (offsets per second, NaN: not known) have an element per partition. At least two other partitions
    of the topic must have a known rate.
    """
    known = ~np.isnan(rate)
    value = np.where(known, rate, 0.0)
    total = np.bincount(topic, weights=value)[topic] if len(topic) else value
    siblings = np.bincount(topic[known], minlength=int(topic.max()) + 1)[topic] - 1 if len(topic) else np.zeros(0)
    mean = np.divide(total - value, siblings, out=np.zeros(len(rate)), where=siblings > 0)
    # With idle siblings, the ratio would have no bound: they count as the lowest rate.
    ratio = value / np.maximum(mean, _LOWEST_RATE)
    hot = known & (siblings >= _FEWEST_SIBLINGS) & (ratio >= HOT_RATIO)
    return pa.array(np.round(ratio, 3), mask=~hot)


def _or_none(intervals: Ints) -> Ints:
    return np.where(intervals < 0, _NO_INTERVAL, intervals)


def _greatest(values: Reals, owner: Ints, owners: int) -> Reals:
    found = np.full(owners, np.nan)
    np.fmax.at(found, owner, values)
    return found
