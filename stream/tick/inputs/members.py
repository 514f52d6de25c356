"""The member that owns the partition of each row, from the assignments of all members. Pure."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.groups.membership.partition_bits import HIGHEST
from stream.health.columns import NOT_KNOWN, find_keys
from stream.health.inputs import NO_OWNER, GroupStage
from stream.tick.inputs.group_state import stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.model import MemberClient, Membership
    from stream.health.columns import Ints
    from stream.tick.context import ClusterContext
    from stream.tick.inputs.rows import InputRows

_PARTITION_BITS: Final = 16
"""Bits of a key that hold the partition; `HIGHEST` fits."""
_NO_NAME: Final = ""
"""No topic has this name."""


@dataclasses.dataclass(frozen=True, slots=True)
class OwningMembers:
    """The members that own the partitions of the rows."""

    number: Ints
    """Per row: the position of its owner in `clients`.

    `NO_OWNER` where the assignment of the group is known and no member owns the partition, as in a group without
    members; `NOT_KNOWN` where it is not known, as during a rebalance.
    """
    clients: Sequence[MemberClient]
    """The members of all groups whose assignment is known."""


def owning_members(rows: InputRows, state: GroupColumns, context: ClusterContext) -> OwningMembers:
    """Return the member that owns each row."""
    topics = {name: number for number, name in enumerate(rows.topics)}
    is_known = np.zeros(len(rows.groups), np.bool_)
    keys, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    clients: list[MemberClient] = []
    for group, name in enumerate(rows.groups):
        shares = _shares_by_name(state.memberships.get(name), context, name)
        if shares is None:
            continue
        is_known[group] = True
        for client, share in shares:
            for topic, mask in share.items():
                if topic in topics:
                    partitions = _partitions(mask)
                    keys.append((group * len(topics) + topics[topic] << _PARTITION_BITS) + partitions)
                    owners.append(np.full(len(partitions), len(clients)))
            clients.append(client)
    # A client-made assignment may give a partition to two members; either may be shown.
    owned, first = np.unique(np.concatenate(keys), return_index=True)
    at = find_keys(owned, (rows.group * len(topics) + rows.topic << _PARTITION_BITS) + rows.partition)
    owner = np.append(np.concatenate(owners)[first], NO_OWNER)[at]
    return OwningMembers(np.where(is_known[rows.group] & (rows.partition <= HIGHEST), owner, NOT_KNOWN), clients)


def _shares_by_name(
    membership: Membership | None, context: ClusterContext, group: str
) -> list[tuple[MemberClient, dict[str, int]]] | None:
    """Return each member with its partitions by topic name; None if they are not known."""
    if membership is None:
        return None
    found = stage(membership, context.described_states.get(group))
    if found is GroupStage.EMPTY:
        return []
    if found is not GroupStage.STABLE or membership.owned is None:
        return None
    shares = [(client, dict(_named(client.owned or (), context))) for client in membership.clients]
    return None if any(_NO_NAME in share for _, share in shares) else shares


def _named(share: tuple[tuple[str | bytes, int], ...], context: ClusterContext) -> Iterator[tuple[str, int]]:
    """Yield topics with masks; `_NO_NAME` stands for a topic whose name is not known."""
    for ref, mask in share:
        yield ref if isinstance(ref, str) else context.topic_names.get(ref, _NO_NAME), mask


def _partitions(mask: int) -> Ints:
    bits = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))
