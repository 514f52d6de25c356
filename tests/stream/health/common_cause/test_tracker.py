"""Which findings are shown, evaluation after evaluation."""

from __future__ import annotations

import dataclasses
from typing import Final

import pytest

from stream.health.common_cause.search import CommonCause
from stream.health.common_cause.shared import Dimension
from stream.health.common_cause.tracker import CommonCauseTracker

NAMES: Final = tuple("abcdefghij")


def cause(groups: str, dimension: Dimension = Dimension.COORDINATOR, name: str = "3", began: int = 0) -> CommonCause:
    """Return a cause that explains groups with these names."""
    found = tuple(map(NAMES.index, groups))
    return CommonCause(dimension, name, found, len(found) + 1, began, 5_000, has_event=False)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What one evaluation finds and which groups are unhealthy, and the shown findings after it, as words."""

    causes: tuple[CommonCause, ...]
    unhealthy: str
    shown: tuple[str, ...]


PARTITION: Final = (Dimension.OFFSETS_PARTITION, "7")
TOPIC: Final = (Dimension.TOPIC, "orders")
STORIES: Final = {
    "a cause is shown at its second evaluation": [
        Evaluation((cause("abc"),), "abc", ()),
        Evaluation((cause("abc"),), "abc", ("coordinator 3: abc",)),
    ],
    "a cause that comes and goes is not shown": [
        Evaluation((cause("abc"),), "abc", ()),
        Evaluation((), "abc", ()),
        Evaluation((cause("abc"),), "abc", ()),
    ],
    "a cause without new evidence stays while its groups are unhealthy": [
        Evaluation((cause("abcd"),), "abcd", ()),
        Evaluation((cause("abcd"),), "abcd", ("coordinator 3: abcd",)),
        Evaluation((), "abcd", ("coordinator 3: abcd",)),
        Evaluation((), "abc", ("coordinator 3: abc",)),
    ],
    "a cause ends at the second evaluation with most groups healthy": [
        Evaluation((cause("abcd"),), "abcd", ()),
        Evaluation((cause("abcd"),), "abcd", ("coordinator 3: abcd",)),
        Evaluation((), "ab", ("coordinator 3: ab",)),
        Evaluation((), "ab", ()),
    ],
    "later groups are added to the cause": [
        Evaluation((cause("abc"),), "abc", ()),
        Evaluation((cause("abcd"),), "abcd", ("coordinator 3: abcd",)),
        Evaluation((cause("abcde"),), "abcde", ("coordinator 3: abcde",)),
    ],
    "a wider cause replaces a narrower one": [
        Evaluation((cause("abc", *PARTITION),), "abc", ()),
        Evaluation((cause("abc", *PARTITION),), "abc", ("offsets_partition 7: abc",)),
        Evaluation((cause("abcdef"),), "abcdef", ("offsets_partition 7: abc",)),
        Evaluation((cause("abcdef"),), "abcdef", ("coordinator 3: abcdef",)),
    ],
    "another cause of the same groups does not replace the first": [
        Evaluation((cause("abcd"),), "abcd", ()),
        Evaluation((cause("abcd"),), "abcd", ("coordinator 3: abcd",)),
        Evaluation((cause("abcd", *TOPIC),), "abcd", ("coordinator 3: abcd",)),
        Evaluation((cause("abcd", *TOPIC),), "abcd", ("coordinator 3: abcd",)),
    ],
    "two causes with their own groups": [
        Evaluation((cause("abcd"), cause("efg", *TOPIC)), "abcdefg", ()),
        Evaluation((cause("abcd"), cause("efg", *TOPIC)), "abcdefg", ("coordinator 3: abcd", "topic orders: efg")),
    ],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_the_shown_findings_of_a_story(story: list[Evaluation]) -> None:
    """Each evaluation of the story is followed by the expected findings."""
    tracker = CommonCauseTracker()
    for evaluation in story:
        tracker.update(evaluation.causes, NAMES, set(evaluation.unhealthy))
        shown = tuple(f"{each.dimension} {each.name}: {''.join(sorted(each.groups))}" for each in tracker.findings)
        assert shown == evaluation.shown


def test_a_finding_remembers_how_many_groups_it_had() -> None:
    """The number of affected groups stays the same while the groups recover one after the other."""
    tracker = CommonCauseTracker()
    for unhealthy in ("abcde", "abcde", "abc"):
        tracker.update((cause("abcde"),) if len(unhealthy) == 5 else (), NAMES, set(unhealthy))
    (finding,) = tracker.findings
    assert (len(finding.groups), finding.affected, finding.compared) == (3, 5, 6)
