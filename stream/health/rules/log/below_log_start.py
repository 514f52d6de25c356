"""The group stands below the log start and has nothing to read: retention has removed what it did not commit."""

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.rules.log.losing_data import lost_rows
from stream.health.rules.rule import Rule
from stream.health.verdict import Verdict


def _matches(window: Window) -> Flags:
    return lost_rows(window) & ~window.unread & window.has_members


def _sentence(window: Window, row: int) -> str:
    lost = say.count(int(window.ends.lost[row]), "offset")
    start = int(window.ends.log_start[row])
    return f"The log is empty up to its end ({start:,}), {lost} above the commit: whether they were read is not known."


RULE = Rule(
    verdict=Verdict.BELOW_LOG_START,
    matches=_matches,
    sentence=_sentence,
    next_step="Nothing now. Let the consumer commit its position also where it finds nothing to process: after a"
    " restart it would start by auto.offset.reset.",
    evidence=("lost", "log_start_offset", "committed_offset", "commit_time", "members"),
)
