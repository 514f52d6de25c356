"""What members want and have is worked out again only when something changed."""

from __future__ import annotations

import dataclasses

from stream.health.columns import NOT_KNOWN
from stream.health.inputs import NO_OWNER
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.inputs.assignment import AssignmentInputs
from stream.tick.inputs.rows import RowFinder
from tests.stream.groups import written
from tests.support.fleets import World
from tests.support.raw import commit_key, commit_value


def test_the_same_rows_give_the_same_answer_until_a_state_changes() -> None:
    """A commit changes nothing of it; a rebalance that the cluster tells, and an assignment, do."""
    world, finder, assignment = World(), RowFinder(), AssignmentInputs()

    def owner(asked: dict[str, str]) -> list[int]:
        fleet, around = world.fleet.columns(), dataclasses.replace(UNKNOWN_CLUSTER, described_states=asked)
        return assignment.build(finder.find(fleet, around), fleet, around).owner.tolist()

    def joined(*has: int) -> None:
        member = written.classic_member("m", wants=written.subscription("t"), has=written.assignment({"t": has}))
        world.read([written.classic(member)])

    joined(0)
    world.read([(commit_key("g", "t", 0), commit_value(1, 1))])
    assert owner({}) == [0]
    world.read([(commit_key("g", "t", 0), commit_value(2, 2))])
    assert owner({}) == [0]
    assert owner({"g": "PreparingRebalance"}) == [NOT_KNOWN]
    assert owner({}) == [0]
    joined(1)
    assert owner({}) == [NO_OWNER]
