"""What memberships and lives tell of groups, in the columns that health asks for. Owns which state is which stage.

Pure, tick after tick. The log does not tell when a classic group began to rebalance, and the cluster does not either:
`rebalancing_since` remembers when it was first seen doing so, lest a rebalance of seconds be taken for a long one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.groups.holdings import HIGHEST
from stream.groups.kinds import SIMPLE
from stream.groups.lives import Happening
from stream.health.observed import NOBODY, NOT_TOLD, Groups, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.fleet import FleetColumns
    from stream.groups.kinds import Membership
    from stream.groups.lives import Life, Transition
    from stream.health.columns import Codes, Ints
    from stream.surroundings import Surroundings

_STAGES: Final = {
    "Empty": Stage.EMPTY,
    "Stable": Stage.STABLE,
    "PreparingRebalance": Stage.REBALANCING,
    "CompletingRebalance": Stage.REBALANCING,
    "Assigning": Stage.REBALANCING,
    "Reconciling": Stage.REBALANCING,
    "NotReady": Stage.REBALANCING,
}
"""By Kafka's words for the states of all kinds of groups."""
_NEVER: Final = -1
_STATIC: Final = "static:"
"""How `stream.groups.kinds.identity` marks a static member."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Group:
    """One group; the fields are those of `Groups`."""

    stage: Stage
    since: int
    members: int
    rebalances: int
    emptied: int
    refilled: int
    static: bool


def rebalancing_since(before: Mapping[str, int], around: Surroundings, now: int) -> dict[str, int]:
    """Give since when (ms) groups are seen that the cluster says to be rebalancing; `before` is the last answer."""
    return {group: before.get(group, now) for group in around.rebalancing}


def groups(
    names: Sequence[str],
    fleet: FleetColumns,
    around: Surroundings,
    now: int,
    *,
    storm: int,
    rebalancing: Mapping[str, int],
    rebalances: Mapping[str, int],
) -> Groups:
    """Tell of each of these groups where it stands; live rebalances within `storm` ms before `now` are counted.

    `rebalances` are those that `stream.observed_rebalances` counted, which may be more than lives remember. A group
    that is asked to be rebalancing and is not in `rebalancing` has only just begun to.
    """
    told = []
    for name in names:
        asked = around.asked.get(name)
        began = rebalancing.get(name, now) if asked is not None else _NEVER
        told.append(_told(fleet.memberships.get(name), fleet.lives.get(name), asked, began, now - storm))
    return Groups(
        names=tuple(names),
        stage=np.array([each.stage for each in told], np.int8),
        since=_ints([each.since for each in told]),
        members=_ints([each.members for each in told]),
        rebalances=_ints(
            [max(each.rebalances, rebalances.get(name, 0)) for name, each in zip(names, told, strict=True)]
        ),
        emptied=_ints([each.emptied for each in told]),
        refilled=_ints([each.refilled for each in told]),
        static=np.array([each.static for each in told], np.bool_),
    )


def stage(membership: Membership | None, asked: str | None = None) -> Stage:
    """Say where a group stands by its records, or by what the cluster told that no record shows."""
    if asked is not None:
        return _STAGES.get(asked, Stage.UNTOLD)
    if membership is None or membership.kind == SIMPLE:
        return Stage.OFFSETS_ONLY
    if not membership.members:
        return Stage.EMPTY
    return Stage.UNTOLD if membership.state is None else _STAGES.get(membership.state, Stage.UNTOLD)


def _told(known: Membership | None, life: Life | None, asked: str | None, began: int, storm_from: int) -> _Group:
    dead = known is None and life is not None and life.died is not None
    stands = Stage.EMPTY if dead else stage(known, asked)
    transitions = () if life is None else life.transitions
    settled, emptied, refilled, rebalances = _turns(transitions, storm_from)
    in_state = _NEVER if life is None or life.since is None else life.since
    recorded = _NEVER if known is None or known.state_time is None else known.state_time
    changed = max(settled, in_state)
    return _Group(
        stage=stands,
        # The life of a group from before lives were kept has no dates; its record may.
        since=max(changed if changed >= 0 else recorded, began),
        members=NOT_TOLD if stands is Stage.OFFSETS_ONLY else known.members if known is not None else 0,
        rebalances=rebalances,
        emptied=emptied,
        refilled=refilled,
        static=known is not None and any(name.startswith(_STATIC) for name in known.member_names),
    )


def _turns(transitions: Sequence[Transition], storm_from: int) -> tuple[int, int, int, int]:
    """Give when it was last rebalanced or emptied, last emptied, and filled after that; and its recent rebalances."""
    settled = emptied = refilled = _NEVER
    rebalances = 0
    for each in transitions:
        if each.what is Happening.EMPTIED:
            settled = emptied = each.time
            refilled = _NEVER
        elif each.what is Happening.REBALANCED:
            settled = each.time
            rebalances += each.live and each.time > storm_from
            if emptied >= 0 > refilled:
                refilled = each.time
    return settled, emptied, refilled, rebalances


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Per row: whether any member subscribes to the topic, and who owns the partition (columns of `Observed`)."""

    subscribed: Codes
    owner: Ints


def wanted(
    fleet: FleetColumns,
    around: Surroundings,
    rows: tuple[Ints, Ints, NDArray[np.int32]],
    group_names: Sequence[str],
    topic_names: Sequence[str],
) -> Wanted:
    """Hold the rows (group, topic, partition; sorted by these) against what the members want and have.

    What a group's members own is known all together only: a partition is nobody's, or the only member's, or somebody's
    who is not told. While a group is on its way from one assignment to the next, nothing is told of owners.
    """
    group, topic, partition = rows
    new = (np.diff(group, prepend=-1) != 0) | (np.diff(topic, prepend=-1) != 0)
    first = np.flatnonzero(new)
    pair = np.cumsum(new) - 1
    members = _Members(fleet, around)
    subscribed, somebody, masks = [], [], []
    for group_number, topic_number in zip(group[first].tolist(), topic[first].tolist(), strict=True):
        answer = members.of(group_names[group_number], topic_names[topic_number])
        subscribed.append(answer[0])
        somebody.append(answer[1])
        masks.append(answer[2])
    known = np.array([mask is not None for mask in masks], np.bool_)[pair] & (partition <= HIGHEST)
    owned = _bits(masks, pair, partition)
    owner = np.where(owned, _ints(somebody)[pair], NOBODY)
    return Wanted(np.array(subscribed, np.int8)[pair], np.where(known, owner, NOT_TOLD))


class _Members:
    """What the members of the groups want and own, asked group by group."""

    def __init__(self, fleet: FleetColumns, around: Surroundings) -> None:
        self._fleet, self._around = fleet, around
        self._group: str | None = None
        self._topics: frozenset[str] | None = None
        self._owned: dict[str, int] | None = None
        self._somebody = NOT_TOLD

    def of(self, group: str, topic: str) -> tuple[int, int, int | None]:
        """Give for a topic: subscribed (1, 0, -1), the owner of what is owned, the bits that are (None: not known)."""
        if group != self._group:
            self._turn_to(group)
        subscribed = NOT_TOLD if self._topics is None else int(topic in self._topics)
        return subscribed, self._somebody, None if self._owned is None else self._owned.get(topic, 0)

    def _turn_to(self, group: str) -> None:
        known = self._fleet.memberships.get(group)
        self._group, self._topics, self._owned, self._somebody = group, None, None, NOT_TOLD
        if known is None or not known.members:
            return
        self._topics = None if known.unresolved else known.subscribed
        if stage(known, self._around.asked.get(group)) is Stage.STABLE:
            self._owned = self._named(known)
            self._somebody = 0 if known.members == 1 else NOT_TOLD

    def _named(self, known: Membership) -> dict[str, int] | None:
        """Give what is owned by the names of topics; None if one has no name, for it may be any of them."""
        if known.owned is None:
            return None
        owned: dict[str, int] = {}
        for ref, mask in known.owned:
            name = ref if isinstance(ref, str) else self._around.topic_names.get(ref)
            if name is None:
                return None
            owned[name] = mask | owned.get(name, 0)
        return owned


def _bits(masks: Sequence[int | None], pair: Ints, partition: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Look each row's partition up in the bits of its pair."""
    packed = [(mask or 0).to_bytes(((mask or 0).bit_length() + 7) // 8, "little") for mask in masks]
    width = _ints([len(each) for each in packed])
    begin = np.cumsum(width) - width
    every = np.frombuffer(b"".join(packed) + b"\0", np.uint8)
    byte = partition >> 3
    inside = byte < width[pair]
    at = np.where(inside, begin[pair] + byte, len(every) - 1)
    bits: NDArray[np.bool_] = (every[at] >> (partition & 7) & 1).astype(np.bool_)
    return bits


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
