"""Tests of the metadata quorum: the answer of its leader, and the reasons for a missing answer."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from stream.cluster.admin.quorum import Quorum, QuorumReplica, QuorumRole, read_quorum
from stream.cluster.transport.error_codes import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

DISK = uuid.UUID(int=7)
NEW_DISK = uuid.UUID(int=8)


def state(replica: int, end: int, fetched: int = -1, directory: uuid.UUID | None = DISK) -> Any:
    """Describe a replica of the metadata log."""
    return says(
        replica_id=replica,
        replica_directory_id=directory,
        log_end_offset=end,
        last_fetch_timestamp=fetched,
        last_caught_up_timestamp=fetched,
    )


def answered(voters: list[Any], observers: list[Any], **fields: Any) -> Quorum | ErrorReason:
    """Return what is read from an answer about these replicas, led by node 1."""
    usual = {"error_code": 0, "leader_id": 1, "leader_epoch": 4, "high_watermark": 90}
    partition = says(**(usual | fields), current_voters=voters, observers=observers)
    return read(says(error_code=0, topics=[says(partitions=[partition])]))


def read(answer: Any) -> Quorum | ErrorReason:
    """Return what is read from an answer."""
    return read_quorum(ScriptedCluster({"DescribeQuorumRequest": lambda *_: answer}))  # type: ignore[arg-type]


def test_voters_and_observers_have_their_distance_to_the_leader() -> None:
    """Voters come first; the lag is the distance to the leader's log end offset, which is beyond the high watermark."""
    found = answered([state(2, 88, 5), state(1, 100, 9)], [state(11, 100, 8)])
    assert found == Quorum(
        leader=1,
        leader_epoch=4,
        high_watermark=90,
        replicas=(
            QuorumReplica(1, QuorumRole.VOTER, DISK, 100, 0, 9, 9),
            QuorumReplica(2, QuorumRole.VOTER, DISK, 88, 12, 5, 5),
            QuorumReplica(11, QuorumRole.OBSERVER, DISK, 100, 0, 8, 8),
        ),
    )


def test_what_the_leader_does_not_know_is_none() -> None:
    """A voter that has not fetched has no offset, lag or times; a broker before 3.9 reports no directories."""
    found = answered([state(1, 100, 9, None), state(3, -1, -1, uuid.UUID(int=0))], [])
    assert isinstance(found, Quorum)
    assert found.replicas[0].directory is None
    assert found.replicas[1] == QuorumReplica(3, QuorumRole.VOTER, None, None, None, None, None)


@pytest.mark.parametrize(
    ("fetched", "caught_up", "behind"),
    [
        pytest.param(100_000, 100_000, 0, id="fetches and has caught up"),
        pytest.param(90_000, 40_000, 0, id="at both limits"),
        pytest.param(89_999, 89_999, 1, id="last fetch too old"),
        pytest.param(100_000, 39_999, 1, id="fetches, has not caught up"),
        pytest.param(-1, -1, 1, id="never fetched from this leader"),
    ],
)
def test_voters_that_do_not_follow_are_counted(fetched: int, caught_up: int, behind: int) -> None:
    """The clock of the leader decides which voters follow; an observer is not a voter."""
    voter = state(2, 88, fetched)
    voter.last_caught_up_timestamp = caught_up
    found = answered([state(1, 100, 100_000), voter, state(3, 100, 99_500)], [state(11, 1, 5)])
    assert isinstance(found, Quorum)
    assert (found.voters, found.voters_behind) == (3, behind)


@pytest.mark.parametrize(("fields", "own"), [({"leader_id": -1}, 9), ({}, -1)], ids=["no leader", "before Kafka 3.3"])
def test_voters_behind_are_unknown_without_the_clock_of_the_leader(fields: dict[str, int], own: int) -> None:
    """The number of voters is known; the number of voters that do not follow is unknown."""
    found = answered([state(1, 100, own), state(2, 100, own)], [], **fields)
    assert isinstance(found, Quorum)
    assert (found.voters, found.voters_behind) == (2, None)


def test_without_a_leader_no_lag_is_known() -> None:
    """During an election the offsets are known, but the lag is unknown."""
    found = answered([state(1, 100, 9)], [], leader_id=-1)
    assert isinstance(found, Quorum)
    assert (found.leader, found.replicas[0].lag) == (None, None)


@pytest.mark.parametrize("order", [1, -1], ids=["old first", "new first"])
def test_a_replaced_disk_counts_once(order: int) -> None:
    """If a node has two directories, the directory that fetched last is kept."""
    both = [state(11, 50, 10, DISK), state(11, 99, 20, NEW_DISK)][::order]
    found = answered([state(1, 100, 9)], both)
    assert isinstance(found, Quorum)
    assert [(each.replica, each.directory) for each in found.replicas] == [(1, DISK), (11, NEW_DISK)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(TOO_OLD, ErrorReason.UNSUPPORTED, id="ZooKeeper"),
        pytest.param(AWAY, ErrorReason.UNREACHABLE, id="unreachable"),
        pytest.param(says(error_code=31, topics=[]), ErrorReason.NOT_AUTHORIZED, id="missing ACL right"),
        pytest.param(says(error_code=0, topics=[]), ErrorReason.OTHER, id="empty answer"),
    ],
)
def test_a_failure_is_a_reason(answer: Any, reason: ErrorReason) -> None:
    """A failed request returns its reason and raises no exception."""
    assert read(answer) is reason


def test_an_error_of_the_partition_is_a_reason() -> None:
    """The error of the partition, as from a node that is no longer the leader, is the reason."""
    assert answered([], [], error_code=6) is ErrorReason.LEADER_CHANGED
