"""Groups without members that commit nevertheless: consumers that assign partitions to themselves use the group."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.inputs import GroupStage

if TYPE_CHECKING:
    from stream.health.inputs import HealthInputs
    from stream.health.limits import HealthLimits

_LEAST_SLOTS: Final = 2
"""A tool that sets offsets commits once."""
_RECENT_SLOTS: Final = 4


def with_stages_of_commits(inputs: HealthInputs, limits: HealthLimits) -> HealthInputs:
    """Return the inputs with the stage `OFFSETS_ONLY` for empty groups that make progress without members.

    A group counts as such if its offset on one partition has advanced in two slots since `HealthLimits.restart_grace`
    after its members left, and lately.
    """
    groups, slots = inputs.groups, inputs.slots
    empty = groups.stage == GroupStage.EMPTY
    if not empty.any() or not len(slots):
        return inputs
    group = inputs.group[slots.row]
    advanced = np.concatenate(([False], (slots.row[1:] == slots.row[:-1]) & (slots.offset[1:] > slots.offset[:-1])))
    advanced &= empty[group] & (slots.time > groups.emptied[group] + limits.restart_grace)
    count = np.bincount(slots.row[advanced], minlength=len(inputs))
    is_late = advanced & (slots.time >= inputs.now - _RECENT_SLOTS * limits.slot)
    commits = np.unique(group[is_late & (count[slots.row] >= _LEAST_SLOTS)])
    if not len(commits):
        return inputs
    stage = groups.stage.copy()
    stage[commits] = GroupStage.OFFSETS_ONLY
    return dataclasses.replace(inputs, groups=dataclasses.replace(groups, stage=stage))
