"""The parts of a snapshot that are derived from its tables."""

from __future__ import annotations

from exporters.readmodel import VERDICT_GROUPS, empty
from exporters.readmodel.snapshot import Snapshot
from tests.exporters.snapshots import snapshot, table


def test_fine_verdicts_are_those_of_severity_fine() -> None:
    """The names are in the order of the table; verdicts of other severities are left out."""
    rows = [
        {"verdict": "ok", "severity": "fine", "groups": 3},
        {"verdict": "stopped", "severity": "critical", "groups": 0},
        {"verdict": "idle", "severity": "fine", "groups": 0},
    ]
    taken = snapshot()
    evaluated = Snapshot(
        taken.taken_at, taken.partitions, taken.groups, taken.unknown_lags, verdict_groups=table(VERDICT_GROUPS, rows)
    )
    assert evaluated.fine_verdicts == ("ok", "idle")


def test_there_are_no_fine_verdicts_before_the_first_evaluation() -> None:
    """The table of verdicts is empty before the first evaluation, and has its columns."""
    taken = snapshot()
    new = Snapshot(taken.taken_at, taken.partitions, taken.groups, taken.unknown_lags)
    assert new.verdict_groups.equals(empty(VERDICT_GROUPS))
    assert new.fine_verdicts == ()
