"""How often groups commit, what they have not read, which partitions are hot, and what more members would cure. Pure.

A partition is read by one member. Its lag shrinks with a further member only if it has no owner, or if its owner has
other partitions with lag, of which the new member takes some. The lag of a member's only partition with lag does not: a
scaler that counts it adds members that stay idle, and each addition is a rebalance. The assignor `range` gives the
partitions of the same number of all topics to one member, however many there are: they count as one partition.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from decoders.blobs import streams_commit_metadata
from decoders.errors import DecodeError
from stream.groups.commits.run_table import Runs
from stream.groups.commits.slots import Slots, row_bounds
from stream.groups.driver_state import GroupColumns
from stream.groups.membership.model import CLASSIC, Membership
from stream.groups.short_cache import keep_last
from stream.health.columns import NOT_KNOWN, Flags, Ints, Reals, max_by_owner
from stream.health.features.window import Window
from stream.health.inputs import GroupStage
from stream.tick.inputs.assignment import PartitionAssignment
from stream.tick.inputs.rows import InputRows
from stream.tick.inputs.times import plausible_slots
from stream.tick.snapshot.owned_rows import OwnedRows, rows_by_group, rows_by_topic
from stream.tick.verdicts.columns import nullable

HOT_RATIO: Final = 3.0
"""A partition is hot from this multiple of the mean rate of its siblings on."""
_FEWEST_SIBLINGS: Final = 2
_LOWEST_RATE: Final = 1.0
"""Offsets per second: below it, one record more or less decides about a ratio."""
_STREAMS_GROUPS: Final = {("streams", None), (CLASSIC, "stream")}
"""The kind and the protocol of groups of Kafka Streams: its own type, or its assignor on the classic protocol."""
_NO_GROUP: Final = Membership("", None, 0)
_NO_INTERVAL: Final = np.iinfo(np.int64).max


def throughput_columns(rows: InputRows, window: Window, runs: Runs) -> dict[str, pa.Array]:
    """Return the columns `commit_interval`, `catch_up_seconds` and `unread_ratio` of GROUPS; null if not known.

    `runs` are those of the driver state, since the window of an evaluated tick has no slots any more.
    """
    by_group, own = rows_by_group(rows), rows.committed
    intervals = commit_intervals(plausible_slots(runs.slots, window.now), len(runs))
    shortest = by_group.reduce(np.minimum, _or_none(rows.align(intervals, NOT_KNOWN)), _NO_INTERVAL)
    unread = by_group.reduce(np.fmax, unread_ratios(window, own), np.nan)
    return {
        "commit_interval": nullable(shortest / 1000, shortest == _NO_INTERVAL),
        "catch_up_seconds": longest_catch_up(np.where(window.known, window.rates.catch_up_now, -1), own, by_group),
        "unread_ratio": nullable(unread, np.isnan(unread)),
    }


def stream_times(rows: InputRows, state: GroupColumns) -> tuple[Ints, Flags]:
    """Return the stream time (ms, -1: none) that each row's commit holds, and a mask of those that cannot be read.

    Only in groups that are known to be of Kafka Streams: others write anything into the metadata.
    """
    times, unreadable = np.full(len(rows), NOT_KNOWN, np.int64), np.zeros(len(rows), np.bool_)
    own = np.flatnonzero(_group_types(rows.groups, state.memberships)[0][rows.group] & rows.committed)
    texts = state.runs.metadata.take(pa.array(rows.state_row[own])).to_pylist()
    for row, raw in zip(own.tolist(), texts, strict=True):
        read = streams_commit_metadata(raw) if raw else None
        if isinstance(read, DecodeError):
            unreadable[row] = True
        elif read is not None and read["stream_time"] is not None:
            times[row] = read["stream_time"]
    return times, unreadable


def commit_intervals(slots: Slots, rows: int) -> Ints:
    """Return the mean time (ms) between the commits of each row in its window; -1 with commits in fewer than two slots.

    A slot knows the time of its last commit only, so the commits before that of the first slot do not count.
    """
    intervals = np.full(rows, NOT_KNOWN, np.int64)
    if not len(slots):
        return intervals
    row, first, last = row_bounds(slots.row)
    commits = np.add.reduceat(slots.commits, first) - slots.commits[first]
    time = slots.time[last] - slots.time[first]
    known = (last > first) & (commits > 0) & (time >= 0)
    intervals[row[known]] = time[known] // commits[known]
    return intervals


def longest_catch_up(times: Ints, counts: Flags, by_group: OwnedRows) -> pa.Array:
    """Return the greatest time (ms, -1: not known) of the rows that `counts` in seconds; null if one is not known."""
    longest = by_group.reduce(np.maximum, np.where(counts, _or_none(times), NOT_KNOWN), NOT_KNOWN)
    return nullable(longest / 1000, (longest == _NO_INTERVAL) | (longest == NOT_KNOWN))


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
    return nullable(np.round(ratio, 3), ~hot)


def _or_none(intervals: Ints) -> Ints:
    return np.where(intervals < 0, _NO_INTERVAL, intervals)


_RANGE: Final = "range"
"""The assignor that distributes each topic by itself: members beyond the largest topic have no work.

With so many members, partition n of each topic belongs to the same member (`RangeAssignor` of Kafka's clients).
"""
_STREAMS: Final = "stream"
"""The protocol of Kafka Streams, which assigns tasks: a task reads a partition of several topics."""
_SCALABLE_KINDS: Final = ("classic", "consumer")


@keep_last
def _group_types(groups: Sequence[str], memberships: Mapping[str, Membership]) -> Flags:
    """Return four flags of each group: it is of Kafka Streams, can have more members, has members, assigns by range."""
    found = [memberships.get(name, _NO_GROUP) for name in groups]
    is_streams = [(each.kind, each.protocol) in _STREAMS_GROUPS for each in found]
    is_scalable = [each.kind in _SCALABLE_KINDS and each.protocol != _STREAMS for each in found]
    has_members, by_topic = [each.members > 0 for each in found], [each.protocol == _RANGE for each in found]
    return np.array([is_streams, is_scalable, has_members, by_topic], np.bool_)


def scaling_columns(
    rows: InputRows, window: Window, assignment: PartitionAssignment, memberships: Mapping[str, Membership]
) -> dict[str, pa.Array]:
    """Return the columns `scalable_lag` and `members_useful` of GROUPS; null where they are not known.

    The scalable lag is known if the subscriptions and the assignment are, and the lag of every committed partition that
    the members read; a group without members reads all of its partitions but those of topics that it has left.
    Partitions without a commit have no lag. Members of groups whose offsets another program writes would have no work.
    """
    by_group = rows_by_group(rows)
    _, is_scalable, has_members, by_topic = _group_types(rows.groups, memberships)
    is_read = (assignment.subscribed == 1) | (assignment.owner >= 0) | (~has_members[rows.group] & ~window.left)
    unknown = is_read & rows.committed & (~window.known | (assignment.owner == NOT_KNOWN))
    unknown |= (assignment.subscribed == NOT_KNOWN) & ~is_read & ~window.left
    is_known = is_scalable & (window.inputs.groups.stage != GroupStage.MIRRORED)
    is_known &= (by_group.count(is_read) > 0) & (by_group.count(unknown) == 0)
    lag = np.where(is_read & rows.committed & window.known, window.lag, 0)
    unit = np.where(by_topic[rows.group], rows.partition, np.arange(len(rows.partition)))
    scalable = by_group.reduce(np.add, np.where(_is_alone(lag > 0, assignment.owner, unit), 0, lag), 0)
    topics, first = rows_by_topic(rows)
    # The partitions that are read; with the assignor `range` those of the largest topic.
    largest = max_by_owner(topics.count(is_read), rows.group[first], len(rows.groups), 0)
    useful = np.where(by_topic, largest, by_group.count(is_read))
    return {
        "scalable_lag": nullable(scalable, ~is_known),
        "members_useful": nullable(useful.astype(np.int32), ~(is_known & has_members)),
    }


def _is_alone(lagging: Flags, member: Ints, unit: Ints) -> Flags:
    """Return which rows have no other row with lag of their member but those of the same `unit`."""
    owned = lagging & (member >= 0)
    owner, units = member[owned], unit[owned]
    any_unit = np.zeros(owner.max(initial=0) + 1, np.int64)
    any_unit[owner] = units
    has_others = np.bincount(owner[units != any_unit[owner]], minlength=len(any_unit)) > 0
    return owned & ~has_others[np.where(owned, member, 0)]
