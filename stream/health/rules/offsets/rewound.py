"""The group's offset went back, and it reads records again: on its own (rewound), or by an offset reset (reset).

A reset is shown in both directions. Kafka resets the offsets of empty groups only. So an offset that went back while
the group was empty was reset by an operator; one that went back while it had members was not, and may be a faulty
consumer. Both end by themselves when the group has read up to its former offset. A reset forward is shown for a while.

A group that goes back again and again stays rewound while that goes on, also when it has just read everything again.
"""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.memory.columns import LONGEST_SWING
from stream.health.features.window import Window
from stream.health.rules.offsets.skipped import jump_text, jumped_recently
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

_LEAST_STEPS: Final = 3
"""One step back is a seek, two may be a seek and its correction."""
_MISSING_STEPS: Final = 3
"""Intervals without another step back after which the group no longer goes back."""


def goes_on(window: Window) -> Flags:
    """Return the rows whose offset has gone back at two ticks at least and has not stopped going back."""
    memory = window.memory
    since_last = window.known_until - memory.back_time
    lasting: Flags = (memory.back_interval >= 0) & (
        since_last <= _MISSING_STEPS * memory.back_interval + 2 * window.limits.tick
    )
    return lasting


def _back(window: Window) -> Flags:
    spans = window.inputs.spans
    is_below = (spans.rewind_time >= 0) & (window.committed_offset < spans.rewind_from)
    return is_below & window.behind


def _planned(window: Window) -> Flags:
    groups = window.inputs.groups
    emptied, refilled = groups.emptied[window.inputs.group], groups.refilled[window.inputs.group]
    until = np.where(refilled >= emptied, refilled, window.now)
    time = window.inputs.spans.rewind_time
    planned: Flags = (emptied >= 0) & (time >= emptied) & (time <= until)
    return planned


def _repeatedly(window: Window) -> Flags:
    """Return the rows that go back again and again, and are seen while they read the records in between again."""
    memory = window.memory
    climbs = (memory.climbed >= 0) & (window.now - memory.climbed <= LONGEST_SWING)
    return climbs & (memory.steps_back >= _LEAST_STEPS) & goes_on(window)


def _is_repeated(window: Window, row: int) -> bool:
    """Return whether a rewound row has gone back several times since it was last steady."""
    memory = window.memory
    return bool(memory.steps_back[row] >= _LEAST_STEPS and window.now - memory.back_time[row] <= LONGEST_SWING)


def _matches_rewound(window: Window) -> Flags:
    return (_back(window) | _repeatedly(window)) & ~_planned(window)


def _matches_reset(window: Window) -> Flags:
    return (_back(window) & _planned(window)) | _moved_forward(window)


def _moved_forward(window: Window) -> Flags:
    return jumped_recently(window) & (window.memory.skip_planned > 0)


def _step(window: Window, row: int) -> str:
    spans = window.inputs.spans
    start, to = int(spans.rewind_from[row]), int(spans.rewind_to[row])
    return f"from {start:,} to {to:,} ({say.count(start - to, 'offset')}) at {say.moment(int(spans.rewind_time[row]))}"


def _sentence_rewound(window: Window, row: int) -> str:
    if _is_repeated(window, row):
        memory = window.memory
        lasting = say.duration(window.now - int(memory.steps_since[row]))
        often = f"{int(memory.steps_back[row])} times in {lasting}"
        return f"The group goes back again and again: {often}, last {_step(window, row)}."
    times = int(window.inputs.spans.rewinds[row])
    again = f", the last of {times} times" if times > 1 else ""
    return f"The group went back {_step(window, row)}{again}: {unread_text(window, row)}."


def _sentence_reset(window: Window, row: int) -> str:
    jump_time, rewind_time = int(window.memory.skip_time[row]), int(window.inputs.spans.rewind_time[row])
    if window.memory.skip_planned[row] > 0 and jump_time > rewind_time:
        return f"The offset was reset {jump_text(window, row)} while the group was empty: these records are not read."
    return f"The offset was reset {_step(window, row)} while the group was empty: {unread_text(window, row)}."


_EVIDENCE = ("rewind_from", "rewind_to", "rewind_time", "rewinds", "committed_offset", "lag", "catch_up")
_NEXT_STEP = "Find what moved it back: a seek, auto.offset.reset after lost offsets, or two consumers at once."


def _next_step_rewound(window: Window, row: int) -> str:
    if _is_repeated(window, row):
        return (
            "Look for an exception in the consumer's log: after each one the client seeks back and reads the same"
            " records again. Handle the failing record, or commit more often."
        )
    return _NEXT_STEP


REWOUND = Rule(
    verdict=Verdict.REWOUND,
    matches=_matches_rewound,
    sentence=_sentence_rewound,
    next_step=_NEXT_STEP,
    next_step_of=_next_step_rewound,
    evidence=(*_EVIDENCE, "steps_back"),
    is_reported_beside=True,
)
RESET = Rule(
    verdict=Verdict.RESET,
    matches=_matches_reset,
    sentence=_sentence_reset,
    next_step="Nothing, if it was intended: this ends when the group has read up to its former offset.",
    evidence=(*_EVIDENCE, "jump_from", "jump_to", "jump_time"),
)
