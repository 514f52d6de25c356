"""The recent past of a cluster, tick after tick: absences of brokers, hosts of groups, leaders of partitions."""

from collections.abc import Mapping

import numpy as np

from stream.groups.membership.model import MemberClient, Membership
from stream.health.common_cause.search import BrokerAbsence
from stream.tick.common_cause import BrokerWatch, RecentHosts, RecentLeaders
from stream.tick.ends_index import EndsIndex
from tests.support.driver_states import ends_of

HOUR = 3_600_000
ALL = frozenset({1, 2, 3})


def absences(*ticks: tuple[int, frozenset[int] | None]) -> dict[int, BrokerAbsence]:
    """Return the absences after ticks at these times (ms) with these brokers; None: no answer."""
    watch = BrokerWatch()
    for now, brokers in ticks:
        watch.update(brokers, now)
    return dict(watch.absences)


def test_a_broker_that_is_missing_is_absent_since_the_first_tick_without_it() -> None:
    """A tick without an answer begins no absence."""
    assert absences((0, ALL), (10, None), (20, ALL - {3}), (30, ALL - {3})) == {3: BrokerAbsence(20, None)}


def test_an_absence_ends_with_the_first_tick_with_the_broker() -> None:
    """The absence is kept for an hour after its end."""
    ticks = ((0, ALL), (20, ALL - {3}), (50, ALL))
    assert absences(*ticks, (HOUR, ALL)) == {3: BrokerAbsence(20, 50)}
    assert absences(*ticks, (HOUR + 60, ALL)) == {}


def test_a_new_broker_has_no_absence_and_a_removed_broker_only_for_an_hour() -> None:
    """A cluster may grow and shrink: the absence of a removed broker is dropped after an hour."""
    assert absences((0, frozenset({1})), (10, ALL)) == {}
    assert absences((0, ALL), (10, ALL - {3}), (20 + HOUR, ALL - {3})) == {}


MINUTE = 60_000


def membership(*hosts: str) -> Membership:
    """Return the membership of a group with a member on each host."""
    clients = tuple(MemberClient(f"m-{host}", "c", f"/{host}") for host in hosts)
    return Membership("classic", "Stable" if hosts else "Empty", len(hosts), clients=clients)


def test_a_host_is_remembered_after_its_members_left() -> None:
    """A failed host leaves its groups empty; the host is kept for a quarter of an hour."""
    recent = RecentHosts()
    recent.update({"g": membership("a", "b")}, 0)
    recent.update({"g": membership("b")}, MINUTE)
    assert recent.of("g") == {"a", "b"}
    recent.update({"g": membership("b")}, 10 * MINUTE)
    assert recent.of("g") == {"a", "b"}
    recent.update({"g": membership("b")}, 17 * MINUTE)
    assert recent.of("g") == {"b"}


Leaders = Mapping[tuple[str, int], int | None]


def ends(leaders: Leaders) -> EndsIndex:
    """Return ends of partitions with these leaders; None: the partition has none."""
    rows = [(topic, number, 9, 9, 0, None) for topic, number in leaders]
    return EndsIndex(ends_of(rows, {place: leader for place, leader in leaders.items() if leader is not None}))


def leaders_after(*ticks: tuple[int, Leaders]) -> dict[str, tuple[int, int]]:
    """Return the last known leader and the one before of each partition of the last tick, by name."""
    recent = RecentLeaders()
    for now, leaders in ticks:
        recent.update(ends(leaders), now)
    names = [f"{topic}-{number}" for topic, number in sorted(ticks[-1][1])]
    last, previous = recent.of(np.arange(len(names)))
    return dict(zip(names, zip(last.tolist(), previous.tolist(), strict=True), strict=True))


def test_the_leader_of_a_partition_without_a_leader_is_the_last_one() -> None:
    """A partition that never had a leader has none."""
    assert leaders_after((0, {("t", 0): 3, ("t", 1): None}), (1, {("t", 0): None, ("t", 1): None})) == {
        "t-0": (3, -1),
        "t-1": (-1, -1),
    }


def test_the_leader_before_an_election_is_remembered_for_a_while() -> None:
    """The previous leader is kept for a quarter of an hour, also if there was no leader in between."""
    ticks = [(0, {("t", 0): 3}), (1, {("t", 0): None}), (MINUTE, {("t", 0): 1})]
    assert leaders_after(*ticks) == {"t-0": (1, 3)}
    assert leaders_after(*ticks, (10 * MINUTE, {("t", 0): 1})) == {"t-0": (1, 3)}
    assert leaders_after(*ticks, (17 * MINUTE, {("t", 0): 1})) == {"t-0": (1, -1)}
