"""Tests of reassignments in progress."""

from collections.abc import Callable
from typing import Any

from stream.cluster.admin.followers import Reassignment, read_reassignments
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

NOT_CONTROLLER = says(error_code=41, topics=[])


def moving(name: str, *partitions: tuple[int, list[int], list[int], list[int]]) -> Any:
    """Describe a topic with moving partitions: index, replicas, adding, removing."""
    fields = ("partition_index", "replicas", "adding_replicas", "removing_replicas")
    return says(name=name, partitions=[says(**dict(zip(fields, each, strict=True))) for each in partitions])


def read(answer: Callable[[int | None], Any], controller: int | None) -> tuple[Any, list[int | None]]:
    """Return what is read from a cluster whose nodes answer like this, and the nodes that were asked."""
    cluster = ScriptedCluster({"ListPartitionReassignmentsRequest": lambda node, _: answer(node)})
    return read_reassignments(cluster, controller), [node for node, _ in cluster.asked]  # type: ignore[arg-type]


def test_reassignments_are_sorted_by_topic_and_partition() -> None:
    """Each reassignment has its replicas, and the replicas that are being added and removed."""
    topics = [moving("b", (1, [1, 2, 3], [3], [1]), (0, [1, 2], [], [2])), moving("a", (7, [4], [], []))]
    assert read(lambda _: says(error_code=0, topics=topics), 1)[0] == [
        Reassignment("a", 7, (4,), (), ()),
        Reassignment("b", 0, (1, 2), (), (2,)),
        Reassignment("b", 1, (1, 2, 3), (3,), (1,)),
    ]


def test_with_zookeeper_the_controller_is_asked() -> None:
    """A broker that is not the controller refuses the request, which is then sent to the controller."""
    assert read(lambda node: says(error_code=0, topics=[]) if node == 2 else NOT_CONTROLLER, 2) == ([], [None, 2])


def test_a_failure_is_a_reason_and_no_empty_list() -> None:
    """A failed request, or one without a known controller, returns its reason and raises no exception."""
    denied = says(error_code=31, topics=[])
    assert [read(lambda _, of=answer: of, None)[0] for answer in (TOO_OLD, AWAY, denied, NOT_CONTROLLER)] == [
        ErrorReason.UNSUPPORTED,
        ErrorReason.UNREACHABLE,
        ErrorReason.NOT_AUTHORIZED,
        ErrorReason.OTHER,
    ]
