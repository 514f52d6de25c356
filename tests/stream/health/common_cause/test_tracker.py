"""Which findings are shown, evaluation after evaluation, with their sentences and next steps."""

import dataclasses
from typing import Final

import pytest

from stream.health.common_cause.search import BrokerAbsence, CommonCause, Dimension
from stream.health.common_cause.tracker import CommonCauseTracker, next_step, sentence


def cause(groups: str, dimension: Dimension = Dimension.COORDINATOR, name: str = "3", began: int = 0) -> CommonCause:
    """Return a cause that explains groups with these names."""
    return CommonCause(dimension, name, frozenset(groups), len(groups), len(groups) + 1, began, 5_000)


PARTITION: Final = (Dimension.OFFSETS_PARTITION, "7")
TOPIC: Final = (Dimension.TOPIC, "orders")
THREE, FOUR = cause("abc"), cause("abcd")
STORIES: Final[dict[str, list[tuple[tuple[CommonCause, ...], str, str]]]] = {
    # What each evaluation finds, which groups are unhealthy, and the shown findings after it, as words.
    "a cause is shown at its second evaluation": [((THREE,), "abc", ""), ((THREE,), "abc", "coordinator 3: abc")],
    "a cause that comes and goes is not shown": [((THREE,), "abc", ""), ((), "abc", ""), ((THREE,), "abc", "")],
    "a cause without new evidence stays while its groups are unhealthy": [
        ((FOUR,), "abcd", ""),
        ((FOUR,), "abcd", "coordinator 3: abcd"),
        ((), "abcd", "coordinator 3: abcd"),
        ((), "abc", "coordinator 3: abc"),
    ],
    "a cause ends at the second evaluation with most groups healthy": [
        ((FOUR,), "abcd", ""),
        ((FOUR,), "abcd", "coordinator 3: abcd"),
        ((), "ab", "coordinator 3: ab"),
        ((), "ab", ""),
    ],
    "later groups are added to the cause": [
        ((THREE,), "abc", ""),
        ((FOUR,), "abcd", "coordinator 3: abcd"),
        ((cause("abcde"),), "abcde", "coordinator 3: abcde"),
    ],
    "a wider cause replaces a narrower one": [
        ((cause("abc", *PARTITION),), "abc", ""),
        ((cause("abc", *PARTITION),), "abc", "offsets_partition 7: abc"),
        ((cause("abcdef"),), "abcdef", "offsets_partition 7: abc"),
        ((cause("abcdef"),), "abcdef", "coordinator 3: abcdef"),
    ],
    "another cause of the same groups does not replace the first": [
        ((FOUR,), "abcd", ""),
        ((FOUR,), "abcd", "coordinator 3: abcd"),
        ((cause("abcd", *TOPIC),), "abcd", "coordinator 3: abcd"),
        ((cause("abcd", *TOPIC),), "abcd", "coordinator 3: abcd"),
    ],
    "two causes with their own groups": [
        ((FOUR, cause("efg", *TOPIC)), "abcdefg", ""),
        ((FOUR, cause("efg", *TOPIC)), "abcdefg", "coordinator 3: abcd, topic orders: efg"),
    ],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_the_shown_findings_of_a_story(story: list[tuple[tuple[CommonCause, ...], str, str]]) -> None:
    """Each evaluation of the story is followed by the expected findings."""
    tracker = CommonCauseTracker()
    for causes, unhealthy, expected in story:
        tracker.update(causes, set(unhealthy))
        shown = [f"{each.dimension} {each.name}: {''.join(sorted(each.groups))}" for each in tracker.findings]
        assert ", ".join(shown) == expected


def test_a_finding_remembers_how_many_groups_it_had() -> None:
    """The number of affected groups stays the same while the groups recover one after the other."""
    tracker = CommonCauseTracker()
    for unhealthy in ("abcde", "abcde", "abc"):
        tracker.update((cause("abcde"),) if len(unhealthy) == 5 else (), set(unhealthy))
    (finding,) = tracker.findings
    assert (len(finding.groups), finding.affected, finding.compared) == (3, 5, 6)


NOON: Final = 1_700_000_000_000
LEFT: Final = BrokerAbsence(NOON - 40_000, None)
BACK: Final = BrokerAbsence(NOON - 40_000, NOON - 25_000)


def finding(dimension: Dimension, name: str, groups: int = 17, spread: int = 20_000) -> CommonCause:
    """Return a finding that began at noon; 18 groups share its value."""
    return CommonCause(dimension, name, frozenset(map(str, range(groups))), 17, 18, NOON, spread)


LEADER: Final = finding(Dimension.LEADER, "3")
SENTENCES: Final[dict[str, tuple[CommonCause, list[str], BrokerAbsence | None]]] = {
    (
        "17 of 18 groups coordinated by broker 3 stopped within 20 s; broker 3 left the cluster 40 s before and was "
        "back after 15 s."
    ): (finding(Dimension.COORDINATOR, "3"), ["stopped"] * 17, BACK),
    (
        "17 of 18 groups reading partitions led by broker 3 lost the leader of a partition within 20 s; broker 3 left "
        "the cluster 40 s before and has been away for 1 min 40 s."
    ): (LEADER, ["no_leader"] * 15 + ["stopped"] * 2, LEFT),
    (
        "17 of 18 groups reading partitions led by broker 3 lost the leader of a partition within 20 s; broker 3 left "
        "the cluster at that time and has been away for 50 s."  # absent since a tick after the faults
    ): (LEADER, ["no_leader"] * 17, BrokerAbsence(NOON + 10_000, None)),
    "17 of 18 groups reading topic orders began to fall behind within 20 s; 5 are still unhealthy.": (
        finding(Dimension.TOPIC, "orders", groups=5),
        ["falling_behind"] * 5,
        None,
    ),
    "17 of 18 groups stored in partition 7 of __consumer_offsets became unhealthy at the same time.": (
        finding(Dimension.OFFSETS_PARTITION, "7", spread=0),
        ["stopped", "stalled", "no_members"],
        None,
    ),
    "17 of 18 groups with members on host 10.0.0.7 lost their members within 20 s.": (
        finding(Dimension.CLIENT_HOST, "10.0.0.7"),
        ["no_members"] * 17,
        None,
    ),
    "17 of 18 groups reading topic t became unhealthy within 20 s.": (
        finding(Dimension.TOPIC, "t"),
        ["ERR"] * 17,  # a verdict of other rules
        None,
    ),
}


def test_the_sentence_of_a_finding_has_its_facts() -> None:
    """The sentence has the shared value, the change of the groups, the time and the absence of the broker."""
    for expected, (found, verdicts, absence) in SENTENCES.items():
        assert sentence(dataclasses.replace(found, absence=absence), verdicts, NOON + 60_000) == expected


def test_the_next_step_depends_on_value_and_broker() -> None:
    """The next step for a broker that is away is to bring it back."""
    for dimension, absence, begin in (
        (Dimension.LEADER, LEFT, "Bring back broker 3"),
        (Dimension.LEADER, BACK, "Look at this broker"),
        (Dimension.COORDINATOR, BACK, "Look at this broker. If it is well again, restart the consumers"),
        (Dimension.TOPIC, None, "Look at what changed for the topic"),
    ):
        assert next_step(dataclasses.replace(finding(dimension, "3"), absence=absence)).startswith(begin)
