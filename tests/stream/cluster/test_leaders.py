"""Tests of leaders: one per partition, or a reason."""

from collections.abc import Sequence
from typing import Any

import pytest

from stream.cluster.leaders import find_leaders
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import Unreachable
from tests.support.scripted_cluster import AWAY, ScriptedCluster, says


def describe(_: int | None, names: Sequence[str]) -> Any:
    """Describe `t` with two partitions, the second without a leader; other topics are denied or do not exist."""
    partitions = [says(partition_index=p, leader_id=leader, leader_epoch=7) for p, leader in enumerate((2, -1))]
    known = {"t": (0, partitions), "denied": (29, [])}
    found = [(name, *known.get(name, (3, []))) for name in reversed(names)]
    return says(topics=[says(name=name, error_code=code, partitions=of) for name, code, of in found])


def test_each_partition_has_a_leader_or_a_reason() -> None:
    """A topic's error applies to all its partitions; an unrequested topic is NOT_FOUND."""
    leaders = find_leaders(ScriptedCluster({"Metadata": describe}), ["t", "denied", "gone", "t"])  # type: ignore[arg-type]
    assert [leaders.of("t", partition) for partition in (0, 1, 2)] == [
        (2, 7),
        ErrorReason.NO_LEADER,
        ErrorReason.NOT_FOUND,
    ]
    assert leaders.of("denied", 5) is ErrorReason.NOT_AUTHORIZED
    assert {leaders.of("gone", 0), leaders.of("never asked", 0)} == {ErrorReason.NOT_FOUND}


def test_topics_are_requested_in_batches() -> None:
    """A request has a bounded number of topics, so that the size of its answer is bounded."""
    cluster = ScriptedCluster({"Metadata": describe})
    find_leaders(cluster, [f"t{n}" for n in range(12_000)])  # type: ignore[arg-type]
    assert [len(names) for _, names in cluster.asked] == [5_000, 5_000, 2_000]


def test_an_unreachable_cluster_raises() -> None:
    """The lookup raises Unreachable and returns no reason."""
    with pytest.raises(Unreachable):
        find_leaders(ScriptedCluster({"Metadata": lambda *_: AWAY}), ["t"])  # type: ignore[arg-type]
