"""The broker removed a committed offset of the group before its time, while the group was alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream import wording as say
from stream.health.inputs import NO_COMMIT
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict

if TYPE_CHECKING:
    from stream.health.columns import Flags
    from stream.health.features.window import Window


def _matches(window: Window) -> Flags:
    removed = window.remembered.forgotten
    is_recent = window.now - removed <= window.limits.event_shown
    matches: Flags = (removed >= 0) & (is_recent | (window.committed_offset == NO_COMMIT))
    return matches


def _sentence(window: Window, row: int) -> str:
    removed = say.moment(int(window.remembered.forgotten[row]))
    last = int(window.remembered.jumps.committed[row])
    at = f" {last:,}" if last >= 0 else ""
    committed = int(window.committed_offset[row])
    if committed == NO_COMMIT:
        rest = "and the group has committed none since: after a restart it begins by auto.offset.reset"
    else:
        rest = f"and the group has committed {committed:,} since"
    return f"The committed offset{at} was removed at {removed} before its time, while the group was alive, {rest}."


RULE = Rule(
    verdict=Verdict.FORGOTTEN,
    matches=_matches,
    sentence=_sentence,
    next_step="Do not restart the group before it has committed again, or set its offset first"
    " (kafka-consumer-groups.sh --reset-offsets --to-offset). Then find out why: the broker's log of that time,"
    " offsets.retention.minutes, a tool that deletes offsets or groups.",
    evidence=("forgotten_time", "committed_offset", "commit_time", "members", "lag"),
    confirm=1,
    is_reported_beside=True,
)
