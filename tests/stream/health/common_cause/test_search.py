"""Stories of groups: what is found to be the common cause, and what is none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.health.common_cause.search import CommonCauseLimits, find_causes
from stream.health.common_cause.shared import Dimension
from tests.stream.health.common_cause.group_stories import FIELDS, NOON, SECOND, Group, shared

OTHERS = [Group() for _ in range(6)]


def unhealthy(count: int, every: float = 1.0, **shares: str) -> list[Group]:
    """Return groups that became unhealthy one after the other, `every` seconds."""
    return [Group(unhealthy=number * every, **shares) for number in range(count)]  # type: ignore[arg-type] # words


def well(count: int, **shares: str) -> list[Group]:
    """Return groups that work."""
    return [Group(**shares) for _ in range(count)]  # type: ignore[arg-type] # words


@dataclasses.dataclass(frozen=True)
class Story:
    """Groups, and the causes: dimension, value, number of groups, number compared."""

    name: str
    groups: list[Group]
    causes: tuple[tuple[str, str, int, int], ...] = ()
    event: tuple[Dimension, str] | None = None


STORIES = [
    Story(
        "17 of 18 groups of a coordinator stop within 20 s",
        [*unhealthy(17, 1.2, coordinator="3"), *well(1, coordinator="3"), *OTHERS],
        (("coordinator", "3", 17, 18),),
    ),
    Story("three groups are enough", [*unhealthy(3, coordinator="3"), *OTHERS], (("coordinator", "3", 3, 3),)),
    Story("two groups are not enough", [*unhealthy(2, coordinator="3"), *OTHERS]),
    Story("the groups became unhealthy at different times", [*unhealthy(6, 61.0, coordinator="3"), *OTHERS]),
    Story(
        "three groups within a minute, and a later group of the same coordinator",
        [*unhealthy(3, 30.0, coordinator="3"), Group(unhealthy=300.0, coordinator="3"), *well(6)],
        (("coordinator", "3", 4, 4),),
    ),
    Story(
        "a group that was unhealthy long before is not explained",
        [Group(unhealthy=-7_200.0, coordinator="3"), *unhealthy(4, coordinator="3"), *OTHERS],
        (("coordinator", "3", 4, 4),),
    ),
    Story(
        "half of the groups of the coordinator work",
        [*unhealthy(4, coordinator="3"), *well(4, coordinator="3"), *OTHERS],
    ),
    Story(
        "groups without traffic do not count",
        [*unhealthy(4, coordinator="3"), *[Group(coordinator="3", worked=-600.0)] * 20, *OTHERS],
        (("coordinator", "3", 4, 4),),
    ),
    Story("all groups share the broker", [*unhealthy(5, coordinator="1"), *well(0)]),
    Story(
        "all groups become unhealthy, on any coordinator",
        [*unhealthy(5, coordinator="3", leader="3"), *unhealthy(5, coordinator="2", leader="2")],
    ),
    Story(
        "one topic, of groups with any coordinator",
        [
            *unhealthy(3, topic="orders"),
            *unhealthy(3, topic="orders", coordinator="2"),
            *OTHERS,
            *well(3, coordinator="2"),
        ],
        (("topic", "orders", 6, 6),),
    ),
    Story(
        "one offsets partition of a coordinator whose other groups work",
        [*unhealthy(4, partition="7", coordinator="3"), *well(8, coordinator="3"), *OTHERS],
        (("offsets_partition", "7", 4, 4),),
    ),
    Story(
        "one offsets partition, and one group of the same coordinator by chance",
        [
            *unhealthy(9, partition="7", coordinator="3"),
            *unhealthy(1, coordinator="3"),
            *well(6, coordinator="3"),
            *OTHERS,
        ],
        (("offsets_partition", "7", 9, 9),),
    ),
    Story(
        "narrowest of equal causes",
        [*unhealthy(4, partition="7", coordinator="3", topic="orders", leader="2"), *OTHERS],
        (("offsets_partition", "7", 4, 4),),
    ),
    Story(
        "broker that just left, of equal causes",
        [*unhealthy(4, partition="7", coordinator="3", topic="orders", leader="2"), *OTHERS],
        (("leader", "2", 4, 4),),
        event=(Dimension.LEADER, "2"),
    ),
    Story(
        "one client host",
        [*unhealthy(4, host="10.0.0.7"), *well(3, host="10.0.0.8"), *OTHERS],
        (("client_host", "10.0.0.7", 4, 4),),
    ),
    Story(
        "two causes at the same time",
        [*unhealthy(5, coordinator="3"), *unhealthy(3, topic="orders"), *OTHERS, *well(10)],
        (("coordinator", "3", 5, 5), ("topic", "orders", 3, 3)),
    ),
    Story("all groups are well", OTHERS),
    Story("there are no groups", []),
]


@pytest.mark.parametrize("story", STORIES, ids=[story.name for story in STORIES])
def test_the_cause_of_a_story(story: Story) -> None:
    """A cause is the value that explains most, with the numbers of its groups and of the compared groups."""
    events = {} if story.event is None else {story.event: NOON}
    found = find_causes(shared(story.groups), events)
    assert tuple((str(each.dimension), each.name, len(each.groups), each.compared) for each in found) == story.causes


def test_a_cause_has_its_times() -> None:
    """A cause has the time of its first fault, and the time until the last of the faults that began together."""
    (cause,) = find_causes(
        shared([*unhealthy(3, 10.0, coordinator="3"), Group(unhealthy=90.0, coordinator="3"), *OTHERS]), {}
    )
    assert (cause.began, cause.spread) == (NOON, 20 * SECOND)


@pytest.mark.parametrize(("after", "has_event"), [(-300, True), (10, True), (-3_600, False)])
def test_an_event_counts_only_near_the_faults(after: int, *, has_event: bool) -> None:
    """A broker that left an hour before the faults is no cause."""
    events = {(Dimension.COORDINATOR, "3"): NOON + after * SECOND}
    (cause,) = find_causes(shared([*unhealthy(3, coordinator="3"), *OTHERS]), events)
    assert cause.has_event is has_event


def test_the_number_of_causes_is_bounded() -> None:
    """The limit holds for any number of faults at the same time."""
    groups = [group for number in range(8) for group in unhealthy(3, topic=f"t{number}")]
    assert len(find_causes(shared([*groups, *well(60)]), {}, CommonCauseLimits(findings=5))) == 5


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
    found = find_causes(shared(groups), {})
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
