"""What the records read mean for the histories of a shard's groups: the events of each group, in log order.

Only groups that can have a transition have events: groups with membership records or offset tombstones among the
records read, and groups with new commits that are not known to exist. A batch of commits of known groups costs nothing
here.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from stream.groups.commits.run_table import Runs, find_rows, groups_of_commit_keys
from stream.groups.commits.runs import NEVER, Spans
from stream.groups.commits.tombstones import OffsetTombstones
from stream.groups.membership.summary import groups_of
from stream.groups.shard import MembershipRecords, ShardDelta, ShardState


class EventType(enum.IntEnum):
    """At equal position and time, events sort in this order."""

    FIRST_COMMIT = 0
    OFFSET_TOMBSTONE = 1
    RECORD = 2


class Event(NamedTuple):
    """One event of a group. Events sort by log position, then by their type."""

    position: int
    time: int
    """In ms."""
    type: EventType
    row: int
    """The row in the table of its type; -1 for a first commit."""


def events_by_group(state: ShardState, read: ShardDelta, state_rows: NDArray[np.int64]) -> dict[str, list[Event]]:
    """Return the events of each group that can have a transition, in the order in which they count.

    `state_rows` has the row in the state of each run that was read, -1 where it has none.
    """
    first_commits = _first_commits(state, read.runs.spans, state_rows < 0)
    if not len(read.records) and not len(read.tombstones) and not len(first_commits):
        return {}
    events: defaultdict[str, list[Event]] = defaultdict(list)
    with_tombstones = _add_records(events, read.records) | _add_offset_tombstones(events, state, read.tombstones)
    if len(first_commits):
        _add_first_commits(events, state, read.runs, first_commits, with_tombstones)
    for group_events in events.values():
        group_events.sort()
    return events


def _first_commits(state: ShardState, spans: Spans, is_new: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows of runs whose first commit creates the offset, after the state's position."""
    if spans.reset.any():
        is_new |= spans.reset & (spans.first_position > state.position)
    return np.flatnonzero(is_new & (spans.commits > 0)) if is_new.any() else np.empty(0, np.intp)


def _add_records(events: defaultdict[str, list[Event]], records: MembershipRecords) -> set[str]:
    """Add the membership records; return the groups that have tombstones among them."""
    if not len(records):
        return set()
    with_tombstones = set()
    columns = zip(
        groups_of(records.keys.to_pylist()),
        records.position.tolist(),
        records.time.tolist(),
        records.values.is_null().to_pylist(),
        strict=True,
    )
    for row, (group, position, time, tombstone) in enumerate(columns):
        events[group].append(Event(position, time, EventType.RECORD, row))
        if tombstone:
            with_tombstones.add(group)
    return with_tombstones


def _add_offset_tombstones(
    events: defaultdict[str, list[Event]], state: ShardState, tombstones: OffsetTombstones
) -> set[str]:
    """Add the tombstones that removed an offset, and the first commits of these offsets that are new as well.

    Returns the groups concerned.
    """
    rows = np.flatnonzero(tombstones.known)
    groups: set[str] = set()
    if not len(rows):
        return groups
    known = tombstones.take(rows)
    is_new = known.first_position > state.position
    columns = zip(
        decode_keys(known.keys).group.to_pylist(),
        known.position.tolist(),
        known.time.tolist(),
        is_new.tolist(),
        known.first_position.tolist(),
        known.first_time.tolist(),
        rows.tolist(),
        strict=True,
    )
    for group, position, time, new, first_position, first_time, row in columns:
        if new:
            events[group].append(Event(first_position, first_time, EventType.FIRST_COMMIT, -1))
        events[group].append(Event(position, time, EventType.OFFSET_TOMBSTONE, row))
        groups.add(group)
    return groups


def _add_first_commits(
    events: defaultdict[str, list[Event]],
    state: ShardState,
    runs: Runs,
    first_commits: NDArray[np.intp],
    with_tombstones: set[str],
) -> None:
    """Add the first commits of groups that have other events or are not known to exist.

    A group without tombstones exists from its first event on, so only its first first commit is added.
    """
    first_commits = first_commits[np.argsort(runs.spans.first_position[first_commits], kind="stable")]
    groups = groups_of_commit_keys(runs.keys.take(pa.array(first_commits))).dictionary_encode()
    codes = groups.indices.to_numpy(zero_copy_only=False)
    names = groups.dictionary.cast(pa.string()).to_pylist()
    rows_in_state = find_rows(state.histories.groups, groups.dictionary)
    exists = (rows_in_state >= 0) & (np.append(state.histories.died, 0)[rows_in_state] == NEVER)
    concerned = ~exists | np.array([name in events for name in names], np.bool_)
    add_all = concerned & np.array([name in with_tombstones for name in names], np.bool_)
    is_first_of_group = np.zeros(len(codes), np.bool_)
    is_first_of_group[np.unique(codes, return_index=True)[1]] = True
    selected = add_all[codes] | (concerned[codes] & is_first_of_group)
    rows = first_commits[selected]
    columns = zip(
        codes[selected].tolist(),
        runs.spans.first_position[rows].tolist(),
        runs.spans.first_time[rows].tolist(),
        strict=True,
    )
    for code, position, time in columns:
        events[names[code]].append(Event(position, time, EventType.FIRST_COMMIT, -1))
