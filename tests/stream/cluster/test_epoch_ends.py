"""Tests of the ends of earlier leader epochs: which answers are known, unknown now, and never known."""

from typing import Any

from stream.cluster.partition_offsets import NO_EPOCH, read_epoch_ends
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says


def test_each_partition_has_an_end_or_a_reason() -> None:
    """Unknown now: absent; never known: None. A leader with a lower epoch than the one that was read has none of it."""
    leaders = {0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 3, 6: -1, 7: 1}
    partitions = [says(partition_index=p, leader_id=leader, leader_epoch=7) for p, leader in leaders.items()]

    def answer(node: int | None, request: Any) -> Any:
        if node != 1:
            return AWAY if node == 2 else TOO_OLD
        asked = {
            each.partition: (each.current_leader_epoch, each.leader_epoch) for each in request.topics[0].partitions
        }
        assert asked == {0: (7, 5), 1: (7, 5), 2: (7, 8), 3: (7, 5), 7: (7, 5)}
        found = {0: (0, 40), 1: (74, -1), 2: (0, -1), 3: (0, -1), 7: (29, -1)}
        return says(
            topics=[says(partitions=[says(partition=p, error_code=e, end_offset=o) for p, (e, o) in found.items()])]
        )

    answers = {
        "Metadata": lambda *_: says(topics=[says(name="t", error_code=0, partitions=partitions)]),
        "OffsetForLeaderEpochRequest": answer,
    }
    cluster: Any = ScriptedCluster(answers, nodes=(1, 2, 3))
    epochs = {**dict.fromkeys(leaders, 5), 2: 8, 9: 5}
    assert read_epoch_ends(cluster, "t", epochs) == {0: 40, 2: NO_EPOCH, 3: None, 5: None, 7: None}
