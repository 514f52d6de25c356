"""Recent rebalances: more than a history keeps, and across a restart."""

from __future__ import annotations

import json

import pytest

from stream.groups.lifecycle.model import GroupHistory
from stream.tick.inputs.rebalance_count import RebalanceCounter

WINDOW = 600
TICK = 10


def history(count: int) -> GroupHistory:
    """Return a history that counts this many rebalances and keeps none of them."""
    return GroupHistory("classic", "Stable", 0, 0, None, {"rebalanced": count} if count else {}, ())


# The case, the count of the history at each tick, and the recent rebalances at the last tick.
STORIES = [
    ("no rebalance since the first tick", [40, 40, 40], 0),
    ("rebalances at every tick", [40, 43, 46], 6),
    ("more than a history keeps", [0, 50, 100], 100),
    ("all before the window", [40, 43, *[43] * 70], 0),
    ("partly before the window", [40, *[43] * 55, *[45] * 20], 2),
    ("all within the window", [40, *[43] * 40, *[45] * 10], 5),
    ("a new group of the same name", [40, 45, 2], 0),
    ("a new group of the same name that rebalances", [40, 45, 2, 9], 7),
]


@pytest.mark.parametrize(("counts", "expected"), [s[1:] for s in STORIES], ids=[s[0] for s in STORIES])
def test_recent_rebalances_are_a_difference_of_counts(counts: list[int], expected: int) -> None:
    """The rebalances within the window before the last tick are counted."""
    rebalances = RebalanceCounter(WINDOW)
    recent = 0
    for tick, count in enumerate(counts):
        recent = rebalances.update({"g": history(count)}, tick * TICK).get("g", 0)
    assert recent == expected


def test_counting_continues_after_a_restart() -> None:
    """Rebalances before the restart and during the restart are counted."""
    first = RebalanceCounter(WINDOW)
    first.update({"g": history(40), "quiet": history(3)}, 0)
    first.update({"g": history(60), "quiet": history(3)}, 10)
    stored = json.loads(json.dumps(first.recorded))
    second = RebalanceCounter(
        WINDOW, {group: [(time, count) for time, count in counts] for group, counts in stored.items()}
    )
    assert dict(second.update({"g": history(75), "quiet": history(3)}, 100)) == {"g": 35, "quiet": 0}
    assert dict(second.update({"g": history(75), "quiet": history(3)}, 100 + 2 * WINDOW)) == {}
    assert second.recorded == {}


def test_a_removed_group_is_dropped() -> None:
    """A new group of the same name starts at zero."""
    rebalances = RebalanceCounter(WINDOW)
    rebalances.update({"g": history(1)}, 0)
    rebalances.update({"g": history(5)}, 10)
    assert dict(rebalances.update({}, 20)) == {}
    assert dict(rebalances.update({"g": history(9)}, 30)) == {"g": 0}


def test_a_clock_that_was_set_back_restarts_the_count() -> None:
    """No rebalance is counted twice."""
    rebalances = RebalanceCounter(WINDOW)
    rebalances.update({"g": history(1)}, 1000)
    assert dict(rebalances.update({"g": history(5)}, 500)) == {"g": 0}
    assert dict(rebalances.update({"g": history(6)}, 510)) == {"g": 1}
