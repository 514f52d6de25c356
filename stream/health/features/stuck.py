"""Rows without progress: those that are stuck, and those that only pause."""

import numpy as np

from stream.health.columns import Codes, Flags, Ints
from stream.health.features.control_records import TailState
from stream.health.inputs import NO_OWNER, GroupStage, HealthInputs


def unowned_rows(inputs: HealthInputs) -> Flags:
    """Return the partitions that no member reads: none owns it, or none of the members subscribes to its topic."""
    unowned = np.zeros(len(inputs), np.bool_)
    if inputs.owner is not None:
        unowned |= inputs.owner == NO_OWNER
    if inputs.subscribed is not None:
        unowned |= (inputs.subscribed == 0) & (inputs.groups.members[inputs.group] > 0)
    return unowned


def readable_rows(stage: Codes, unowned: Flags, excused: Flags) -> Flags:
    """Return the rows that a member can read: the group has members, does not rebalance, and nothing excuses it."""
    readable: Flags = (stage != GroupStage.EMPTY) & (stage != GroupStage.REBALANCING) & ~unowned & ~excused
    return readable


def overdue_rows(idle_time: Ints, settled_time: Ints, patience: Ints, restart: int) -> Flags:
    """Return the rows that have been idle for longer than their patience, in a group that has settled.

    A group has settled if its last rebalance is longer ago than its patience or than a process may take to restart
    (`restart`, ms).
    """
    overdue: Flags = (idle_time > patience) & (settled_time > np.minimum(patience, restart))
    return overdue


def stuck_rows(
    unread: Flags, readable: Flags, overdue: Flags, restarting: Flags, before_new_transaction: Flags
) -> Flags:
    """Return the overdue rows that a member can read and that neither a restart nor a new transaction explains."""
    stuck: Flags = unread & readable & overdue & ~restarting & ~before_new_transaction
    return stuck


def proven_stuck_rows(stuck: Flags, tail: TailState) -> Flags:
    """Return the stuck rows of which at least one unread offset is known to hold a record."""
    proven: Flags = stuck & ~tail.pending & ~tail.unproven
    return proven


def paused_rows(unread: Flags, idle_time: Ints, patience: Ints, stuck: Flags) -> Flags:
    """Return the rows that have been idle for longer than their patience and are not stuck: they could not be read.

    Their pace says nothing about the group.
    """
    paused: Flags = unread & (idle_time > patience) & ~stuck
    return paused
