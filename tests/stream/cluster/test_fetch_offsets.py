"""Tests of offsets from coordinators: all offsets, or a reason per group."""

from __future__ import annotations

from typing import Any

import pytest

from stream.cluster.coordinators import Coordinators
from stream.cluster.fetch_offsets import GROUP_OFFSETS, fetch_offsets
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

FIND, FETCH = "FindCoordinatorRequest", "OffsetFetchRequest"


def at(partition: int, offset: int, epoch: int = -1, error: int = 0) -> Any:
    """One committed offset of an answer."""
    return says(partition_index=partition, committed_offset=offset, committed_leader_epoch=epoch, error_code=error)


OFFSETS: dict[str, Any] = {
    "a": (0, {"t": [at(2, 7, 4), at(0, 0)], "s": [at(0, 2**40)]}),
    "b": (0, {}),
    "c": (0, {"t": [at(0, -1), at(1, 5), at(2, -1, error=88)]}),
    "moved": (16, {}),
    "denied": (30, {}),
}


def offsets_of(group: str) -> dict[str, Any]:
    """Return the fields of a group in an answer."""
    code, topics = OFFSETS[group]
    return {"error_code": code, "topics": [says(name=name, partitions=some) for name, some in topics.items()]}


def many(_: int | None, request: Any) -> Any:
    """Answer as a broker from 3.0."""
    assert request.require_stable is False
    assert all(each.topics is None for each in request.groups), "all topics are asked for"
    asked = [each.group_id for each in request.groups]
    return says(groups=[says(group_id=name, **offsets_of(name)) for name in reversed(asked) if name in OFFSETS])


def one(_: int | None, request: Any) -> Any:
    """Answer as a broker before 3.0."""
    return TOO_OLD if request.groups else says(**offsets_of(request.group_id))


def at_node_one(_: int | None, request: Any) -> Any:
    """Return node 1 for all groups but one."""
    return says(
        coordinators=[says(key=key, error_code=15 * (key == "homeless"), node_id=1) for key in request.coordinator_keys]
    )


def fetch(cluster: ScriptedCluster, groups: list[str]) -> list[tuple[Any, ...]]:
    """Fetch offsets as tuples."""
    table = fetch_offsets(cluster, Coordinators(cluster), groups)  # type: ignore[arg-type]
    assert table.schema == GROUP_OFFSETS
    table.validate(full=True)
    return [tuple(row.values()) for row in table.to_pylist()]


KNOWN = [
    ("a", "s", 0, 2**40, None, None),
    ("a", "t", 0, 0, None, None),
    ("a", "t", 2, 7, 4, None),
    ("c", "t", 1, 5, None, None),
    ("c", "t", 2, None, None, "unstable"),
    ("denied", None, None, None, None, "not_authorized"),
]


@pytest.mark.parametrize("broker", [many, one], ids=["many groups at once", "one group per request"])
def test_all_offsets_are_fetched(broker: Any) -> None:
    """Rows are sorted; no commit is no row, an error is a row, for all broker versions."""
    cluster = ScriptedCluster({FIND: at_node_one, FETCH: broker})
    assert fetch(cluster, ["denied", "c", "a", "b", "a"]) == KNOWN


def test_a_group_without_an_answer_has_a_reason() -> None:
    """No coordinator, missing in the answer, or a moved coordinator."""
    cluster = ScriptedCluster({FIND: at_node_one, FETCH: many})
    assert [(row[0], row[5]) for row in fetch(cluster, ["moved", "left out", "homeless"])] == [
        ("homeless", "no_coordinator"),
        ("left out", "other"),
        ("moved", "coordinator_changed"),
    ]


def test_a_coordinator_that_moved_is_looked_up_by_the_next_call() -> None:
    """A coordinator that answers is not looked up again."""
    cluster = ScriptedCluster({FIND: at_node_one, FETCH: many})
    coordinators = Coordinators(cluster)  # type: ignore[arg-type]
    for _ in range(2):
        fetch_offsets(cluster, coordinators, ["a", "moved"])  # type: ignore[arg-type]
    looked_up = [request.coordinator_keys for _, request in cluster.asked if type(request).__name__ == FIND]
    assert looked_up == [["a", "moved"], ["moved"]]


def test_requests_and_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreachable coordinator affects only its own groups."""
    monkeypatch.setattr("stream.cluster.fetch_offsets.MOST_GROUPS", 3)
    monkeypatch.setattr("stream.cluster.fetch_offsets._GROUPS_AT_ONCE", 2)
    answers = iter([many(None, says(require_stable=False, groups=[says(group_id="c", topics=None)])), AWAY])
    cluster = ScriptedCluster({FIND: at_node_one, FETCH: lambda *_: next(answers)})
    assert [(row[0], row[5]) for row in fetch(cluster, ["c", "b", "x", "y"])] == [
        ("b", "other"),
        ("c", None),
        ("c", "unstable"),
        ("x", "unreachable"),
        ("y", "not_asked"),
    ]


def test_no_groups_need_no_request() -> None:
    """An empty list of groups sends nothing."""
    cluster = ScriptedCluster({})
    assert fetch(cluster, []) == []
    assert cluster.asked == []
