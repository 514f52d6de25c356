"""Tests of the values that groups share, from an evaluated tick."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.groups.membership.model import MemberClient
from stream.health.common_cause.faults import row_faults
from stream.tick.common_cause.columns import shared_values
from stream.tick.common_cause.hosts import RecentHosts
from stream.tick.common_cause.leaders import RecentLeaders
from tests.stream.tick.common_cause.evaluated_ticks import TickGroup, ends_of_groups, evaluated_tick_of

if TYPE_CHECKING:
    from stream.tick.verdicts.evaluated_tick import EvaluatedTick

GROUPS = {
    "a": TickGroup("orders", 3, "stopped", host="x"),
    "b": TickGroup("orders", 3, host="y"),
    "c": TickGroup("payments", 1, host="y"),
}


def pairs(evaluated: EvaluatedTick) -> dict[str, set[tuple[str, str, bool]]]:
    """Return group, value and whether the group is unhealthy there, by dimension."""
    leaders, hosts = RecentLeaders(), RecentHosts()
    leaders.update(ends_of_groups(GROUPS), 0)
    hosts.update(evaluated.hidden.state.memberships, 0)
    faults = row_faults(evaluated.evaluation)
    names = evaluated.inputs.rows.groups
    return {
        str(each.dimension): {
            (names[group], each.names[value], since >= 0)
            for group, value, since in zip(
                each.group.tolist(), each.value.tolist(), each.unhealthy_since.tolist(), strict=True
            )
        }
        for each in shared_values(evaluated, faults, evaluated.inputs.ends, leaders, hosts)
    }


def test_a_group_has_its_values_in_all_dimensions() -> None:
    """The dimensions are topic, leader, offsets partition, coordinator and host."""
    assert pairs(evaluated_tick_of(GROUPS)) == {
        "topic": {("a", "orders", True), ("b", "orders", False), ("c", "payments", False)},
        "leader": {("a", "3", True), ("b", "3", False), ("c", "1", False)},
        "offsets_partition": {("a", "0", True), ("b", "0", False), ("c", "0", False)},
        "coordinator": {("a", "2", True), ("b", "2", False), ("c", "2", False)},
        "client_host": {("a", "x", True), ("b", "y", False), ("c", "y", False)},
    }


def test_the_host_of_an_unhealthy_partition_is_that_of_its_owner() -> None:
    """The hosts of other members of the group are not those of the partition."""
    tick = evaluated_tick_of(GROUPS)
    inputs = dataclasses.replace(
        tick.evaluation.window.inputs,
        owner=np.array([0, -1, -1]),
        clients=[MemberClient("m", "c", "/z")],
    )
    window = dataclasses.replace(tick.evaluation.window, inputs=inputs)
    tick = dataclasses.replace(tick, evaluation=dataclasses.replace(tick.evaluation, window=window))
    assert ("a", "z", True) in pairs(tick)["client_host"]
    assert ("a", "x", True) not in pairs(tick)["client_host"]


def test_without_offsets_partitions_no_cause_names_a_coordinator() -> None:
    """No group has a coordinator before the partitions of the offsets topic are known."""
    tick = evaluated_tick_of(GROUPS)
    tick = dataclasses.replace(
        tick, inputs=dataclasses.replace(tick.inputs, offsets_partition=np.full(3, -1, np.int64))
    )
    found = pairs(tick)
    assert found["coordinator"] == found["offsets_partition"] == set()
