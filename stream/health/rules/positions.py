"""Rules about an offset that moved back, forward past records, to and fro, or that is one too low.

The group's offset went back, and it reads records again: on its own (rewound), or by an offset reset (reset).

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
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def _jumped_recently(window: Window) -> Flags:
    """Return the rows that went forward past records within `HealthLimits.event_shown` and have not gone back since."""
    memory = window.memory
    jumped: Flags = memory.skip_time >= 0
    if jumped.any():
        jumped &= window.now - memory.skip_time <= window.limits.event_shown
        jumped &= window.committed_offset >= memory.skip_to
    return jumped


def _jump_text(window: Window, row: int) -> str:
    """Return a jump as in "from 5 to 9 (4 offsets, written from ... to ...) at ..."."""
    memory = window.memory
    first, last = int(memory.skip_from[row]), int(memory.skip_to[row])
    since, until = int(memory.skip_written_from[row]), int(memory.skip_written_to[row])
    written = ""
    if until >= 0:
        written = f", written until {say.moment(until)}"
        if since >= 0:
            written = f", written from {say.moment(since)} to {say.moment(until)}"
    passed = f"{say.count(last - first, 'offset')}{written}"
    return f"from {first:,} to {last:,} ({passed}) at {say.moment(int(memory.skip_time[row]))}"


SKIPPED: Rule[Window] = Rule(
    verdict=Verdict.SKIPPED,
    text="The group went forward past records without reading them, and not because of an offset reset.",
    matches=lambda window: _jumped_recently(window) & (window.memory.skip_planned == 0),
    sentence=lambda window, row: (
        f"The group went {_jump_text(window, row)}, faster than it can read: it has skipped these records."
    ),
    next_step="If the records are needed, stop the group and set it back to the first of them"
    " (kafka-consumer-groups.sh --reset-offsets); then see auto.offset.reset, which moves groups without an offset.",
    evidence=("jump_from", "jump_to", "jump_time", "committed_offset", "log_start_offset", "lag"),
    confirm=1,
    is_reported_beside=True,
)


_LEAST_STEPS: Final = 3
"""One step back is a seek, two may be a seek and its correction."""
_MISSING_STEPS: Final = 3
"""Intervals without another step back after which the group no longer goes back."""


def _goes_on(window: Window) -> Flags:
    """Return the rows whose offset has gone back at two ticks at least and has not stopped going back."""
    memory = window.memory
    since_last = window.known_until - memory.back_time
    return (memory.back_interval >= 0) & (since_last <= _MISSING_STEPS * memory.back_interval + 2 * window.limits.tick)


def _back(window: Window) -> Flags:
    spans = window.inputs.spans
    went_back: Flags = spans.rewind_time >= 0
    if went_back.any():
        went_back &= (window.committed_offset < spans.rewind_from) & window.behind
    return went_back


def _planned(window: Window) -> Flags:
    groups = window.inputs.groups
    emptied, refilled = groups.emptied[window.inputs.group], groups.refilled[window.inputs.group]
    until = np.where(refilled >= emptied, refilled, window.now)
    time = window.inputs.spans.rewind_time
    return (emptied >= 0) & (time >= emptied) & (time <= until)


def _repeatedly(window: Window) -> Flags:
    """Return the rows that go back again and again, and are seen while they read the records in between again."""
    memory = window.memory
    climbs: Flags = memory.climbed >= 0
    if climbs.any():
        climbs &= (window.now - memory.climbed <= LONGEST_SWING) & (memory.steps_back >= _LEAST_STEPS)
        climbs &= _goes_on(window)
    return climbs


def _rewound(window: Window) -> Flags:
    """The group's offset went back on its own, and the group reads records again."""
    went_back = _back(window) | _repeatedly(window)
    return went_back & ~_planned(window) if went_back.any() else went_back


def _reset(window: Window) -> Flags:
    """An offset reset moved the group's offset, back or forward."""
    went_back, jumped = _back(window), _jumped_recently(window)
    went_back &= _planned(window) if went_back.any() else False
    jumped &= window.memory.skip_planned > 0
    return went_back | jumped


def _is_repeated(window: Window, row: int) -> bool:
    """Return whether a rewound row has gone back several times since it was last steady."""
    memory = window.memory
    return bool(memory.steps_back[row] >= _LEAST_STEPS and window.now - memory.back_time[row] <= LONGEST_SWING)


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
        return f"The offset was reset {_jump_text(window, row)} while the group was empty: these records are not read."
    return f"The offset was reset {_step(window, row)} while the group was empty: {unread_text(window, row)}."


_EVIDENCE = ("rewind_from", "rewind_to", "rewind_time", "rewinds", "committed_offset", "lag", "catch_up")
_NEXT_STEP = "Find what moved it back: a seek, auto.offset.reset after lost offsets, or two consumers at once."


_NEXT_STEP_IF_REPEATED = (
    "Look for an exception in the consumer's log: after each one the client seeks back and reads the same records"
    " again. Handle the failing record, or commit more often."
)


REWOUND = Rule(
    verdict=Verdict.REWOUND,
    matches=_rewound,
    sentence=_sentence_rewound,
    next_step=_NEXT_STEP,
    next_step_of=lambda window, row: _NEXT_STEP_IF_REPEATED if _is_repeated(window, row) else _NEXT_STEP,
    evidence=(*_EVIDENCE, "steps_back"),
    is_reported_beside=True,
)
RESET = Rule(
    verdict=Verdict.RESET,
    matches=_reset,
    sentence=_sentence_reset,
    next_step="Nothing, if it was intended: this ends when the group has read up to its former offset.",
    evidence=(*_EVIDENCE, "jump_from", "jump_to", "jump_time"),
)


def _two_committers(window: Window) -> Flags:
    """The group's offset alternates between two positions: two clients commit the partition, each its own position."""
    swings: Flags = window.memory.swings >= _LEAST_STEPS
    return swings & _goes_on(window) if swings.any() else swings


def _two_committers_sentence(window: Window, row: int) -> str:
    memory = window.memory
    low, high = int(memory.back_to[row]), int(memory.back_from[row])
    period = say.duration(window.now - int(memory.swings_since[row]))
    apart = say.count(high - low, "offset")
    return (
        f"The offset has alternated between two positions for {period}: one client commits about {high:,}, another one"
        f" about {low:,} ({apart} apart), and both advance."
    )


TWO_COMMITTERS = Rule(
    verdict=Verdict.TWO_COMMITTERS,
    matches=_two_committers,
    sentence=_two_committers_sentence,
    next_step="Find the second client that commits for this group.id, and give it a group.id of its own. It need not be"
    " a member: a consumer that assigns partitions to itself is not. Records are processed twice, and a restart"
    " continues from either offset.",
    evidence=("turns", "turn_from", "turn_to", "turn_time", "committed_offset", "rewinds", "members", "lag"),
    confirm=1,
    is_reported_beside=True,
)


def _commits_last_read_sentence(window: Window, row: int) -> str:
    offset = int(window.committed_offset[row])
    state = "reads along" if window.unread[row] else "has read everything"
    return f"Commits the offset of the last record it has read ({offset:,}), not of the next one: it {state}."


COMMITS_LAST_READ = Rule(
    verdict=Verdict.COMMITS_LAST_READ,
    text="The group commits the offset of the last record it has read, not of the next one, and keeps up.",
    matches=lambda window: window.known & window.memory.last_read & (window.lag > 0),
    sentence=_commits_last_read_sentence,
    verb="",
    next_step="Commit the offset of the next record (last + 1): now each restart reads the last record again.",
    evidence=("committed_offset", "high_watermark", "lag", "commit_time", "progress_time"),
)
