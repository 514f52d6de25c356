"""The lag of a group that more members would cure, and the number of members that can have work. Pure.

A partition is read by one member. Its lag shrinks with a further member only if it has no owner, or if its owner has
other partitions with lag, of which the new member takes some. The lag of a member's only partition with lag does not: a
scaler that counts it adds members that stay idle, and each addition is a rebalance. The assignor `range` gives the
partitions of the same number of all topics to one member, however many there are: they count as one partition.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from stream.groups.membership.model import Membership
from stream.health.columns import NOT_KNOWN, Flags, Ints, sum_by_owner
from stream.health.features.window import Window
from stream.health.inputs import GroupStage
from stream.tick.inputs.assignment import PartitionAssignment
from stream.tick.inputs.rows import InputRows

_RANGE: Final = "range"
"""The assignor that distributes each topic by itself: members beyond the largest topic have no work.

With so many members, partition n of each topic belongs to the same member (`RangeAssignor` of Kafka's clients).
"""
_STREAMS: Final = "stream"
"""The protocol of Kafka Streams, which assigns tasks: a task reads a partition of several topics."""
_SCALABLE_KINDS: Final = ("classic", "consumer")


def scaling_columns(
    rows: InputRows, window: Window, assignment: PartitionAssignment, memberships: Mapping[str, Membership]
) -> dict[str, pa.Array]:
    """Return the columns `scalable_lag` and `members_useful` of GROUPS; null where they are not known.

    The scalable lag is known if the subscriptions and the assignment are, and the lag of every committed partition that
    the members read; a group without members reads all of its partitions but those of topics that it has left.
    Partitions without a commit have no lag. Members of groups whose offsets another program writes would have no work.
    """
    groups = len(rows.groups)
    found = [memberships.get(name) for name in rows.groups]
    is_scalable = np.array([each is not None and _is_scalable(each) for each in found], np.bool_)
    is_scalable &= window.inputs.groups.stage != GroupStage.MIRRORED
    has_members = np.array([each is not None and each.members > 0 for each in found], np.bool_)
    is_read = (assignment.subscribed == 1) | (assignment.owner >= 0) | (~has_members[rows.group] & ~window.left)
    unknown = is_read & rows.committed & (~window.known | (assignment.owner == NOT_KNOWN))
    unknown |= (assignment.subscribed == NOT_KNOWN) & ~is_read & ~window.left
    is_known = is_scalable & _any(is_read, rows.group, groups) & ~_any(unknown, rows.group, groups)
    lag = np.where(is_read & rows.committed & window.known, window.lag, 0)
    by_topic = np.array([each is not None and each.protocol == _RANGE for each in found], np.bool_)
    unit = np.where(by_topic[rows.group], rows.partition, np.arange(len(rows.partition)))
    scalable = sum_by_owner(np.where(_is_alone(lag > 0, assignment.owner, unit), 0, lag), rows.group, groups)
    useful = _useful_members(rows, is_read, by_topic)
    return {
        "scalable_lag": pa.array(scalable, mask=~is_known),
        "members_useful": pa.array(useful.astype(np.int32), mask=~(is_known & has_members)),
    }


def _is_scalable(membership: Membership) -> bool:
    return membership.kind in _SCALABLE_KINDS and membership.protocol != _STREAMS


def _is_alone(lagging: Flags, member: Ints, unit: Ints) -> Flags:
    """Return which rows have no other row with lag of their member but those of the same `unit`."""
    owned = lagging & (member >= 0)
    owner, units = member[owned], unit[owned]
    any_unit = np.zeros(owner.max(initial=0) + 1, np.int64)
    any_unit[owner] = units
    has_others = np.bincount(owner[units != any_unit[owner]], minlength=len(any_unit)) > 0
    alone: Flags = owned & ~has_others[np.where(owned, member, 0)]
    return alone


def _useful_members(rows: InputRows, is_read: Flags, by_topic: Flags) -> Ints:
    """Return the number of partitions that are read per group; with `by_topic` that of the largest topic."""
    groups = len(rows.groups)
    total = np.bincount(rows.group[is_read], minlength=groups)
    place = rows.group * max(len(rows.topics), 1) + rows.topic
    places, partitions = np.unique(place[is_read], return_counts=True)
    largest = np.zeros(groups, np.int64)
    np.maximum.at(largest, places // max(len(rows.topics), 1), partitions)
    return np.where(by_topic, largest, total)


def _any(flags: Flags, owner: Ints, owners: int) -> Flags:
    found: Flags = np.bincount(owner[flags], minlength=owners) > 0
    return found
