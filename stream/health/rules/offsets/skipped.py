"""The group went forward past records without reading them, and not because of an offset reset."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict


def jumped_recently(window: Window) -> Flags:
    """Return the rows that went forward past records within `HealthLimits.event_shown` and have not gone back since."""
    memory = window.memory
    is_recent = (memory.skip_time >= 0) & (window.now - memory.skip_time <= window.limits.event_shown)
    recently: Flags = is_recent & (window.committed_offset >= memory.skip_to)
    return recently


def jump_text(window: Window, row: int) -> str:
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


def _matches(window: Window) -> Flags:
    matches: Flags = jumped_recently(window) & (window.memory.skip_planned == 0)
    return matches


def _sentence(window: Window, row: int) -> str:
    return f"The group went {jump_text(window, row)}, faster than it can read: it has skipped these records."


RULE = Rule(
    verdict=Verdict.SKIPPED,
    matches=_matches,
    sentence=_sentence,
    next_step="If the records are needed, stop the group and set it back to the first of them"
    " (kafka-consumer-groups.sh --reset-offsets); then see auto.offset.reset, which moves groups without an offset.",
    evidence=("jump_from", "jump_to", "jump_time", "committed_offset", "log_start_offset", "lag"),
    confirm=1,
    is_reported_beside=True,
)
