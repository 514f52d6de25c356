"""The traffic behaves as its table describes, and no offset changes while it is paused."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.demo.group_factory import GROUP_CLASSES
from sandbox.demo.groups import DEMO_GROUPS, STUCK_PARTITION, TOPICS, Behaviour, DemoGroup, demo_group
from sandbox.demo.workload import Workload, main
from sandbox.kafka import tools
from sandbox.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.kafka.broker import Broker
    from tests.conftest import MakeBroker

Offsets = dict[tuple[str, str, int], tuple[int | None, int | None, int | None]]


def test_every_behaviour_has_a_group_and_every_group_a_topic() -> None:
    """The table covers all behaviours and kinds, with one name per group and topics that exist."""
    assert {row.behaviour for row in DEMO_GROUPS} == set(Behaviour)
    assert {row.kind for row in DEMO_GROUPS} == {"classic", "consumer", "simple"}
    assert len({row.name for row in DEMO_GROUPS}) == len(DEMO_GROUPS) >= 9
    assert {row.topic for row in DEMO_GROUPS} <= {topic.name for topic in TOPICS}
    assert set(Behaviour) == {*GROUP_CLASSES, Behaviour.TRANSACTIONAL, Behaviour.UNMANAGED}


@pytest.mark.parametrize("row", DEMO_GROUPS, ids=lambda row: row.name)
def test_the_row_of_a_group_is_consistent(row: DemoGroup) -> None:
    """A group is Empty exactly if it has no members, and is found by its name."""
    assert (row.state == "Empty") == (row.members == 0)
    assert demo_group(row.name) is row


def test_workload_without_a_broker_exits_with_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreachable cluster gives one line with its address and exit code 1."""
    monkeypatch.setattr("sandbox.demo.workload.CONNECT_LIMIT", 0.2)
    assert main(["--bootstrap-servers", "127.0.0.1:1"]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


@pytest.fixture(scope="module")
def traffic(broker: Broker) -> Iterator[Workload]:
    """Yield traffic that has settled."""
    with Workload(broker.bootstrap, prefix="traffic-") as workload:
        workload.wait_until_settled()
        yield workload


@pytest.fixture
def paused(traffic: Workload) -> Iterator[Workload]:
    """Yield the traffic while it is paused."""
    traffic.pause()
    yield traffic
    traffic.resume()


def offsets(traffic: Workload) -> Offsets:
    """Return current offset, end offset and lag of every partition of the traffic's groups, from the official tool."""
    return {
        (row.group.removeprefix(traffic.prefix), row.topic.removeprefix(traffic.prefix), row.partition): (
            row.current_offset,
            row.log_end_offset,
            row.lag,
        )
        for row in tools.describe_groups(traffic.bootstrap)
        if row.group in traffic.groups and row.topic is not None and row.partition is not None
    }


def lags(found: Offsets, group: str) -> dict[int, int]:
    """Return a group's lag by partition."""
    return {partition: lag for (name, _, partition), (_, _, lag) in found.items() if name == group and lag is not None}


def groups_are_as_in_the_table(traffic: Workload) -> bool:
    """Return whether each group has the state and the number of members of its row."""
    found = {row.group: (row.state, row.members) for row in tools.describe_state(traffic.bootstrap)}
    return {(traffic.prefix + row.name, (row.state, row.members)) for row in DEMO_GROUPS} <= found.items()


def offsets_while_paused(traffic: Workload) -> Offsets:
    """Pause the traffic, read the offsets, and resume it."""
    traffic.pause()
    try:
        return offsets(traffic)
    finally:
        traffic.resume()


@pytest.mark.kafka
def test_no_offset_changes_while_the_traffic_is_paused(paused: Workload) -> None:
    """No committed offset or end offset changes during a pause, and every member stays in its group."""
    before = offsets(paused)
    time.sleep(2)
    assert offsets(paused) == before
    assert {name for name, _, _ in before} == {row.name for row in DEMO_GROUPS}
    states = {row.group: row for row in tools.describe_state(paused.bootstrap)}
    for row in DEMO_GROUPS:
        assert states[paused.prefix + row.name].members == row.members, row


@pytest.mark.kafka
def test_states_and_members_are_those_of_the_table(traffic: Workload) -> None:
    """Each group reaches the state and the number of members of its row."""
    # A static member that restarts makes its group rebalance for a moment.
    wait_until(lambda: groups_are_as_in_the_table(traffic), "every group to be in its state")


@pytest.mark.kafka
def test_lags_change_as_in_the_table(traffic: Workload) -> None:
    """The lag of each group grows, stays near zero or stays zero over a few seconds, as in its row."""
    before = offsets_while_paused(traffic)
    time.sleep(8)
    after = offsets_while_paused(traffic)
    for row in DEMO_GROUPS:
        old, new = lags(before, row.name), lags(after, row.name)
        if row.lag == "zero":
            assert set(new.values()) == {0}, row
        elif row.lag == "near zero":
            assert max(new.values()) <= 10, row
        elif row.lag == "grows":
            assert sum(new.values()) >= sum(old.values()) + 40, row
        elif row.lag == "grows on one partition":
            assert new[STUCK_PARTITION] > old[STUCK_PARTITION], row
            assert max(lag for partition, lag in new.items() if partition != STUCK_PARTITION) <= 10, row
    stalled = {offset[0] for found in (before, after) for key, offset in found.items() if key[::2] == ("stalled", 1)}
    assert len(stalled) == 1


@pytest.mark.kafka
def test_rewound_group_commits_a_lower_offset(traffic: Workload) -> None:
    """The committed offset of the rewound group decreases on one partition within a dozen seconds."""
    rewound = next(row for row in DEMO_GROUPS if row.behaviour is Behaviour.REWOUND)
    group = traffic.prefix + rewound.name
    place = next(
        TopicPartition(row.topic, STUCK_PARTITION)
        for row in tools.describe_groups(traffic.bootstrap)
        if row.group == group and row.partition == STUCK_PARTITION
    )
    admin = AdminClient({"bootstrap.servers": traffic.bootstrap, "log_level": 0})
    seen: list[int] = []

    def fell() -> bool:
        # The official tool takes seconds on a busy machine, in which the group has read the records again.
        request = [ConsumerGroupTopicPartitions(group, [place])]
        seen.append(admin.list_consumer_group_offsets(request)[group].result(10).topic_partitions[0].offset)
        return any(later < earlier for earlier, later in itertools.pairwise(seen))

    wait_until(fell, "the rewound group to rewind")


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.timeout(240)
def test_traffic_survives_a_broker_that_is_killed(make_broker: MakeBroker) -> None:
    """After a kill and a restart of the broker, records are written again and the steady group catches up.

    Each group reaches its state and its number of members again.
    """
    broker = make_broker()
    with Workload(broker.bootstrap) as traffic:
        traffic.wait_until_settled()
        broker.kill()
        broker.start()
        ends = traffic.ends()
        wait_until(lambda: all(now > ends[key] for key, now in traffic.ends().items() if "orders" in key[0]), "records")
        steady = lags(offsets_while_paused(traffic), "steady")
        wait_until(lambda: max(lags(offsets_while_paused(traffic), "steady").values()) <= 10, f"steady after {steady}")
        wait_until(lambda: groups_are_as_in_the_table(traffic), "every group to be in its state")
