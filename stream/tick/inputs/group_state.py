"""What memberships and lives tell of groups, in the columns that health asks for. Owns which state is which stage.

Pure, tick after tick. The log does not tell when a classic group began to rebalance, and the cluster does not either:
`rebalancing_since` remembers when it was first seen doing so, lest a rebalance of seconds be taken for a long one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stream.groups.lifecycle.model import TransitionType
from stream.groups.membership.model import SIMPLE
from stream.health.inputs import NOT_TOLD, GroupInputs, GroupStage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.groups.driver_state import GroupColumns
    from stream.groups.lifecycle.model import GroupHistory, Transition
    from stream.groups.membership.model import Membership
    from stream.health.columns import Ints
    from stream.tick.context import ClusterContext

_STAGES: Final = {
    "Empty": GroupStage.EMPTY,
    "Stable": GroupStage.STABLE,
    "PreparingRebalance": GroupStage.REBALANCING,
    "CompletingRebalance": GroupStage.REBALANCING,
    "Assigning": GroupStage.REBALANCING,
    "Reconciling": GroupStage.REBALANCING,
    "NotReady": GroupStage.REBALANCING,
}
"""By Kafka's words for the states of all kinds of groups."""
_NEVER: Final = -1
_AHEAD_MS: Final = 60_000
"""A broker's clock may be ahead of this host's by so much."""
_FAR: Final = 1 << 62
_STATIC: Final = "static:"
"""How `stream.groups.membership.model.identity` marks a static member."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Group:
    """One group; the fields are those of `GroupInputs`, and until when (ms) they hold if nothing new comes."""

    stage: GroupStage
    since: int
    members: int
    rebalances: int
    emptied: int
    refilled: int
    static: bool
    share: bool
    holds_until: int


def rebalancing_since(before: Mapping[str, int], around: ClusterContext, now: int) -> dict[str, int]:
    """Give since when (ms) groups are seen that the cluster says to be rebalancing; `before` is the last answer."""
    return {group: before.get(group, now) for group in around.rebalancing}


class GroupStates:
    """Tells where groups stand, tick after tick; one whose records are the same, by identity, stands where it did."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[_Known, _Group]] = {}

    def groups(
        self,
        names: Sequence[str],
        fleet: GroupColumns,
        around: ClusterContext,
        now: int,
        *,
        storm: int,
        rebalancing: Mapping[str, int],
        rebalances: Mapping[str, int],
    ) -> GroupInputs:
        """Tell of each of these groups where it stands; live rebalances within `storm` ms before `now` are counted.

        `rebalances` are those that `inputs.rebalance_count` counted, which may be more than lives remember. A group
        that is asked to be rebalancing and is not in `rebalancing` has only just begun to.
        """
        before, self._before = self._before, {}
        for name in names:
            asked = around.asked.get(name)
            began = rebalancing.get(name, now) if asked is not None else _NEVER
            known = _Known(fleet.memberships.get(name), fleet.lives.get(name), asked, began)
            last = before.get(name)
            if last is None or now >= last[1].holds_until or not known.same(last[0]):
                last = known, _told(known, now, storm)
            self._before[name] = last
        told = [group for _, group in self._before.values()]
        return GroupInputs(
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
            share=np.array([each.share for each in told], np.bool_),
        )


class _Known(NamedTuple):
    """What a group is told from. A named tuple, for one is made of every group at every tick."""

    membership: Membership | None
    life: GroupHistory | None
    asked: str | None
    began: int

    def same(self, other: _Known) -> bool:
        return self.membership is other.membership and self.life is other.life and self[2:] == other[2:]


def stage(membership: Membership | None, asked: str | None = None) -> GroupStage:
    """Say where a group stands by its records, or by what the cluster told that no record shows."""
    if asked is not None:
        return _STAGES.get(asked, GroupStage.UNTOLD)
    if membership is None or membership.kind == SIMPLE:
        return GroupStage.OFFSETS_ONLY
    if not membership.members:
        return GroupStage.EMPTY
    return GroupStage.UNTOLD if membership.state is None else _STAGES.get(membership.state, GroupStage.UNTOLD)


def _told(told: _Known, now: int, storm: int) -> _Group:
    known, life = told.membership, told.life
    dead = known is None and life is not None and life.died is not None
    stands = GroupStage.EMPTY if dead else stage(known, told.asked)
    transitions = () if life is None else life.transitions
    settled, emptied, refilled = _turns(transitions)
    recent = [each.time for each in transitions if _counts(each) and now - storm < each.time <= now + _AHEAD_MS]
    in_state = _NEVER if life is None or life.since is None else life.since
    recorded = _NEVER if known is None or known.state_time is None else known.state_time
    changed = max(settled, in_state)
    return _Group(
        stage=stands,
        # The life of a group from before lives were kept has no dates; its record may.
        # A time in the future counts as the moment when it was first seen: nothing would ever have lasted.
        since=min(max(changed if changed >= 0 else recorded, told.began), now),
        members=NOT_TOLD if stands is GroupStage.OFFSETS_ONLY else known.members if known is not None else 0,
        rebalances=len(recent),
        emptied=min(emptied, now),
        refilled=min(refilled, now),
        static=known is not None and any(name.startswith(_STATIC) for name in known.member_names),
        share=known is not None and known.kind == "share",
        holds_until=min(recent) + storm if recent else _FAR,
    )


def _counts(transition: Transition) -> bool:
    return transition.live and transition.what is TransitionType.REBALANCED


def _turns(transitions: Sequence[Transition]) -> tuple[int, int, int]:
    """Give when it was last rebalanced or emptied, when last emptied, and when filled after that."""
    settled = emptied = refilled = _NEVER
    for each in transitions:
        if each.what is TransitionType.EMPTIED:
            settled = emptied = each.time
            refilled = _NEVER
        elif each.what is TransitionType.REBALANCED:
            settled = each.time
            if emptied >= 0 > refilled:
                refilled = each.time
    return settled, emptied, refilled


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
