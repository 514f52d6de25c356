"""State and dates of each group as health reads them, from its membership, its history and DescribeGroups. Pure.

Neither the log nor the cluster says when a classic group started to rebalance: `ClusterContext.rebalancing_since` has
the time at which it was first seen rebalancing, so that a short rebalance is not taken for a long one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from exporters.selection.budget import first_match
from stream.groups.driver_state import GroupColumns
from stream.groups.lifecycle.model import GroupHistory, Transition, TransitionType
from stream.groups.membership.model import SIMPLE, Membership
from stream.groups.short_cache import is_same
from stream.health.columns import NOT_KNOWN, Codes, Ints
from stream.health.inputs import GroupInputs, GroupStage
from stream.tick.context import ClusterContext
from stream.tick.inputs.times import AHEAD_MS

_STAGES: Final = {
    "Empty": GroupStage.EMPTY,
    "Stable": GroupStage.STABLE,
    "PreparingRebalance": GroupStage.REBALANCING,
    "CompletingRebalance": GroupStage.REBALANCING,
    "Assigning": GroupStage.REBALANCING,
    "Reconciling": GroupStage.REBALANCING,
    "NotReady": GroupStage.REBALANCING,
}
"""By Kafka's state names, of all group types."""
_NO_MEMBERS: Final = (GroupStage.OFFSETS_ONLY, GroupStage.EMPTY)
_NEVER: Final = -1
_FOREVER: Final = 1 << 62
_STATIC: Final = "static:"
"""Prefix of static members in `stream.groups.membership.model.identity`."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Group:
    """The fields of `GroupInputs` for one group, and the time (ms) until which they hold without new records."""

    stage: GroupStage
    since: int
    members: int
    rebalances: int
    has_all_rebalances: bool
    """The history has kept all rebalances within the storm window, so `rebalances` is exact."""
    emptied: int
    refilled: int
    static: bool
    share: bool
    generation: int
    joined: int
    left: int
    holds_until: int


class GroupStates:
    """Computes the states of groups tick after tick; a group whose sources are the same objects keeps its state."""

    def __init__(self, mirrored: Sequence[str] = ()) -> None:
        """Without members, groups whose names match a pattern of `mirrored` are in the stage of that name."""
        self._mirrored = mirrored
        self._groups: dict[str, _Group] = {}
        self._built: GroupInputs | None = None
        self._sources: tuple[Any, ...] = ()
        self._holds_until = _FOREVER

    def build(
        self,
        names: Sequence[str],
        state: GroupColumns,
        context: ClusterContext,
        now: int,
        *,
        storm: int,
        rebalances: Mapping[str, int],
    ) -> GroupInputs:
        """Return the states of these groups at `now` (ms), in the order of `names`.

        Live rebalances within the last `storm` ms are counted by the times in the history. Where that no longer has all
        of them, the count of `stream.tick.inputs.member_changes` in `rebalances` applies if it is higher. A group that
        is described as rebalancing and has no entry in `rebalancing_since` started to rebalance at this tick.
        """
        described, began = context.described_states, context.rebalancing_since
        sources = names, state.memberships, state.histories, described, began, storm, dict(rebalances)
        if self._built is None or now >= self._holds_until or not is_same(self._sources, sources):
            self._built = self._build(names, state, context, now, storm=storm, rebalances=rebalances)
            self._sources = sources
            self._holds_until = min((group.holds_until for group in self._groups.values()), default=_FOREVER)
        return self._built

    def _build(
        self,
        names: Sequence[str],
        state: GroupColumns,
        context: ClusterContext,
        now: int,
        *,
        storm: int,
        rebalances: Mapping[str, int],
    ) -> GroupInputs:
        previous, self._groups = self._groups, {}
        _, memberships, histories, described_before, *_ = self._sources or (None, {}, {}, {})
        for name in names:
            membership, history = state.memberships.get(name), state.histories.get(name)
            described, group = context.described_states.get(name), previous.get(name)
            is_same_record = membership is memberships.get(name) and history is histories.get(name)
            is_described = described is not None or name in described_before
            if group is None or now >= group.holds_until or is_described or not is_same_record:
                began = context.rebalancing_since.get(name, now) if described is not None else _NEVER
                group = _group(_Sources(membership, history, described, began), now, storm)
            self._groups[name] = group
        groups = list(self._groups.values())
        return GroupInputs(
            names=tuple(names),
            stage=self._stages(names, groups),
            since=_ints([group.since for group in groups]),
            members=_ints([group.members for group in groups]),
            rebalances=_ints(
                [
                    group.rebalances if group.has_all_rebalances else max(group.rebalances, rebalances.get(name, 0))
                    for name, group in zip(names, groups, strict=True)
                ]
            ),
            emptied=_ints([group.emptied for group in groups]),
            refilled=_ints([group.refilled for group in groups]),
            static=np.array([group.static for group in groups], np.bool_),
            share=np.array([group.share for group in groups], np.bool_),
            generation=_ints([group.generation for group in groups]),
            joined=_ints([group.joined for group in groups]),
            left=_ints([group.left for group in groups]),
        )

    def _stages(self, names: Sequence[str], groups: Sequence[_Group]) -> Codes:
        stages = np.array([group.stage for group in groups], np.int8)
        if self._mirrored:
            has_no_members = np.isin(stages, _NO_MEMBERS) & ~np.array([group.share for group in groups], np.bool_)
            at = np.flatnonzero(has_no_members)
            matches = first_match(
                pa.array([names[each] for each in at.tolist()], pa.string()), self._mirrored
            ).is_valid()
            stages[at[matches.to_numpy(zero_copy_only=False)]] = GroupStage.MIRRORED
        return stages


class _Sources(NamedTuple):
    """The sources of a group's state."""

    membership: Membership | None
    history: GroupHistory | None
    described: str | None
    began: int


def stage(membership: Membership | None, described: str | None = None) -> GroupStage:
    """Return the stage of a group by its records, or by its `described` state if the log cannot show that one."""
    if described is not None:
        return _STAGES.get(described, GroupStage.UNKNOWN)
    if membership is None or membership.kind == SIMPLE:
        return GroupStage.OFFSETS_ONLY
    if not membership.members:
        return GroupStage.EMPTY
    return GroupStage.UNKNOWN if membership.state is None else _STAGES.get(membership.state, GroupStage.UNKNOWN)


def _group(sources: _Sources, now: int, storm: int) -> _Group:
    membership, history = sources.membership, sources.history
    is_dead = membership is None and history is not None and history.died is not None
    current = GroupStage.EMPTY if is_dead else stage(membership, sources.described)
    transitions = () if history is None else history.transitions
    changed, emptied, refilled = _change_times(transitions)
    last = next((each for each in reversed(transitions) if each.type is TransitionType.REBALANCED), None)
    recent = [each.time for each in transitions if _counts(each) and now - storm < each.time <= now + AHEAD_MS]
    has_all = _has_all(history, now - storm)
    in_state_since = _NEVER if history is None or history.since is None else history.since
    recorded = _NEVER if membership is None or membership.state_time is None else membership.state_time
    changed = max(changed, in_state_since)
    return _Group(
        stage=current,
        # A group from before histories were stored has no dates in its history; its record may have one.
        # A time in the future counts as the time when it was first seen; otherwise nothing would ever have lasted.
        since=min(max(changed if changed >= 0 else recorded, sources.began), now),
        members=_members(membership, current),
        rebalances=len(recent),
        has_all_rebalances=has_all,
        emptied=min(emptied, now),
        refilled=min(refilled, now),
        static=membership is not None and any(name.startswith(_STATIC) for name in membership.member_names),
        share=membership is not None and membership.kind == "share",
        generation=NOT_KNOWN if membership is None or membership.generation is None else membership.generation,
        joined=NOT_KNOWN if last is None else last.joined,
        left=NOT_KNOWN if last is None else last.left,
        holds_until=min([*recent, *(each.time for each in transitions[:1] if not has_all)], default=_FOREVER) + storm,
    )


def _members(membership: Membership | None, current: GroupStage) -> int:
    """Return the number of members; NOT_KNOWN for offsets only, and for a rebalance of members without a record."""
    recorded = 0 if membership is None else membership.members
    is_unrecorded = current is GroupStage.REBALANCING and not recorded
    return NOT_KNOWN if current is GroupStage.OFFSETS_ONLY or is_unrecorded else recorded


def _has_all(history: GroupHistory | None, since: int) -> bool:
    """Return whether a history has kept all transitions after `since` (ms): it dropped none, or kept an older one."""
    if history is None or sum(history.counts.values()) <= len(history.transitions):
        return True
    return any(each.time <= since for each in history.transitions[:1])


def _counts(transition: Transition) -> bool:
    return transition.live and transition.type is TransitionType.REBALANCED


def _change_times(transitions: Sequence[Transition]) -> tuple[int, int, int]:
    """Return when the group was last rebalanced or emptied, when last emptied, and when refilled after that."""
    changed = emptied = refilled = _NEVER
    for each in transitions:
        if each.type is TransitionType.EMPTIED:
            changed = emptied = each.time
            refilled = _NEVER
        elif each.type is TransitionType.REBALANCED:
            changed = each.time
            if emptied >= 0 > refilled:
                refilled = each.time
    return changed, emptied, refilled


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
