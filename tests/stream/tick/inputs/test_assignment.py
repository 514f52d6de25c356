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
    """A commit does not change the assignment; a described rebalance and a new assignment do."""
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


def test_members_are_listed_by_subscription_if_subscriptions_differ() -> None:
    """The most frequent subscription is first; members that subscribe to nothing are in no list."""
    shard, finder = ShardReader(), RowFinder()
    shard.read([(commit_key("g", "t", 0), commit_value(1, 1))])

    def subscribers(*topics: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
        members = [
            written.classic_member(f"m{number}", wants=written.subscription(*each), has=written.assignment({}))
            for number, each in enumerate(topics)
        ]
        shard.read([written.classic(*members)])
        state = shard.driver_state.columns()
        found = AssignmentInputs().build(finder.find(state, UNKNOWN_CLUSTER), state, UNKNOWN_CLUSTER).subscribers
        return [(each.topics, len(each.clients)) for each in found.get(0, ())]

    assert subscribers(("t",), ("t",)) == []
    assert subscribers(("t",), ()) == []
    assert subscribers(("t",), ("u", "t"), ("t", "u")) == [(("t", "u"), 2), (("t",), 1)]
