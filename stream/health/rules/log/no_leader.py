"""A partition that the group reads has no leader: it can be neither read nor written."""

from typing import Final

import numpy as np

from stream import wording as say
from stream.health.columns import Flags
from stream.health.features.window import Window
from stream.health.inputs import FailedReplica
from stream.health.rules.rule import Rule, no_rows
from stream.health.verdict import Verdict

_REASON: Final = "no_leader"
_UNCLEAN: Final = "An unclean leader election makes the partition available and loses its last records."
_BRING_BACK: Final = (
    f"Bring back a broker with an in-sync replica (kafka-topics.sh --describe --unavailable-partitions). {_UNCLEAN}"
)


def _matches(window: Window) -> Flags:
    reasons, matches = window.inputs.reasons, no_rows(window)
    rows = np.flatnonzero(~window.known)
    if reasons is None or not len(rows):
        return matches
    known_at = window.memory.end_known_at
    # A leader election takes seconds, the restart of a broker as long as that of any process.
    lasts = window.now - known_at > window.limits.restart_grace
    reads = window.has_members | (window.commit_time > known_at - window.limits.unlearned)
    matches[rows] = (reasons[rows] == _REASON) & (lasts & reads)[rows]
    return matches


def _sentence(window: Window, row: int) -> str:
    since = int(window.memory.end_known_at[row])
    committed = int(window.committed_offset[row])
    at = f"the group stands at offset {committed:,}" if committed >= 0 else "the group has not committed it yet"
    return f"The partition has had no leader for {say.duration(window.now - since)}; {at}.{_failed_text(window, row)}"


def _failed_text(window: Window, row: int) -> str:
    """Return which of its replicas are offline on brokers that are up, with leading spaces; "" if none is."""
    return "".join(
        f" Broker {each.broker} is up, but its replica is offline: {_directories(each)} has failed."
        for each in window.inputs.failed_replicas.get(row, ())
    )


def _directories(failed: FailedReplica) -> str:
    return f"log directory {' or '.join(failed.directories)}" if failed.directories else "a log directory"


def _next_step_of(window: Window, row: int) -> str:
    failed = window.inputs.failed_replicas.get(row, ())
    if not failed:
        return _BRING_BACK
    repair = " or ".join(f"{_directories(each)} of broker {each.broker}" for each in failed)
    return (
        f"Repair {repair}, then restart that broker: it takes a failed directory back only at a start. Another in-sync"
        f" replica helps, too (kafka-topics.sh --describe --unavailable-partitions). {_UNCLEAN}"
    )


RULE = Rule(
    verdict=Verdict.NO_LEADER,
    matches=_matches,
    sentence=_sentence,
    next_step=_BRING_BACK,
    next_step_of=_next_step_of,
    evidence=("committed_offset", "commit_time", "reason", "members"),
    confirm=1,
)
