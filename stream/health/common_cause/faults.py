"""The faults of rows that a common cause may explain: which rows have one, and when it began."""

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np

from stream.health.columns import Ints
from stream.health.evaluator import EvaluationResult
from stream.health.features.window import Window
from stream.health.verdict import SEVERITIES, VERDICTS, Severity, Verdict

_IS_FAULT: Final = (SEVERITIES == Severity.CRITICAL) | (np.array(VERDICTS) == Verdict.FALLING_BEHIND)
"""By code: the critical verdicts, and one that is not."""


_BY_IDLE_TIME: Final = (
    *(Verdict.STOPPED, Verdict.STALLED, Verdict.POISON_RECORD),
    *(Verdict.HELD_BACK, Verdict.UNASSIGNED, Verdict.NEVER_COMMITTED),
)
_BEGINNINGS: Final[dict[str, Callable[[Window], Ints]]] = {
    **dict.fromkeys(_BY_IDLE_TIME, lambda window: window.known_until - window.idle_time),
    Verdict.NO_MEMBERS: lambda window: window.inputs.groups.emptied[window.inputs.group],
    Verdict.REBALANCING_TOO_LONG: lambda window: window.inputs.groups.since[window.inputs.group],
    Verdict.NO_LEADER: lambda window: window.memory.end_known_at,
}
"""The beginning of each fault, where it is known. The verdict appears later, after the patience of the group."""


@dataclasses.dataclass(frozen=True, slots=True)
class RowFaults:
    """The faults of the rows of one tick; times in ms."""

    since: Ints
    """When the fault began; -1: none."""
    worked: Ints
    """When the group last committed the partition; -1: never, or the row has a fault or an unknown verdict."""


def row_faults(evaluation: EvaluationResult) -> RowFaults:
    """Return the critical faults of the rows, and `falling_behind`; dead groups have no rows."""
    window, unhealthy = evaluation.window, _IS_FAULT[evaluation.verdict]
    since = evaluation.since.copy()
    for code in np.unique(evaluation.verdict[unhealthy]).tolist():
        beginning = _BEGINNINGS.get(VERDICTS[code])
        if beginning is not None:
            rows = np.flatnonzero(evaluation.verdict == code)
            began = beginning(window)[rows]
            since[rows] = np.where(began >= 0, np.minimum(began, since[rows]), since[rows])
    unknown = SEVERITIES[evaluation.verdict] == Severity.UNKNOWN
    return RowFaults(np.where(unhealthy, since, -1), np.where(unhealthy | unknown, -1, window.commit_time))
