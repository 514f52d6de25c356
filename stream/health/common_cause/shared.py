"""What groups share: brokers, partitions, topics and hosts, as pairs of a group and a value."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

import numpy as np

from stream.health.columns import Flags, Ints


class Dimension(enum.StrEnum):
    """A kind of thing that groups share; the narrower ones come first."""

    OFFSETS_PARTITION = "offsets_partition"
    """The partition of `__consumer_offsets` that stores their commits."""
    TOPIC = "topic"
    CLIENT_HOST = "client_host"
    """The host of a member."""
    LEADER = "leader"
    """The broker that leads a partition they read."""
    COORDINATOR = "coordinator"
    """The broker that coordinates them."""
    FOLLOWER = "follower"
    """The broker that follows a partition they read: consumers in its rack fetch from it (KIP-392)."""


@dataclasses.dataclass(frozen=True, slots=True)
class SharedValues:
    """The groups that have each value of one dimension, one element per pair of group and value, in any order.

    Times in ms. A group is unhealthy for a value that may be the cause of one of its faults: for a topic, of a fault on
    a partition of the topic.
    """

    dimension: Dimension
    names: Sequence[str]
    """The values; `value` holds positions in it."""
    group: Ints
    value: Ints
    unhealthy_since: Ints
    """When the fault began; -1: the group has no fault for the value."""
    worked: Ints
    """When the group last made a commit for the value; -1: never, or the group is unhealthy."""

    def __len__(self) -> int:
        return len(self.group)

    def select(self, pairs: Flags | Ints) -> SharedValues:
        """Return some of the pairs."""
        columns = {name: getattr(self, name)[pairs] for name in ("group", "value", "unhealthy_since", "worked")}
        return dataclasses.replace(self, **columns)


def unique_pairs(  # noqa: PLR0917 - columns of one table
    dimension: Dimension, names: Sequence[str], group: Ints, value: Ints, unhealthy_since: Ints, worked: Ints
) -> SharedValues:
    """Return one pair per group and value, with the first fault and the last commit of those given.

    Elements with a negative value, which is not known, are left out. A pair with a fault has no commit.
    """
    known = value >= 0
    key = (group[known] << 32) | value[known]
    keys, pair = np.unique(key, return_inverse=True)
    never = np.iinfo(np.int64).max
    first = np.full(len(keys), never, np.int64)
    np.minimum.at(first, pair, np.where(unhealthy_since[known] >= 0, unhealthy_since[known], never))
    last = np.full(len(keys), -1, np.int64)
    np.maximum.at(last, pair, worked[known])
    is_unhealthy = first < never
    return SharedValues(
        dimension,
        names,
        keys >> 32,
        keys & 0xFFFFFFFF,
        np.where(is_unhealthy, first, -1),
        np.where(is_unhealthy, -1, last),
    )
