"""Voters of a real quorum of three stop: the status of each voter, and of the quorum without a majority."""

import base64
import re
from typing import NamedTuple
from uuid import UUID

import pytest

from sandbox.kafka.broker import Broker
from sandbox.kafka.quorum import running_quorum
from sandbox.kafka.tools import run_tool
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.admin.quorum import Quorum, QuorumRole, read_quorum
from stream.cluster.topology import Topology, read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ErrorReason

pytestmark = [pytest.mark.kafka, pytest.mark.long]

# The log grows only when the cluster changes, so that two reads of it are equal.
QUIET = {"metadata.max.idle.interval.ms": "0"}
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


_HEADER = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


class DescribedReplica(NamedTuple):
    """A node as the tool describes it; `directory` is None without an id, times are Unix milliseconds."""

    directory: UUID | None
    log_end_offset: int
    lag: int
    last_fetch_time: int
    last_caught_up_time: int
    # Leader, Follower (a voter that is not the leader) or Observer.
    status: str


def replication(bootstrap: str) -> dict[int, DescribedReplica]:
    """Return the nodes that `kafka-metadata-quorum describe --replication` prints, by id."""
    lines = run_tool(QUORUM, "--bootstrap-server", bootstrap, "describe", "--replication").splitlines()
    header = next(at for at, line in enumerate(lines) if line.startswith(_HEADER[0]))
    assert tuple(lines[header].split()) == _HEADER
    return {int(line.split()[0]): _replica(line) for line in lines[header + 1 :] if line.strip()}


def _replica(line: str) -> DescribedReplica:
    """Parse a row; Kafka prints directories as URL-safe base64 without padding, that of no directory as zeros."""
    _, directory, end, lag, fetched, caught_up, status = line.split()
    found = UUID(bytes=base64.urlsafe_b64decode(f"{directory}=="))
    return DescribedReplica(found if found.int else None, int(end), int(lag), int(fetched), int(caught_up), status)


def behind(topology: Topology) -> tuple[int, int | None] | None:
    """Return the numbers of voters and of those that do not follow; None without a quorum."""
    return None if topology.quorum is None else (topology.quorum.voters, topology.quorum.voters_behind)


def assert_described(cluster: Cluster, bootstrap: str) -> Quorum:
    """Return the quorum; each replica is as the tool describes it between two reads with equal offsets.

    A voter that follows fetches twice a second, so its times lie between those of the reads.
    """
    reads: list[tuple[Quorum, dict[int, DescribedReplica], Quorum]] = []

    def is_quiet() -> bool:
        reads.append((quorum(cluster), replication(bootstrap), quorum(cluster)))
        before, _, after = reads[-1]
        return ends(before) == ends(after)

    wait_until(is_quiet, "two reads with equal offsets")
    before, by_tool, after = reads[-1]
    assert [each.replica for each in before.replicas] == sorted(by_tool)
    for one, other in zip(before.replicas, after.replicas, strict=True):
        tool = by_tool[one.replica]
        assert (one.role, tool.status) == (QuorumRole.VOTER, "Leader" if one.replica == before.leader else "Follower")
        assert (one.directory, one.log_end_offset, one.lag) == (tool.directory, tool.log_end_offset, tool.lag)
        assert (one.last_fetch_time or 0) <= tool.last_fetch_time <= (other.last_fetch_time or 0)
        assert (one.last_caught_up_time or 0) <= tool.last_caught_up_time <= (other.last_caught_up_time or 0)
    return before


def quorum(cluster: Cluster) -> Quorum:
    found = read_quorum(cluster)
    assert isinstance(found, Quorum), found
    return found


def ends(found: Quorum) -> list[tuple[int, int | None]]:
    """Return the log end offset of each replica."""
    return [(each.replica, each.log_end_offset) for each in found.replicas]


def lags(found: Quorum) -> dict[int, int | None]:
    """Return the lag of each replica."""
    return {each.replica: each.lag for each in found.replicas}


def test_voters_that_stop_and_return(broker: Broker) -> None:
    """A stopped voter is counted, two stopped voters leave no leader, and all voters follow again after their restart.

    The leader, the voters and the lag of each voter are those of Kafka's tool. The fixture `broker` is requested only
    so that a machine without Java skips the test.
    """
    assert broker.running
    with running_quorum(properties=QUIET) as brokers, Cluster([each.bootstrap for each in brokers.values()]) as cluster:
        cluster.connect(LIMIT)
        wait_until(lambda: behind(read_topology(cluster)) == (3, 0), "all voters to follow")
        leader = read_topology(cluster).controller
        assert leader is not None
        status = run_tool(QUORUM, "--bootstrap-server", brokers[leader].bootstrap, "describe", "--status")
        assert re.search(r"^LeaderId:\s+(\d+)$", status, re.MULTILINE).group(1) == str(leader)  # type: ignore[union-attr]
        voters = re.search(r"^CurrentVoters:\s+(\[.*\])$", status, re.MULTILINE)
        assert voters is not None
        assert len(re.findall(r'"id"', voters.group(1))) == 3
        wait_until(lambda: set(lags(quorum(cluster)).values()) == {0}, "all voters to have the whole log")
        assert lags(assert_described(cluster, brokers[leader].bootstrap)) == {1: 0, 2: 0, 3: 0}
        one, other = (node for node in brokers if node != leader)
        brokers[one].kill()
        wait_until(lambda: behind(read_topology(cluster)) == (3, 1), "the killed voter to be missed")
        wait_until(
            lambda: lags(quorum(cluster))[other] == 0 != lags(quorum(cluster))[one], "the lag of the killed voter"
        )
        assert_described(cluster, brokers[leader].bootstrap)
        brokers[other].kill()
        wait_until(lambda: read_topology(cluster).controller_error == ErrorReason.TIMED_OUT, "the loss of the leader")
        assert behind(read_topology(cluster)) is None
        brokers[one].start()
        wait_until(lambda: behind(read_topology(cluster)) == (3, 1), "a leader, and a voter that is still away")
        brokers[other].start()
        wait_until(lambda: behind(read_topology(cluster)) == (3, 0), "all voters to follow again")
