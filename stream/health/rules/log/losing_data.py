"""Retention removes records that an active group has not read, has removed them, or is about to."""

from typing import Final

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import Rule, unread_text
from stream.health.verdict import Verdict

_LEAST_STARTS: Final = 3
"""Rebalances of a group that does not get past the log start; a deployment after the loss makes one or two."""
_RAISE_RETENTION = "Raise the topic's retention (retention.ms, retention.bytes) now, then make the group faster."
_RESET = (
    "The records are gone. Restart the group if auto.offset.reset lets it go on; otherwise stop it and set it to the"
    " log start (kafka-consumer-groups.sh --reset-offsets --to-earliest). Then raise the topic's retention."
)


def lost_rows(window: Window) -> Flags:
    """Return the rows of which retention has removed records above the commit, as far as the offsets show."""
    lost = window.ends.lost > window.memory.last_read
    rows: Flags = lost & window.known & (window.committed_offset != NO_COMMIT)
    return rows


def _matches(window: Window) -> Flags:
    lost = lost_rows(window) & window.unread
    is_active = window.has_members | (window.silence <= window.patience)
    keeps_starting = lost & (window.inputs.groups.rebalances[window.inputs.group] >= _LEAST_STARTS)
    matches: Flags = ((lost | window.losing) & is_active & window.known) | keeps_starting
    return matches


def _sentence(window: Window, row: int) -> str:
    lost = int(window.ends.lost[row])
    if lost <= 0:
        soon = say.duration(int(window.loss_in[row]))
        margin = say.count(int(window.ends.margin[row]), "offset")
        return f"Retention will overtake the group in about {soon}: {margin} of margin, {unread_text(window, row)}."
    gone = f"Retention has removed {say.count(lost, 'offset')} before the group read them"
    starts = int(window.inputs.groups.rebalances[window.inputs.group[row]])
    if starts >= _LEAST_STARTS:
        period = say.duration(window.limits.storm_window)
        return f"{gone}, and it does not get past that: {starts} rebalances within {period}, and no progress."
    return f"{gone}: the log now starts at {int(window.ends.log_start[row]):,}."


def _next_step_of(window: Window, row: int) -> str:
    return _RESET if window.ends.lost[row] > 0 else _RAISE_RETENTION


RULE = Rule(
    verdict=Verdict.LOSING_DATA,
    matches=_matches,
    sentence=_sentence,
    next_step=f"Before a loss: {_RAISE_RETENTION} After it: {_RESET}",
    next_step_of=_next_step_of,
    evidence=("lost", "margin", "loss_in", "log_start_offset", "committed_offset", "lag", "rebalances", "consume_rate"),
    confirm=1,
    is_reported_beside=True,
)
