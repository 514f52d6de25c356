"""The living traffic tells the stories that its table promises, and stands still when asked."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest

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


def test_every_behaviour_has_a_fate_and_every_fate_a_topic() -> None:
    """The table covers all behaviours and kinds, with one name per group and topics that exist."""
    assert {fate.behaviour for fate in DEMO_GROUPS} == set(Behaviour)
    assert {fate.kind for fate in DEMO_GROUPS} == {"classic", "consumer", "simple"}
    assert len({fate.name for fate in DEMO_GROUPS}) == len(DEMO_GROUPS) >= 9
    assert {fate.topic for fate in DEMO_GROUPS} <= {topic.name for topic in TOPICS}
    assert set(Behaviour) == {*GROUP_CLASSES, Behaviour.TRANSACTIONAL, Behaviour.UNMANAGED}


@pytest.mark.parametrize("fate", DEMO_GROUPS, ids=lambda fate: fate.name)
def test_fate_is_consistent(fate: DemoGroup) -> None:
    """A group without members is Empty, one with members Stable, and each is found by its name."""
    assert (fate.state == "Empty") == (fate.members == 0)
    assert demo_group(fate.name) is fate


def test_workload_without_a_broker_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that is not there ends in one line and exit code 1."""
    monkeypatch.setattr("sandbox.demo.workload.CONNECT_LIMIT", 0.2)
    assert main(["--bootstrap-servers", "127.0.0.1:1"]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


@pytest.fixture(scope="module")
def traffic(broker: Broker) -> Iterator[Workload]:
    """Give traffic that has settled."""
    with Workload(broker.bootstrap, prefix="living-") as workload:
        workload.wait_until_settled()
        yield workload


@pytest.fixture
def paused(traffic: Workload) -> Iterator[Workload]:
    """Give the traffic while it is paused."""
    traffic.pause()
    yield traffic
    traffic.resume()


def offsets(traffic: Workload) -> Offsets:
    """Ask the official tool for current offset, end and lag of every partition of the traffic's groups."""
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
    """Give a group's lag by partition."""
    return {partition: lag for (name, _, partition), (_, _, lag) in found.items() if name == group and lag is not None}


def look_while_paused(traffic: Workload) -> Offsets:
    """Pause, ask, go on."""
    traffic.pause()
    try:
        return offsets(traffic)
    finally:
        traffic.resume()


@pytest.mark.kafka
def test_paused_traffic_stands_still(paused: Workload) -> None:
    """While paused, not one committed offset or end moves, though every member stays in its group."""
    before = offsets(paused)
    time.sleep(2)
    assert offsets(paused) == before
    assert {name for name, _, _ in before} == {fate.name for fate in DEMO_GROUPS}
    states = {row.group: row for row in tools.describe_state(paused.bootstrap)}
    for fate in DEMO_GROUPS:
        assert states[paused.prefix + fate.name].members == fate.members, fate


@pytest.mark.kafka
def test_states_and_members_are_those_of_the_table(traffic: Workload) -> None:
    """Each group comes to the state and the number of members that its fate names."""

    def wrong() -> dict[str, tuple[str, int]]:
        found = {row.group: (row.state, row.members) for row in tools.describe_state(traffic.bootstrap)}
        told = {traffic.prefix + fate.name: (fate.state, fate.members) for fate in DEMO_GROUPS}
        return {group: found[group] for group in told if found[group] != told[group]}

    # A static member that restarts makes its group rebalance for a moment.
    wait_until(lambda: not wrong(), "every group to be in its state")


@pytest.mark.kafka
def test_lags_move_as_the_table_says(traffic: Workload) -> None:
    """Over a few seconds of traffic each group's lag grows, stays near zero or stands, as its fate names it."""
    before = look_while_paused(traffic)
    time.sleep(8)
    after = look_while_paused(traffic)
    for fate in DEMO_GROUPS:
        old, new = lags(before, fate.name), lags(after, fate.name)
        if fate.lag == "zero":
            assert set(new.values()) == {0}, fate
        elif fate.lag == "near zero":
            assert max(new.values()) <= 10, fate
        elif fate.lag == "grows":
            assert sum(new.values()) >= sum(old.values()) + 40, fate
        elif fate.lag == "grows on one partition":
            assert new[STUCK_PARTITION] > old[STUCK_PARTITION], fate
            assert max(lag for partition, lag in new.items() if partition != STUCK_PARTITION) <= 10, fate
    stalled = {offset[0] for found in (before, after) for key, offset in found.items() if key[::2] == ("stalled", 1)}
    assert len(stalled) == 1


@pytest.mark.kafka
def test_rewound_group_commits_a_lower_offset(traffic: Workload) -> None:
    """Within a dozen seconds the rewound group's committed offset falls on one partition."""
    rewound = [fate for fate in DEMO_GROUPS if fate.behaviour is Behaviour.REWOUND]
    seen: list[int] = []

    def fell() -> bool:
        rows = tools.describe_groups(traffic.bootstrap)
        group = traffic.prefix + rewound[0].name
        seen.extend(row.current_offset or 0 for row in rows if row.group == group and row.partition == STUCK_PARTITION)
        return any(later < earlier for earlier, later in itertools.pairwise(seen))

    wait_until(fell, "the rewound group to go back")


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.timeout(240)
def test_traffic_survives_a_broker_that_is_killed(make_broker: MakeBroker) -> None:
    """After the broker is killed and started again, every group goes on, and a pause is exact again."""
    broker = make_broker()
    with Workload(broker.bootstrap) as traffic:
        traffic.wait_until_settled()
        broker.kill()
        broker.start()
        ends = traffic.ends()
        wait_until(lambda: all(now > ends[key] for key, now in traffic.ends().items() if "orders" in key[0]), "records")
        steady = lags(look_while_paused(traffic), "steady")
        wait_until(lambda: max(lags(look_while_paused(traffic), "steady").values()) <= 10, f"steady after {steady}")
