"""Three brokers: leaders that move, a paused broker, and an election of a replica that lacks the end of the log."""

import contextlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata  # type: ignore[attr-defined] # its stubs do not re-export it

from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import ToolError, run_tool
from stream.errors import ExitCode
from tests.chaos.test_broker_outages import Outage, outage_of
from tests.integration.traffic import OFFSETS_TOPIC, commit, committed_at_broker
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, eventually, patience, wait_until

pytestmark = [
    *(pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.long),
    pytest.mark.timeout(patience(1200)),
]

PROPERTIES: Final = {
    "offsets.topic.num.partitions": "2",
    "broker.session.timeout.ms": "6000",
    "unclean.leader.election.enable": "true",
    "min.insync.replicas": "1",
}
MOVES: Final[tuple[tuple[int, Outage], ...]] = ((2, "stopped"), (3, "paused"), (2, "killed"), (3, "stopped"))
"""The broker that goes, and how; each move begins when the former broker is in sync again."""


@pytest.fixture
def brokers() -> Iterator[dict[int, Broker]]:
    """Return three brokers by id. The first is the controller and stays; the offsets topic is on the other two."""
    with (
        Broker(properties=PROPERTIES) as one,
        Broker(joins=one, properties=PROPERTIES) as two,
        Broker(joins=one, node=3, properties=PROPERTIES) as three,
    ):
        admin = AdminClient({"bootstrap.servers": one.bootstrap, "log_level": 0})
        wait_until(lambda: len(admin.list_topics(timeout=LIMIT).brokers) == 3, "three brokers")
        offsets = NewTopic(OFFSETS_TOPIC, 2, replica_assignment=[[2, 3], [3, 2]], config={"cleanup.policy": "compact"})
        for topic in (NewTopic("t", 1, replica_assignment=[[1]]), offsets):
            admin.create_topics([topic])[topic.topic].result(LIMIT)
        yield {1: one, 2: two, 3: three}


def test_values_are_correct_after_leader_moves_and_an_unclean_election(
    brokers: dict[int, Broker], tmp_path: Path, report: Callable[[str], None]
) -> None:
    """No move costs the state. Groups that only the lost leader knew are shown by no restart."""
    bootstrap = brokers[1].bootstrap
    groups = [f"group-{number}" for number in range(20)]

    def commit_all(offset: int) -> None:
        for group in groups:
            commit(bootstrap, group, "t", {0: offset})

    def wait_equal() -> None:
        wanted = eventually(lambda: committed_at_broker(bootstrap, groups))
        assert len(wanted) == len(groups)
        monitor.wait_for(lambda: monitor.metrics().committed == wanted, "the broker's offsets of each group")

    commit_all(1)
    with Monitor(bootstrap, tmp_path) as monitor:
        monitor.wait_ready()
        for number, (node, outage) in enumerate(MOVES, 1):
            with outage_of(brokers[node], outage):
                wait_until(lambda node=node: node not in _leaders(bootstrap), f"the leaders to leave broker {node}")
                commit_all(number * 10)
                wait_equal()
            wait_until(lambda: _in_sync(bootstrap) == [2, 2], "both replicas in sync")
            commit_all(number * 10 + 1)
            wait_equal()
            report(f"broker {node} {outage}: the offsets of {len(groups)} groups equal the broker's, twice")
        assert monitor.metrics().value("lagwarden_resyncs_total") == 0

        brokers[3].stop()
        lost = [f"lost-{number}" for number in range(30)]
        for group in lost:
            commit(bootstrap, group, "t", {0: 9})
        monitor.wait_for(lambda: {place[0] for place in monitor.metrics().committed} >= {*lost}, "the groups to lose")
        brokers[2].kill()
        brokers[3].start()
        wait_until(lambda: _elect_unclean(bootstrap) == {3}, "broker 3 to lead without the last records")
        for group in groups:
            commit(bootstrap, group, "t", {0: 7}, times=10)
        assert monitor.ending(patience(90)).code == ExitCode.TOPIC_CHANGED
        monitor.start().wait_ready()
        wait_equal()
        assert monitor.metrics().value("lagwarden_resyncs_total") == 1
        brokers[2].start()
        wait_until(lambda: _in_sync(bootstrap) == [2, 2], "both replicas in sync")
        commit_all(8)
        wait_equal()
    report(f"unclean election: {len(lost)} lost groups are not shown, the offsets of {len(groups)} equal the broker's")


def _leaders(bootstrap: str) -> set[int]:
    return {each.leader for each in _partitions(bootstrap)}


def _in_sync(bootstrap: str) -> list[int]:
    """Return the number of replicas in sync of each partition."""
    return [len(each.isrs) for each in _partitions(bootstrap)]


def _partitions(bootstrap: str) -> Collection[PartitionMetadata]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = eventually(lambda: admin.list_topics(OFFSETS_TOPIC, timeout=patience(5))).topics
    return topics[OFFSETS_TOPIC].partitions.values()


def _elect_unclean(bootstrap: str) -> set[int]:
    """Ask for leaders outside the replicas in sync, and return the leaders. The tool fails if one needs no election."""
    tool = "org.apache.kafka.tools.LeaderElectionCommand"
    with contextlib.suppress(ToolError):
        run_tool(tool, "--bootstrap-server", bootstrap, "--election-type", "unclean", "--all-topic-partitions")
    return _leaders(bootstrap)
