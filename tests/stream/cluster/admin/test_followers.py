"""Tests of the distance of followers from the high watermark."""

import dataclasses
from typing import Any

import pyarrow as pa

from stream.cluster.admin.followers import Follower, FollowerLag, followers_out_of_sync, read_follower_lags
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, ScriptedCluster, says
from tests.support.topologies import layout

ONE = ("t", 0, 2, 1)
OTHER = ("t", 1, 1, 2)


def read(offsets: dict[tuple[int | None, int], Any], followers: list[Follower]) -> list[FollowerLag]:
    """Return the lags if the brokers answer with these offsets, by node and replica id."""

    def answer(node: int | None, request: Any) -> Any:
        found = offsets[node, request.replica_id]
        if not isinstance(found, dict):
            return found
        asked = [p.partition_index for topic in request.topics for p in topic.partitions]
        rows = [says(partition_index=p, offset=max(found[p], -1), error_code=-min(found[p], 0)) for p in asked]
        return says(topics=[says(name="t", partitions=rows)])

    return read_follower_lags(ScriptedCluster({"ListOffsetsRequest": answer}), followers)  # type: ignore[arg-type]


def test_only_live_followers_out_of_sync_are_looked_up() -> None:
    """Followers that are in sync, on an unavailable broker, on a failed disk or without a leader are not looked up."""
    topology = layout({"a": [(0, [0, 1], [0, 1]), (0, [0, 1, 2, 7], [0])], "b": [(None, [0, 1], [])]}, brokers=3)
    assert followers_out_of_sync(topology) == [("a", 1, 1, 0), ("a", 1, 2, 0)]
    failed = pa.array([[], [2], []], topology.partitions.schema.field("offline").type)
    at = topology.partitions.column_names.index("offline")
    partitions = topology.partitions.set_column(at, "offline", failed)
    assert followers_out_of_sync(dataclasses.replace(topology, partitions=partitions)) == [("a", 1, 1, 0)]


def test_the_lag_is_the_distance_to_the_high_watermark() -> None:
    """The lag is the leader's high watermark minus the follower's log end offset, and 0 if the follower is ahead."""
    offsets = {(1, -1): {0: 100}, (2, -2): {0: 58}, (2, -1): {1: 10}, (1, -2): {1: 12}}
    assert read(offsets, [ONE, OTHER]) == [FollowerLag("t", 0, 2, 42), FollowerLag("t", 1, 1, 0)]


def test_a_failure_is_a_reason() -> None:
    """The lag is None, not 0, if the leader or the follower returns no offset."""
    rows: list[tuple[Any, Any, ErrorReason]] = [
        ({0: 100}, AWAY, ErrorReason.UNREACHABLE),
        (AWAY, {0: 58}, ErrorReason.UNREACHABLE),
        ({0: 100}, {0: -29}, ErrorReason.NOT_AUTHORIZED),
        ({0: -6}, {0: 58}, ErrorReason.LEADER_CHANGED),
        ({0: 100}, says(topics=[]), ErrorReason.OTHER),
    ]
    for leader, follower, reason in rows:
        assert read({(1, -1): leader, (2, -2): follower}, [ONE]) == [FollowerLag("t", 0, 2, None, reason)]
