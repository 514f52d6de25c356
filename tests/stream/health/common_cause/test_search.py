"""What groups share, which of their faults count, and stories of groups: what is found to be the common cause."""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.common_cause.search import Dimension, SharedValues, find_causes, row_faults, unique_pairs
from tests.stream.health.columns import ints
from tests.stream.health.panes import MINUTE, NOW, SECOND, Row, judged, pane
from tests.stream.health.tables import wrong

NOON: Final = 1_700_000_000_000
"""The start of the stories; the times of groups are in seconds after it."""


@dataclasses.dataclass(frozen=True)
class Group:
    """A group; by default it works on a topic of its own, and last committed 90 s after noon."""

    coordinator: str = "1"
    partition: str = ""
    topic: str = ""
    leader: str = "1"
    host: str = ""
    follower: str = ""
    unhealthy: float | None = None
    worked: float | None = 90.0


FIELDS: Final = {
    Dimension.COORDINATOR: "coordinator",
    Dimension.OFFSETS_PARTITION: "partition",
    Dimension.TOPIC: "topic",
    Dimension.LEADER: "leader",
    Dimension.CLIENT_HOST: "host",
    Dimension.FOLLOWER: "follower",
}
"""The field of a group by dimension."""


def shared(groups: Sequence[Group]) -> list[SharedValues]:
    """Return what these groups share; an empty value is one that no other group has."""
    number = np.arange(len(groups), dtype=np.int64)
    since = np.array([-1 if each.unhealthy is None else NOON + each.unhealthy * SECOND for each in groups], np.int64)
    worked = [
        -1 if each.unhealthy is not None or each.worked is None else NOON + each.worked * SECOND for each in groups
    ]
    found = []
    for dimension, field in FIELDS.items():
        values = [getattr(each, field) or f"own {group}" for group, each in enumerate(groups)]
        names = sorted(set(values))
        value = np.array([names.index(each) for each in values], np.int64)
        found.append(unique_pairs(dimension, names, number, value, since, np.array(worked, np.int64)))
    return found


OTHERS = [Group() for _ in range(6)]


def unhealthy(count: int, every: float = 1.0, **shares: str) -> list[Group]:
    """Return groups that became unhealthy one after the other, `every` seconds."""
    return [Group(unhealthy=number * every, **shares) for number in range(count)]  # type: ignore[arg-type] # words


def well(count: int, **shares: str) -> list[Group]:
    """Return groups that work."""
    return [Group(**shares) for _ in range(count)]  # type: ignore[arg-type] # words


Cause = tuple[str, str, int, int]
"""Dimension, value, number of groups, number of compared groups."""
NARROW = [*unhealthy(4, partition="7", coordinator="3", topic="orders", leader="2"), *OTHERS]
STORIES: dict[str, tuple[list[Group], tuple[Cause, ...]]] = {
    "17 of 18 groups of a coordinator stop within 20 s": (
        [*unhealthy(17, 1.2, coordinator="3"), *well(1, coordinator="3"), *OTHERS],
        (("coordinator", "3", 17, 18),),
    ),
    "three groups are enough": ([*unhealthy(3, coordinator="3"), *OTHERS], (("coordinator", "3", 3, 3),)),
    "groups that alone have a follower on a broker": (
        [*unhealthy(3, follower="2"), *OTHERS],
        (("follower", "2", 3, 3),),
    ),
    "another group has a follower there and works": (
        [*unhealthy(4, follower="2"), *well(1, follower="2"), *OTHERS],
        (),
    ),
    "another group has none there and stopped, too": ([*unhealthy(4, follower="2"), *unhealthy(1), *OTHERS], ()),
    "a leader or its follower": ([*unhealthy(3, follower="2", leader="3"), *OTHERS], (("leader", "3", 3, 3),)),
    "two groups are not enough": ([*unhealthy(2, coordinator="3"), *OTHERS], ()),
    "the groups became unhealthy at different times": ([*unhealthy(6, 61.0, coordinator="3"), *OTHERS], ()),
    "three groups within a minute, and a later group of the same coordinator": (
        [*unhealthy(3, 30.0, coordinator="3"), Group(unhealthy=300.0, coordinator="3"), *well(6)],
        (("coordinator", "3", 4, 4),),
    ),
    "a group that was unhealthy long before is not explained": (
        [Group(unhealthy=-7_200.0, coordinator="3"), *unhealthy(4, coordinator="3"), *OTHERS],
        (("coordinator", "3", 4, 4),),
    ),
    "half of the groups of the coordinator work": (
        [*unhealthy(4, coordinator="3"), *well(4, coordinator="3"), *OTHERS],
        (),
    ),
    "groups without traffic do not count": (
        [*unhealthy(4, coordinator="3"), *[Group(coordinator="3", worked=-600.0)] * 20, *OTHERS],
        (("coordinator", "3", 4, 4),),
    ),
    "all groups share the broker": (unhealthy(5, coordinator="1"), ()),
    "all groups become unhealthy, on any coordinator": (
        [*unhealthy(5, coordinator="3", leader="3"), *unhealthy(5, coordinator="2", leader="2")],
        (),
    ),
    "one topic, of groups with any coordinator": (
        [
            *unhealthy(3, topic="orders"),
            *unhealthy(3, topic="orders", coordinator="2"),
            *OTHERS,
            *well(3, coordinator="2"),
        ],
        (("topic", "orders", 6, 6),),
    ),
    "one offsets partition of a coordinator whose other groups work": (
        [*unhealthy(4, partition="7", coordinator="3"), *well(8, coordinator="3"), *OTHERS],
        (("offsets_partition", "7", 4, 4),),
    ),
    "one offsets partition, and one group of the same coordinator by chance": (
        [
            *unhealthy(9, partition="7", coordinator="3"),
            *unhealthy(1, coordinator="3"),
            *well(6, coordinator="3"),
            *OTHERS,
        ],
        (("offsets_partition", "7", 9, 9),),
    ),
    "narrowest of equal causes": (NARROW, (("offsets_partition", "7", 4, 4),)),
    "one client host": (
        [*unhealthy(4, host="10.0.0.7"), *well(3, host="10.0.0.8"), *OTHERS],
        (("client_host", "10.0.0.7", 4, 4),),
    ),
    "two causes at the same time": (
        [*unhealthy(5, coordinator="3"), *unhealthy(3, topic="orders"), *OTHERS, *well(10)],
        (("coordinator", "3", 5, 5), ("topic", "orders", 3, 3)),
    ),
    "all groups are well": (OTHERS, ()),
    "there are no groups": ([], ()),
}


def causes(groups: list[Group], **event: str) -> tuple[Cause, ...]:
    """Return the causes, with an event at noon that concerns this value of a dimension."""
    events = {(Dimension(name), value): NOON for name, value in event.items()}
    found = find_causes(shared(groups), range(len(groups)), events)
    return tuple((str(each.dimension), each.name, len(each.groups), each.compared) for each in found)


def test_the_cause_of_a_story() -> None:
    """A cause is the value that explains most, with the numbers of its groups and of the compared groups.

    Of equal causes, a broker that has just left comes first.
    """
    assert wrong(STORIES, causes) == []
    assert causes(NARROW, leader="2") == (("leader", "2", 4, 4),)


def test_a_cause_has_its_times() -> None:
    """A cause has the time of its first fault, and the time until the last of the faults that began together."""
    groups = [*unhealthy(3, 10.0, coordinator="3"), Group(unhealthy=90.0, coordinator="3"), *OTHERS]
    (cause,) = find_causes(shared(groups), range(10), {})
    assert (cause.began, cause.spread) == (NOON, 20 * SECOND)


GROUP = st.builds(
    Group,
    coordinator=st.sampled_from("123"),
    partition=st.sampled_from("0123"),
    topic=st.sampled_from(["", "a", "b"]),
    leader=st.sampled_from("123"),
    host=st.sampled_from(["", "h"]),
    unhealthy=st.none() | st.integers(0, 600),
    worked=st.none() | st.just(700.0),
)
RELATED = st.builds(Group, coordinator=st.just("3"), topic=st.sampled_from(["", "a"]), unhealthy=st.integers(0, 90))
WORKS = st.builds(Group, coordinator=st.sampled_from("13"), worked=st.sampled_from([30.0, 700.0]))


@given(st.lists(GROUP, max_size=40), st.lists(RELATED, max_size=10), st.lists(WORKS, max_size=10))
def test_each_group_is_explained_once(any_groups: list[Group], related: list[Group], working: list[Group]) -> None:
    """A cause has at least three groups whose faults began within a minute, and no group has two causes.

    The groups of a cause have its value and are unhealthy, and it has the number of the others that work.
    """
    groups = [*any_groups, *related, *working]
    found = find_causes(shared(groups), range(len(groups)), {})
    explained = [group for cause in found for group in cause.groups]
    assert len(explained) == len(set(explained))
    for cause in found:
        members = [groups[group] for group in cause.groups]
        with_value = [each for each in groups if getattr(each, FIELDS[cause.dimension]) == cause.name]
        assert all(each in with_value for each in members)
        times = np.sort([each.unhealthy for each in members if each.unhealthy is not None])
        assert len(times) == len(members) >= 3
        assert np.min(times[2:] - times[:-2]) <= 60
        end = (cause.began + cause.spread - NOON) / SECOND
        healthy = [each for each in with_value if each.unhealthy is None and each.worked and each.worked > end]
        assert cause.compared == len(members) + len(healthy)


def test_a_pair_has_the_first_fault_and_the_last_commit() -> None:
    """Rows of one group and value become one pair; where the group has a fault, its other commits do not count."""
    pairs = unique_pairs(
        Dimension.TOPIC,
        ["a", "b"],
        group=ints(0, 0, 0, 1, 1),
        value=ints(0, 0, 1, 1, 1),
        unhealthy_since=ints(70, 50, -1, -1, -1),
        worked=ints(-1, -1, 30, 10, 20),
    )
    rows = zip(pairs.group, pairs.value, pairs.unhealthy_since, pairs.worked, strict=True)
    assert [tuple(map(int, row)) for row in rows] == [(0, 0, 50, -1), (0, 1, -1, 30), (1, 1, -1, 20)]


def test_a_value_that_is_not_known_makes_no_pair() -> None:
    """A row whose value is not known, such as a leader that was never known, is in no pair."""
    pairs = unique_pairs(Dimension.LEADER, ["1"], ints(0, 1), ints(-1, 0), ints(5, 5), ints(-1, -1))
    assert (pairs.group.tolist(), pairs.value.tolist()) == ([1], [0])


SHOWN_SINCE = NOW - 10 * SECOND


def test_a_fault_begins_with_its_cause_or_with_its_verdict() -> None:
    """A fault begins with its cause if that time is known. Verdicts come later, by the patience of each group."""
    stories = {
        "stopped: since the row is idle": (Row(idle=50 * SECOND), "stopped", 50 * SECOND),
        "no leader: since the last known end": (Row(known_ago=40 * SECOND), "no_leader", 40 * SECOND),
        "no members: since the last member left": (Row(emptied_ago=MINUTE), "no_members", MINUTE),
        "no members at an unknown time: since the verdict": (Row(), "no_members", 10 * SECOND),
        "other fault: since the verdict": (Row(idle=50 * SECOND), "falling_behind", 10 * SECOND),
        "stalled, but with new progress: since the verdict": (Row(idle=0), "stalled", 10 * SECOND),
    }
    for story, (row, verdict, ago) in stories.items():
        faults = row_faults(judged(pane(row), [verdict], SHOWN_SINCE))
        assert (story, faults.since.tolist(), faults.worked.tolist()) == (story, [NOW - ago], [-1])


def test_other_rows_have_no_fault() -> None:
    """Warnings that concern one group alone do not count; an unknown row is not known to work."""
    works = NOW - 2 * SECOND
    for verdict, worked in {"ok": works, "caught_up": works, "skewed": works, "unknown": -1}.items():
        faults = row_faults(judged(pane(Row()), [verdict], SHOWN_SINCE))
        assert (faults.since.tolist(), faults.worked.tolist()) == ([-1], [worked])
