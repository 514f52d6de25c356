"""The group has lost a committed offset: the broker removed it before its time, or it was deleted, and records wait.

The first is reported at once if the group was alive. Kafka's tool deletes offsets of topics without a subscriber, so
the group may have been stopped for that: then it is reported where records wait for as long as a first commit may take.
"""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict


def was_removed(window: Window) -> Flags:
    """Return the rows of which a committed offset is known that was removed."""
    memory = window.memory
    removed = (memory.removed >= 0) | (memory.removed_early >= 0) | (memory.last_committed >= 0)
    was: Flags = (window.committed_offset == NO_COMMIT) & removed
    return was


def _matches(window: Window) -> Flags:
    removed = window.memory.removed_early
    is_recent = window.now - removed <= window.limits.event_shown
    lives = (removed >= 0) & (is_recent | (window.committed_offset == NO_COMMIT))
    matches: Flags = lives | (window.stuck & was_removed(window) & ~window.habit_unknown)
    return matches


def _sentence(window: Window, row: int) -> str:
    forgotten = int(window.memory.removed_early[row])
    last = int(window.memory.last_committed[row])
    at = f" {last:,}" if last >= 0 else ""
    committed = int(window.committed_offset[row])
    if forgotten < 0:
        return f"The committed offset{at} {_removal(window, row)}. {_waits(window, row)}"
    removed = say.moment(forgotten)
    if committed == NO_COMMIT:
        rest = "and the group has committed none since: after a restart it begins by auto.offset.reset"
    else:
        rest = f"and the group has committed {committed:,} since"
    return f"The committed offset{at} was removed at {removed} before its time, while the group was alive, {rest}."


def _removal(window: Window, row: int) -> str:
    memory = window.memory
    time, expired = int(memory.removed[row]), int(memory.removed_by_expiry[row])
    if time < 0:
        return "was removed, at a time that is not known"
    how = {0: "was deleted by a request", 1: "expired"}.get(expired, "was removed")
    return f"{how} at {say.moment(time)}"


def _waits(window: Window, row: int) -> str:
    since = say.duration(int(window.idle_time[row]))
    return f"Records have come for {since}, and the group has committed none of them since: {unread_text(window, row)}."


RULE = Rule(
    verdict=Verdict.FORGOTTEN,
    matches=_matches,
    sentence=_sentence,
    next_step="Do not restart the group before it has committed again, or set its offset first"
    " (kafka-consumer-groups.sh --reset-offsets --to-offset). Then find out why: the broker's log of that time,"
    " offsets.retention.minutes, a tool that deletes offsets or groups.",
    evidence=(
        "forgotten_time",
        "removed_time",
        "last_committed_offset",
        "committed_offset",
        "commit_time",
        "members",
        "lag",
    ),
    confirm=1,
    is_reported_beside=True,
)
