"""Tests of reassignments in progress."""

from __future__ import annotations

from typing import Any

import pytest

from stream.cluster.admin.reassignments import Reassignment, read_reassignments
from stream.cluster.transport.error_codes import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

NOT_CONTROLLER = says(error_code=41, topics=[])


def moving(name: str, *partitions: tuple[int, list[int], list[int], list[int]]) -> Any:
    """Describe a topic with moving partitions: index, replicas, adding, removing."""
    fields = ("partition_index", "replicas", "adding_replicas", "removing_replicas")
    return says(name=name, partitions=[says(**dict(zip(fields, each, strict=True))) for each in partitions])


def test_reassignments_are_sorted_by_topic_and_partition() -> None:
    """Each reassignment has its replicas, and the replicas that are being added and removed."""
    answer = says(
        error_code=0,
        topics=[moving("b", (1, [1, 2, 3], [3], [1]), (0, [1, 2], [], [2])), moving("a", (7, [4], [], []))],
    )
    cluster = ScriptedCluster({"ListPartitionReassignmentsRequest": lambda *_: answer})
    assert read_reassignments(cluster, 1) == [  # type: ignore[arg-type]
        Reassignment("a", 7, (4,), (), ()),
        Reassignment("b", 0, (1, 2), (), (2,)),
        Reassignment("b", 1, (1, 2, 3), (3,), (1,)),
    ]


def test_with_zookeeper_the_controller_is_asked() -> None:
    """A broker that is not the controller refuses the request, which is then sent to the controller."""
    cluster = ScriptedCluster(
        {
            "ListPartitionReassignmentsRequest": lambda node, _: (
                says(error_code=0, topics=[]) if node == 2 else NOT_CONTROLLER
            )
        }
    )
    assert read_reassignments(cluster, 2) == []  # type: ignore[arg-type]
    assert [node for node, _ in cluster.asked] == [None, 2]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(TOO_OLD, ErrorReason.UNSUPPORTED, id="before Kafka 2.4"),
        pytest.param(AWAY, ErrorReason.UNREACHABLE, id="unreachable"),
        pytest.param(says(error_code=31, topics=[]), ErrorReason.NOT_AUTHORIZED, id="missing ACL right"),
        pytest.param(NOT_CONTROLLER, ErrorReason.OTHER, id="unknown controller"),
    ],
)
def test_a_failure_is_a_reason_and_no_empty_list(answer: Any, reason: ErrorReason) -> None:
    """A failed request returns its reason and raises no exception."""
    cluster = ScriptedCluster({"ListPartitionReassignmentsRequest": lambda *_: answer})
    assert read_reassignments(cluster, None) is reason  # type: ignore[arg-type]
