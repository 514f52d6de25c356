"""Tests of the metadata quorum: the answer of its leader, and the reasons for a missing answer."""

import uuid
from typing import Any

from stream.cluster.admin.quorum import Quorum, QuorumReplica, QuorumRole, read_quorum
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

DISK = uuid.UUID(int=7)


def state(replica: int, end: int, fetched: int = -1, directory: uuid.UUID | None = DISK) -> Any:
    times = {"last_fetch_timestamp": fetched, "last_caught_up_timestamp": fetched}
    return says(replica_id=replica, replica_directory_id=directory, log_end_offset=end, **times)


def answered(voters: list[Any], observers: list[Any], **fields: Any) -> Quorum | ErrorReason:
    """Return what is read from an answer about these replicas, led by node 1."""
    usual = {"error_code": 0, "leader_id": 1, "leader_epoch": 4, "high_watermark": 90}
    partition = says(**(usual | fields), current_voters=voters, observers=observers)
    return read(says(error_code=0, topics=[says(partitions=[partition])]))


def read(answer: Any) -> Quorum | ErrorReason:
    return read_quorum(ScriptedCluster({"DescribeQuorumRequest": lambda *_: answer}))  # type: ignore[arg-type]


def test_voters_and_observers_have_their_distance_to_the_leader() -> None:
    """Voters come first; the lag is the distance to the leader's log end offset, which is beyond the high watermark."""
    found = answered([state(2, 88, 5), state(1, 100, 9)], [state(11, 100, 8)])
    replicas = (
        QuorumReplica(1, QuorumRole.VOTER, DISK, 100, 0, 9, 9),
        QuorumReplica(2, QuorumRole.VOTER, DISK, 88, 12, 5, 5),
        QuorumReplica(11, QuorumRole.OBSERVER, DISK, 100, 0, 8, 8),
    )
    assert found == Quorum(leader=1, leader_epoch=4, high_watermark=90, replicas=replicas)


def test_voters_that_do_not_follow_are_counted() -> None:
    """The clock of the leader decides which voters follow; an observer is not a voter."""
    # Per row: when the voter fetched last, when it had caught up last, and how many voters do not follow.
    rows = [(100_000, 100_000, 0), (90_000, 40_000, 0), (89_999, 89_999, 1), (100_000, 39_999, 1), (-1, -1, 1)]
    for fetched, caught_up, behind in rows:
        voter = state(2, 88, fetched)
        voter.last_caught_up_timestamp = caught_up
        found = answered([state(1, 100, 100_000), voter, state(3, 100, 99_500)], [state(11, 1, 5)])
        assert isinstance(found, Quorum)
        assert (fetched, caught_up, found.voters, found.voters_behind) == (fetched, caught_up, 3, behind)


def test_voters_behind_are_unknown_without_the_clock_of_the_leader() -> None:
    """Without a leader, or before Kafka 3.3, the number of voters is known, but not how many do not follow.

    During an election the offsets are known, but the lag is unknown.
    """
    electing = answered([state(1, 100, 9), state(2, 100, 9)], [], leader_id=-1)
    for found in (electing, answered([state(1, 100, -1), state(2, 100, -1)], [])):
        assert isinstance(found, Quorum)
        assert (found.voters, found.voters_behind) == (2, None)
    assert isinstance(electing, Quorum)
    assert (electing.leader, electing.replicas[0].lag) == (None, None)


def test_a_failure_is_a_reason() -> None:
    """A failed request, or an error of the partition as from a former leader, is a reason and raises no exception."""
    answers = (TOO_OLD, AWAY, says(error_code=31, topics=[]), says(error_code=0, topics=[]))
    assert [read(answer) for answer in answers] == [
        ErrorReason.UNSUPPORTED,
        ErrorReason.UNREACHABLE,
        ErrorReason.NOT_AUTHORIZED,
        ErrorReason.OTHER,
    ]
    assert answered([], [], error_code=6) is ErrorReason.LEADER_CHANGED
