"""The group's offset alternates between two positions: two clients commit the same partition, each its own position."""

from typing import Final

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.offsets.rewound import goes_on
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict

_LEAST_TURNS: Final = 3
"""One step back is a seek, two may be a seek and its correction."""


def _matches(window: Window) -> Flags:
    matches: Flags = (window.memory.swings >= _LEAST_TURNS) & goes_on(window)
    return matches


def _sentence(window: Window, row: int) -> str:
    memory = window.memory
    low, high = int(memory.back_to[row]), int(memory.back_from[row])
    period = say.duration(window.now - int(memory.swings_since[row]))
    apart = say.count(high - low, "offset")
    return (
        f"The offset has alternated between two positions for {period}: one client commits about {high:,}, another one"
        f" about {low:,} ({apart} apart), and both advance."
    )


RULE = Rule(
    verdict=Verdict.TWO_COMMITTERS,
    matches=_matches,
    sentence=_sentence,
    next_step="Find the second client that commits for this group.id, and give it a group.id of its own. It need not be"
    " a member: a consumer that assigns partitions to itself is not. Records are processed twice, and a restart"
    " continues from either offset.",
    evidence=("turns", "turn_from", "turn_to", "turn_time", "committed_offset", "rewinds", "members", "lag"),
    confirm=1,
    is_reported_beside=True,
)
