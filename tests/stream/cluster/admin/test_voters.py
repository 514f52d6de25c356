"""Voters of a real quorum of three that are taken away: what is said of each, and of the quorum without a majority."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from sandbox.kafka.quorum import running_quorum
from sandbox.kafka.tools import run_tool
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.topology import Topology, read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason

if TYPE_CHECKING:
    from sandbox.kafka.broker import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.long]

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


def behind(topology: Topology) -> tuple[int, int | None] | None:
    """Return the numbers of voters and of those that do not follow; None without a quorum."""
    return None if topology.quorum is None else (topology.quorum.voters, topology.quorum.voters_behind)


def test_voters_that_stop_and_return(broker: Broker) -> None:
    """All follow; one is killed; a second one, and the quorum has no leader; they return, and all follow again.

    Leader and voters are those of Kafka's tool. The shared broker is asked for so that a machine without Java skips.
    """
    assert broker.running
    with running_quorum() as brokers, Cluster([each.bootstrap for each in brokers.values()]) as cluster:
        cluster.connect(LIMIT)
        wait_until(lambda: behind(read_topology(cluster)) == (3, 0), "all voters to follow")
        leader = read_topology(cluster).controller
        assert leader is not None
        status = run_tool(QUORUM, "--bootstrap-server", brokers[leader].bootstrap, "describe", "--status")
        assert re.search(r"^LeaderId:\s+(\d+)$", status, re.MULTILINE).group(1) == str(leader)  # type: ignore[union-attr]
        voters = re.search(r"^CurrentVoters:\s+(\[.*\])$", status, re.MULTILINE)
        assert voters is not None
        assert len(re.findall(r'"id"', voters.group(1))) == 3
        one, other = (node for node in brokers if node != leader)
        brokers[one].kill()
        wait_until(lambda: behind(read_topology(cluster)) == (3, 1), "the killed voter to be missed")
        brokers[other].kill()
        wait_until(lambda: read_topology(cluster).controller_error == ErrorReason.TIMED_OUT, "the loss of the leader")
        assert behind(read_topology(cluster)) is None
        brokers[one].start()
        wait_until(lambda: behind(read_topology(cluster)) == (3, 1), "a leader, and a voter that is still away")
        brokers[other].start()
        wait_until(lambda: behind(read_topology(cluster)) == (3, 0), "all voters to follow again")
