"""The assignment columns are built again only when a source changed."""

from __future__ import annotations

import dataclasses

from stream.health.columns import NOT_KNOWN
from stream.health.inputs import NO_OWNER
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.inputs.assignment import AssignmentInputs
from stream.tick.inputs.rows import RowFinder
from tests.stream.groups import written
from tests.support.driver_states import ShardReader
from tests.support.raw import commit_key, commit_value


def test_the_assignment_is_reused_until_a_state_changes() -> None:
    """A commit does not change it; a described rebalance and a new assignment do."""
    shard, finder, assignment = ShardReader(), RowFinder(), AssignmentInputs()

    def owner(described: dict[str, str]) -> list[int]:
        state, context = shard.driver_state.columns(), dataclasses.replace(UNKNOWN_CLUSTER, described_states=described)
        return assignment.build(finder.find(state, context), state, context).members.number.tolist()

    def assign(*partitions: int) -> None:
        member = written.classic_member("m", wants=written.subscription("t"), has=written.assignment({"t": partitions}))
        shard.read([written.classic(member)])

    assign(0)
    shard.read([(commit_key("g", "t", 0), commit_value(1, 1))])
    assert owner({}) == [0]
    shard.read([(commit_key("g", "t", 0), commit_value(2, 2))])
    assert owner({}) == [0]
    assert owner({"g": "PreparingRebalance"}) == [NOT_KNOWN]
    assert owner({}) == [0]
    assign(1)
    assert owner({}) == [NO_OWNER]
