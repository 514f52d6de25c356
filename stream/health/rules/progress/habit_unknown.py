"""Records wait, and the group looks like a batch that has not been observed for long enough to know its pauses.

For up to two hours after the first tick with the group, or after its first commit, it is not reported as `stopped`,
`stalled`, `no_members` or `never_committed`. A group looks like a batch if its last run read a backlog of at least ten
minutes, faster than records are written, within 30 minutes, and has not been steady before.
"""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT
from stream.health.rules.membership.no_members import leaves_records
from stream.health.rules.rule import OWNER, Rule, unread_text
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    matches: Flags = window.habit_unknown
    if matches.any():
        matches = matches & (window.stuck | leaves_records(window))
    return matches


def _sentence(window: Window, row: int) -> str:
    observed = say.duration(window.now - int(window.memory.first_seen[row]))
    until = say.moment(int(window.memory.schedule_unknown_until[row]))
    stood = int(window.progress_time[row])
    idle = f"no progress since {say.moment(stood)}" if window.committed_offset[row] != NO_COMMIT else "no commit yet"
    return (
        f"Habit not yet known: looks like a batch, observed for {observed}; {idle}, {unread_text(window, row)}."
        f" Not judged until {until}, unless two similar pauses have been seen before."
    )


RULE = Rule(
    verdict=Verdict.HABIT_UNKNOWN,
    matches=_matches,
    sentence=_sentence,
    next_step="Nothing, if the group is a batch that pauses now. If it should be reading, treat it as stopped.",
    evidence=("habit_since", "habit_until", "progress_time", "lag", "time_lag", "members", *OWNER),
)
