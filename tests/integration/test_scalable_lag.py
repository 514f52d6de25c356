"""The scalable lag of a group whose members join, pause and leave, compared with that from Kafka's tool."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, Self

import pytest
from confluent_kafka import Consumer

from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import consumer_groups, describe_groups, describe_state, table_rows
from stream.cluster.transport.client import Cluster
from tests.integration.publishing import Ticks
from tests.integration.traffic import FAST_HEARTBEATS, commit, consumer, make_topic, places
from tests.support.processes import LIMIT, eventually, patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(patience(400))]

TOPICS: Final = ("t", "u")
PARTITIONS: Final = 4
LAGS: Final = (5, 6, 7, 8)
"""The lag of the partitions of a topic while nothing but the first offset 5 is committed."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(properties=FAST_HEARTBEATS) as started:
        for topic in TOPICS:
            make_topic(started.bootstrap, topic, PARTITIONS)
        commit(started.bootstrap, "first", "t", {0: 1})
        yield started


@pytest.fixture
def ticks(broker: Broker) -> Iterator[Ticks]:
    """Return a monitor without state."""
    with Cluster([broker.bootstrap]) as cluster:
        cluster.connect(LIMIT)
        yield Ticks(cluster)


def owners(bootstrap: str, group: str) -> dict[tuple[str, int], str]:
    """Return the members that own partitions, by `kafka-consumer-groups --describe --members --verbose`."""
    found = {}
    for row in table_rows(consumer_groups(bootstrap, "--describe", "--group", group, "--members", "--verbose")):
        # Topics with partitions: t:0,1;u:0
        for part in (row["CURRENT-ASSIGNMENT"] or "").split(";"):
            topic, _, numbers = part.partition(":")
            found |= {(topic, int(number)): row["CONSUMER-ID"] or "" for number in numbers.split(",") if number}
    return found


def lag_by_tool(bootstrap: str, group: str) -> int | None:
    """Return the lag of partitions without an owner, or whose owner has others with lag; None in a rebalance.

    With the assignor `range`, partitions of the same number of several topics count as one.
    """
    (found,) = (row for row in describe_state(bootstrap) if row.group == group)
    if found.state not in {"Empty", "Stable"}:
        return None
    lags = {
        (row.topic or "", row.partition or 0): row.lag
        for row in describe_groups(bootstrap)
        if row.group == group and row.lag
    }
    owner = owners(bootstrap, group) if found.state == "Stable" else {}
    units = defaultdict(set)
    for topic, number in lags:
        units[owner.get((topic, number))].add(number if found.assignment_strategy == "range" else (topic, number))
    return sum(lag for place, lag in lags.items() if place not in owner or len(units[owner[place]]) > 1)


class Members:
    """The consumers of a group; all subscribe to the same topics."""

    def __init__(self, broker: Broker, group: str, protocol: str, topics: Sequence[str] = ("t",)) -> None:
        self.group: Final = group
        self._bootstrap = broker.bootstrap
        self._protocol = protocol
        self._topics = list(topics)
        self._stacks: list[tuple[Consumer, contextlib.ExitStack]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._stacks:
            self.remove()

    def add(self) -> Consumer:
        """Add a member, which joins when it is polled."""
        stack = contextlib.ExitStack()
        options = {"partition_assignment_strategy": "range"} if self._protocol == "classic" else {}
        client = stack.enter_context(consumer(self._bootstrap, self.group, group_protocol=self._protocol, **options))
        client.subscribe(self._topics)
        self._stacks.append((client, stack))
        return client

    def remove(self) -> None:
        """Remove the member that was added last; it leaves the group."""
        _, stack = self._stacks.pop()
        stack.close()

    def poll_until(self, ticks: Ticks, *counts: int) -> None:
        """Poll all members until they own these numbers of partitions, in any order, and the log has the same."""

        def settled() -> bool:
            for client, _ in self._stacks:
                client.poll(0.05)
            if sorted(len(client.assignment()) for client, _ in self._stacks) != sorted(counts):
                return False
            ticks.tick()
            row = ticks.group(self.group)
            return row is not None and (row["state"], row["members"]) == ("Stable", len(counts))

        wait_until(settled, f"the members to have {counts} partitions", limit=60)

    def commit(self, topic: str, offsets: dict[int, int]) -> None:
        """Commit as the owner of each partition."""
        for client, _ in self._stacks:
            owned = {each.partition for each in client.assignment() if each.topic == topic}
            if own := {number: offset for number, offset in offsets.items() if number in owned}:
                eventually(lambda client=client, own=own: client.commit(offsets=places(topic, own), asynchronous=False))


def shown(ticks: Ticks, group: str) -> tuple[int | None, int | None]:
    """Return the scalable lag and the useful number of members after two ticks; the first may request the state."""
    ticks.ticks(2)
    row = ticks.group(group)
    return row["scalable_lag"], row["members_useful"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_only_lag_that_another_member_could_take_is_scalable(broker: Broker, ticks: Ticks, protocol: str) -> None:
    """The scalable lag equals that of the tool's tables at each step of the group's life."""
    bootstrap, group = broker.bootstrap, f"scaled-{protocol}"
    with Members(broker, group, protocol) as members:

        def step(expected: int | None) -> None:
            found, useful = shown(ticks, group)
            assert (found, lag_by_tool(bootstrap, group)) == (expected, expected)
            has_members = expected is not None and "Stable" in str(ticks.state(group))
            assert useful == (PARTITIONS if has_members else None)

        first = members.add()
        members.poll_until(ticks, 4)
        members.commit("t", dict.fromkeys(range(PARTITIONS), 5))
        step(sum(LAGS))
        # The member reads all partitions but one, which another member could not read faster.
        first.pause([each for each in first.assignment() if each.partition == 2])
        members.commit("t", {0: 10, 1: 11, 3: 13})
        step(0)
        members.commit("t", {3: 9})
        step(LAGS[2] + 4)
        members.commit("t", dict.fromkeys(range(PARTITIONS), 5))
        second = members.add()

        def is_rebalancing() -> bool:
            second.poll(0.1)
            return {row.state for row in describe_state(bootstrap) if row.group == group}.isdisjoint(
                {"Empty", "Stable"}
            )

        wait_until(is_rebalancing, "a rebalance, for which the first member must poll")
        step(None)
        members.poll_until(ticks, 2, 2)
        step(sum(LAGS))
        members.add()
        members.add()
        members.poll_until(ticks, 1, 1, 1, 1)
        step(0)
        members.remove()
        members.poll_until(ticks, 1, 1, 2)
        found = lag_by_tool(bootstrap, group)
        assert found
        step(found)
    step_without = shown(ticks, group)
    assert step_without == (lag_by_tool(bootstrap, group), None) == (sum(LAGS), None)


def test_the_range_assignor_never_separates_partitions_of_the_same_number(broker: Broker, ticks: Ticks) -> None:
    """A fifth member for two topics of four partitions gets none, so no lag is scalable."""
    bootstrap, group = broker.bootstrap, "scaled-range"
    with Members(broker, group, "classic", TOPICS) as members:
        members.add()
        members.add()
        members.poll_until(ticks, 4, 4)
        for topic in TOPICS:
            members.commit(topic, dict.fromkeys(range(PARTITIONS), 5))
        assert shown(ticks, group) == (lag_by_tool(bootstrap, group), PARTITIONS) == (2 * sum(LAGS), PARTITIONS)
        members.add()
        members.add()
        members.poll_until(ticks, 2, 2, 2, 2)
        assert shown(ticks, group) == (lag_by_tool(bootstrap, group), PARTITIONS) == (0, PARTITIONS)
        members.add()
        members.poll_until(ticks, 0, 2, 2, 2, 2)
        assert shown(ticks, group) == (lag_by_tool(bootstrap, group), PARTITIONS) == (0, PARTITIONS)
