"""Skipped ranges: a commit that passes records which its group cannot have read in that time.

Some operations move a group forward past unread records without any error: auto.offset.reset=latest after the offset
expired or fell below the log start, a reset by a tool, a seek. The commits before and after show the step. A group that
quickly reads to the end also makes a large step, so a step skips records only if all of the following is true:

- The step finishes within two ticks of the end and begins more than two ticks of records before it; at a hand-over to
  another owner it may begin anywhere.
- It is more than ten times as long as the group would read in that time at its best observed rate. This rate is known
  only if the group has read a backlog for a minute at about this rate: one that was slower than usual may read at any
  rate when the cause of that has gone. The time of another owner begins with its rebalance. If the broker had removed
  the offset or the records at it, the group had to continue elsewhere, and any earlier rate is accepted. If the broker
  removed the offset before its time, another owner begins at the log start or at the end (auto.offset.reset): it
  would have to read all from the log start on, and the log is longer than any member can read in that time.
- The step is not explained by offsets without records: the topic is not compacted, the group did not wait for a
  transaction that has ended, and offsets that were seen in an open transaction do not count, because the transaction
  may have been aborted. It is not explained by an outage of the coordinator either, after which several commits
  arrive as one.

A client of the group has read the records before the greatest committed offset. So if two clients commit the same
partition, a commit of the one ahead skips nothing. After a tool has set an empty group back, the group reads them
again.

A commit while the group has no members was made by a tool, and any step forward then skips records as planned.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from stream.groups.membership.model import MemberClient
from stream.groups.short_cache import keep_last
from stream.health.columns import NOT_KNOWN, Flags, Ints, assigned, replaced, uniform
from stream.health.features.end_history import BracketQuality, EndHistory
from stream.health.features.lag import Lag
from stream.health.features.memory.columns import Changes, Memory
from stream.health.features.open_transaction import MOST_MARKERS
from stream.health.inputs import HealthInputs

_FASTER: Final = 10
_SLOWER: Final = 4
"""A tick is slow if the group reads less than this part of its best rate."""
_BACKLOG_TICKS: Final = 6
"""Ticks of work on a backlog after which the rate of a group is known; one slow tick undoes as many."""
_LARGEST_STEP: Final = 1 << 36
"""Larger steps count as this size, so that their rates fit into 64 bits."""
_LEAST_TIME: Final = 1_000
"""The shortest time (ms) over which a rate is computed: commits come in bursts."""
_FASTEST: Final = 100
"""No member reads more offsets of a partition per ms."""
_DAY: Final = 86_400_000
"""Rates are kept in offsets per day, as whole numbers."""


def advance(
    memory: Memory, inputs: HealthInputs, lag: Lag, history: EndHistory, history_row: Ints
) -> tuple[Changes, Ints]:
    """Return the columns of skipped ranges after a tick, and the numbers of the rows that skip one at this tick."""
    committed, time = inputs.spans.last_offset, inputs.spans.last_time
    known = lag.known & (committed >= 0)
    if inputs.hidden is not None:
        known &= ~inputs.hidden
    start, owner = lag.start, _owners(inputs)
    astray = replaced(memory.without_offset, committed < 0, 1)
    changes: Changes = {
        "last_committed": replaced(memory.last_committed, known, committed),
        "last_commit_time": replaced(memory.last_commit_time, known, time),
        "last_end": replaced(memory.last_end, known, lag.end),
        "end_before": replaced(memory.end_before, known, memory.last_end),
        "without_offset": replaced(astray, known, (committed < start).astype(np.int64)),
        "in_transaction": _in_transaction(inputs, lag, known, committed),
        **_open_offsets(memory, inputs, lag, known, committed),
    }
    # From here on only the rows with another owner, and those that have moved or stand elsewhere than ever.
    at = np.flatnonzero(owner != memory.last_owner)
    at = at[known[at] & (time[at] >= inputs.groups.since[inputs.group[at]])]
    changes["last_owner"] = assigned(memory.last_owner, at, owner[at])
    at = np.flatnonzero(known & (committed != memory.furthest))
    furthest = np.minimum(np.maximum(memory.furthest[at], committed[at]), lag.end[at])
    furthest = np.where(_while_empty(inputs, at), committed[at], furthest)
    changes["furthest"] = assigned(memory.furthest, at, furthest)
    at = np.flatnonzero(known & (committed > memory.last_committed))
    at = at[memory.last_committed[at] >= 0]
    set_by_tool = _while_empty(inputs, at)
    before, best_rate = memory.last_committed[at], memory.best_rate[at]
    is_other = (memory.last_owner[at] >= 0) & (owner[at] >= 0) & (owner[at] != memory.last_owner[at])
    spent = np.maximum(time[at] - _began(memory, inputs, at, is_other), _LEAST_TIME)
    first = np.maximum(before, start[at])
    # What the group has read before; after a tool has set it back, it reads that again.
    first = np.where(set_by_tool, first, np.maximum(first, memory.furthest[at]))
    step = np.clip(committed[at] - first, 0, _LARGEST_STEP)
    records = np.maximum(step - np.maximum(memory.open_offsets[at], 0), 0)
    begins_again = is_other & _was_removed_early(memory, inputs, at)
    beyond_reach = np.clip(committed[at] - start[at] - _FASTEST * spent, 0, _LARGEST_STEP)
    to_read = np.where(begins_again, beyond_reach, records)
    skips = (step > 0) & (set_by_tool | _is_skip(memory, inputs, at, to_read, spent, is_other))
    waits = ~skips & (before < memory.end_before[at]) & (committed[at] < memory.last_end[at])
    is_slow = waits & (_SLOWER * (step * _DAY // spent) < best_rate)
    change = np.where(is_slow, -_BACKLOG_TICKS, waits)
    backlog_ticks = replaced(memory.backlog_ticks, memory.backlog_ticks < 0, 0)
    backlog = np.clip(backlog_ticks[at] + change, 0, 2 * _BACKLOG_TICKS)
    changes["backlog_ticks"] = assigned(backlog_ticks, at, backlog)
    best_rate = np.where(skips, best_rate, np.maximum(best_rate, records * _DAY // spent))
    changes["best_rate"] = assigned(memory.best_rate, at, best_rate)
    if skips.any():
        rows = at[skips]
        changes |= _new_skips(memory, rows, inputs, history, history_row, set_by_tool[skips], first[skips])
    return changes, at[skips]


def _owners(inputs: HealthInputs) -> Ints:
    """Return a checksum of the id of the owner of each row; -1 where it is not known, or there is none."""
    if inputs.owner is None or not inputs.clients:
        return uniform(NOT_KNOWN, inputs.group)
    return _checksums(inputs.clients)[inputs.owner]


@keep_last
def _checksums(clients: Sequence[MemberClient]) -> Ints:
    # The last two are at the positions of `NO_OWNER` and of an owner that is not known.
    return np.array([*(zlib.crc32(client.member_id.encode()) for client in clients), NOT_KNOWN, NOT_KNOWN], np.int64)


def _was_removed_early(memory: Memory, inputs: HealthInputs, at: Ints) -> Flags:
    """Return which of these rows have no offset because the broker removed it before its time."""
    if inputs.removed is None:
        return np.zeros(len(at), np.bool_)
    return (memory.without_offset[at] > 0) & (inputs.removed.forgotten[at] > memory.last_commit_time[at])


def _began(memory: Memory, inputs: HealthInputs, at: Ints, is_other: Flags) -> Ints:
    """Return when each group can have begun to read: at its last commit, or when it had members again after that.

    An owner that `is_other` than that at the last commit begins with the last rebalance.
    """
    group, time, before = inputs.group[at], inputs.spans.last_time[at], memory.last_commit_time[at]
    joined, formed = np.maximum(inputs.groups.refilled, NOT_KNOWN)[group], inputs.groups.since[group]
    is_new = (memory.without_offset[at] > 0) | is_other
    joined = np.where(is_new & (formed <= time), np.maximum(joined, formed), joined)
    return np.where(joined <= time, np.maximum(before, joined), before)


def _while_empty(inputs: HealthInputs, at: Ints) -> Flags:
    """Return which of these rows made their last commit while their group had no members."""
    emptied, refilled = inputs.groups.emptied[inputs.group[at]], inputs.groups.refilled[inputs.group[at]]
    time = inputs.spans.last_time[at]
    return (emptied >= 0) & (time > emptied) & ((refilled < emptied) | (time < refilled))


def _is_skip(  # noqa: PLR0917 - columns of one table
    memory: Memory, inputs: HealthInputs, at: Ints, records: Ints, spent: Ints, is_other: Flags
) -> Flags:
    if inputs.gapless is None:
        return np.zeros(len(at), np.bool_)
    best_rate, end_before = memory.best_rate[at], memory.end_before[at]
    can_tell = (memory.without_offset[at] > 0) | (memory.backlog_ticks[at] >= _BACKLOG_TICKS)
    too_far = (best_rate > 0) & (records > _FASTER * (best_rate / _DAY) * spent)
    from_afar = (end_before >= 0) & ((memory.last_committed[at] < end_before) | is_other)
    from_afar &= inputs.spans.last_offset[at] >= end_before
    is_skip: Flags = can_tell & too_far & from_afar & inputs.gapless[at] & (memory.in_transaction[at] <= 0)
    if inputs.answered_since is not None:
        is_skip &= inputs.answered_since[at] <= memory.last_commit_time[at]
    return is_skip


def _in_transaction(inputs: HealthInputs, lag: Lag, known: Flags, committed: Ints) -> Ints:
    """Return 1 for the rows that wait for a transaction to end."""
    stable, is_open = inputs.ends.last_stable, inputs.ends.open_transactions
    if stable is None or not is_open.any():
        return uniform(0, known)
    last_stable = stable[lag.row]
    # A group above the last stable offset reads uncommitted records, and waits for no transaction.
    before = (committed <= last_stable) & (committed + MOST_MARKERS >= last_stable)
    return (known & is_open[lag.row] & before).astype(np.int64)


def _open_offsets(memory: Memory, inputs: HealthInputs, lag: Lag, known: Flags, committed: Ints) -> Changes:
    """Return how many offsets above the commit were in or behind an open transaction, and up to which they count.

    A transaction that is aborted later leaves offsets that no consumer of committed records reads. A group above the
    last stable offset reads uncommitted records: nothing is passed unread because of a transaction.
    """
    counted, counted_to = replaced(memory.open_offsets, memory.open_offsets < 0, 0), memory.open_to
    stable, in_partition = inputs.ends.last_stable, inputs.ends.open_transactions
    if stable is not None and in_partition.any():
        at = np.flatnonzero(known & in_partition[lag.row])
        last_stable, end, reached = stable[lag.row[at]], lag.end[at], counted_to[at]
        more = np.maximum(end - np.maximum(last_stable, reached), 0)
        counted = assigned(counted, at, np.where(committed[at] > last_stable, 0, counted[at] + more))
        counted_to = assigned(counted_to, at, np.maximum(reached, end))
    at = np.flatnonzero(known & (counted > 0))
    left = np.maximum(counted_to[at] - committed[at], 0)
    return {"open_offsets": assigned(counted, at, np.minimum(counted[at], left)), "open_to": counted_to}


def _new_skips(  # noqa: PLR0917 - columns of one table
    memory: Memory,
    rows: Ints,
    inputs: HealthInputs,
    history: EndHistory,
    history_row: Ints,
    planned: Flags,
    first: Ints,
) -> Changes:
    """Return the columns of the last skipped ranges after new ones in these rows, of which `first` are the first."""
    last = inputs.spans.last_offset[rows]
    new = {"skip_from": first, "skip_to": last, "skip_time": inputs.spans.last_time[rows], "skip_planned": planned}
    for name, offset in (("skip_written_from", first), ("skip_written_to", last - 1)):
        written, quality = history.time_of(np.maximum(history_row[rows], 0), offset)
        is_known = (history_row[rows] >= 0) & (quality == BracketQuality.BETWEEN)
        new[name] = np.where(is_known, written, NOT_KNOWN)
    changes = {name: getattr(memory, name).copy() for name in new}
    for name, values in new.items():
        changes[name][rows] = values
    return changes
