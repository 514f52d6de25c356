"""The timeline of tests that tick: start, interval, and a partition that gets records at a constant rate.

Seconds count from `START`.
"""

from stream.health.limits import HealthLimits
from tests.stream.groups import written
from tests.support.commits import SLOT_MS
from tests.support.group_histories import Written

START = 1_700_000_000
"""The start in Unix seconds."""
START_MS = START * 1000
TICK = 10
"""Seconds between two ticks."""
RATE = 100
"""Records per second."""
LIMITS = HealthLimits(slot=SLOT_MS)


def end(second: float) -> int:
    return 100_000 + int(RATE * second)


def generation(number: int, *members: str, subscribes: str = "t", owns: str = "t") -> Written:
    """Return the record of a generation of a classic group; without members it is empty.

    All members subscribe to one topic; the first one owns partition 0 of a topic.
    """
    assigned: list[written.Parts] = [{owns: (0,)}, *({} for _ in members[1:])]
    joined = [
        written.classic_member(name, wants=written.subscription(subscribes), has=written.assignment(parts))
        for name, parts in zip(members, assigned, strict=False)
    ]
    return written.classic(*joined, generation=number, time=-1)
