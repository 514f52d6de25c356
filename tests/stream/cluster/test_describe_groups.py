"""Tests of described groups: their state as Kafka names it, or a reason."""

from collections.abc import Callable
from typing import Any

import pytest

from stream.cluster.describe_groups import Coordinators, DescribedGroup, describe_groups
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, SILENT, ScriptedCluster, says

FIND, DESCRIBE = "FindCoordinatorRequest", "DescribeGroupsRequest"


def group(name: str, state: str = "Stable", members: int = 2, **fields: Any) -> Any:
    usual = {"error_code": 0, "protocol_type": "consumer", "protocol_data": "range"}
    return says(group_id=name, group_state=state, members=[says()] * members, **(usual | fields))


def everyone(_: int | None, request: Any) -> Any:
    """Answer for each requested group."""
    return says(groups=[group(name) for name in reversed(request.groups)])


class MovingCoordinator:
    """A coordinator that moves from node 1 to node 2 after the first lookup."""

    def __init__(self) -> None:
        self.node = 1

    def find(self, _: int | None, request: Any) -> Any:
        found = [says(key=key, error_code=0, node_id=self.node) for key in request.coordinator_keys]
        self.node = 2
        return says(coordinators=found)

    def describe(self, node: int | None, request: Any) -> Any:
        """Answer as the current or as the previous coordinator."""
        code = 0 if node == self.node else 16
        return says(groups=[group(name, error_code=code) for name in request.groups])


def at_node_one(_: int | None, request: Any) -> Any:
    """Return node 1 for all keys except the denied ones."""
    return says(
        coordinators=[
            says(key=key, error_code=30 if "denied" in key else 0, node_id=1) for key in request.coordinator_keys
        ]
    )


def ask(
    describe: Callable[[int | None, Any], Any], groups: list[str], find: Callable[[int | None, Any], Any] = at_node_one
) -> tuple[dict[str, DescribedGroup], ScriptedCluster]:
    cluster = ScriptedCluster({FIND: find, DESCRIBE: describe})
    return describe_groups(cluster, Coordinators(cluster), groups), cluster  # type: ignore[arg-type]


UNKNOWN = DescribedGroup("g", reason=ErrorReason.NOT_FOUND)
DESCRIBED: dict[str, tuple[Any, DescribedGroup]] = {
    "stable": (group("g"), DescribedGroup("g", "Stable", 2, "consumer", "range")),
    "rebalancing without a protocol": (
        group("g", "PreparingRebalance", protocol_data=""),
        DescribedGroup("g", "PreparingRebalance", 2, "consumer"),
    ),
    "the old name of a state": (
        group("g", "AwaitingSync", protocol_data=""),
        DescribedGroup("g", "CompletingRebalance", 2, "consumer"),
    ),
    "simple": (group("g", "Empty", 0, protocol_type=""), DescribedGroup("g", "Empty", 0, None, "range")),
    "unknown group, older broker": (group("g", "Dead", 0), UNKNOWN),
    "unknown group": (group("g", "Dead", 0, error_code=69), UNKNOWN),
    "denied": (group("g", "", 0, error_code=30), DescribedGroup("g", reason=ErrorReason.NOT_AUTHORIZED)),
    "loading": (group("g", "", 0, error_code=14), DescribedGroup("g", reason=ErrorReason.COORDINATOR_LOADING)),
    "an unknown error code": (group("g", "", 0, error_code=999), DescribedGroup("g", reason=ErrorReason.OTHER)),
    "missing in the answer": (group("h"), DescribedGroup("g", reason=ErrorReason.OTHER)),
}


def test_a_group_has_its_described_state_or_a_reason() -> None:
    """A group without a known state has a reason; a state is never guessed."""
    found = {
        name: ask(lambda *_, of=answer: says(groups=[of]), ["g"])[0]["g"] for name, (answer, _) in DESCRIBED.items()
    }
    assert found == {name: wanted for name, (_, wanted) in DESCRIBED.items()}


def test_requests_and_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has a result; a group beyond the limit is NOT_ASKED."""
    monkeypatch.setattr("stream.cluster.describe_groups.MOST_GROUPS", 5)
    monkeypatch.setattr("stream.cluster.describe_groups._GROUPS_AT_ONCE", 2)
    names = [f"g{n}" for n in range(7)]
    groups, cluster = ask(everyone, [*names, "g0"])
    assert {name: described.reason for name, described in groups.items()} == dict.fromkeys(names[:5]) | {
        "g5": ErrorReason.NOT_ASKED,
        "g6": ErrorReason.NOT_ASKED,
    }
    assert [request.groups for _, request in cluster.asked[1:]] == [["g0", "g1"], ["g2", "g3"], ["g4"]]


def test_a_moved_coordinator_is_looked_up_again() -> None:
    """A moved coordinator is looked up and called once more within the same call."""
    move = MovingCoordinator()
    groups, cluster = ask(move.describe, ["a", "b"], move.find)
    assert [described.state for described in groups.values()] == ["Stable", "Stable"]
    assert (cluster.count(FIND), cluster.count(DESCRIBE)) == (2, 2)


def test_an_unreachable_coordinator_is_looked_up_by_the_next_call() -> None:
    """The current call does not try the coordinator again; the next call begins with a lookup."""
    for failure, reason in ((AWAY, ErrorReason.UNREACHABLE), (SILENT, ErrorReason.TIMED_OUT)):
        cluster = ScriptedCluster({FIND: at_node_one, DESCRIBE: lambda *_, failure=failure: failure})
        coordinators = Coordinators(cluster)  # type: ignore[arg-type]
        for looks in (1, 2):
            assert describe_groups(cluster, coordinators, ["a"])["a"].reason == reason  # type: ignore[arg-type]
            assert (cluster.count(FIND), cluster.count(DESCRIBE)) == (looks, looks)
