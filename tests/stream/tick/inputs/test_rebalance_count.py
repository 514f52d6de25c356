"""Rebalances of the recent past, counted beyond what lives remember, and over a restart."""

from __future__ import annotations

import json

import pytest

from stream.groups.lifecycle.model import GroupHistory
from stream.tick.inputs.rebalance_count import RebalanceCounter

STRETCH = 600
TICK = 10


def life(count: int) -> GroupHistory:
    """Give a life that was rebalanced so often, and remembers none of it."""
    return GroupHistory("classic", "Stable", 0, 0, None, {"rebalanced": count} if count else {}, ())


# The story, the count at each tick, and what is counted at the last.
STORIES = [
    ("none since it is watched", [40, 40, 40], 0),
    ("some at every tick", [40, 43, 46], 6),
    ("more than any life remembers", [0, 50, 100], 100),
    ("long ago", [40, 43, *[43] * 70], 0),
    ("partly long ago", [40, *[43] * 55, *[45] * 20], 2),
    ("all within the stretch", [40, *[43] * 40, *[45] * 10], 5),
    ("the name of another life", [40, 45, 2], 0),
    ("another life that storms, too", [40, 45, 2, 9], 7),
]


@pytest.mark.parametrize(("counts", "counted"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_counts_are_told_by_their_difference(counts: list[int], counted: int) -> None:
    """What came within the stretch before the last tick."""
    rebalances = RebalanceCounter(STRETCH)
    told = 0
    for tick, count in enumerate(counts):
        told = rebalances.count({"g": life(count)}, tick * TICK).get("g", 0)
    assert told == counted


def test_a_restart_goes_on_counting() -> None:
    """What came before the restart counts on, and what came while nobody watched as well."""
    first = RebalanceCounter(STRETCH)
    first.count({"g": life(40), "quiet": life(3)}, 0)
    first.count({"g": life(60), "quiet": life(3)}, 10)
    kept = json.loads(json.dumps(first.noted))
    second = RebalanceCounter(
        STRETCH, {group: [(time, count) for time, count in noted] for group, noted in kept.items()}
    )
    assert dict(second.count({"g": life(75), "quiet": life(3)}, 100)) == {"g": 35, "quiet": 0}
    assert dict(second.count({"g": life(75), "quiet": life(3)}, 100 + 2 * STRETCH)) == {}
    assert second.noted == {}


def test_a_group_that_is_gone_is_forgotten() -> None:
    """Its name may come again, and begins anew."""
    rebalances = RebalanceCounter(STRETCH)
    rebalances.count({"g": life(1)}, 0)
    rebalances.count({"g": life(5)}, 10)
    assert dict(rebalances.count({}, 20)) == {}
    assert dict(rebalances.count({"g": life(9)}, 30)) == {"g": 0}


def test_a_clock_that_was_set_back_begins_anew() -> None:
    """Nothing is counted twice, and nothing fails."""
    rebalances = RebalanceCounter(STRETCH)
    rebalances.count({"g": life(1)}, 1000)
    assert dict(rebalances.count({"g": life(5)}, 500)) == {"g": 0}
    assert dict(rebalances.count({"g": life(6)}, 510)) == {"g": 1}
