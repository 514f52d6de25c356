"""The parts of a snapshot that are derived from its tables."""

import dataclasses

from exporters.http.openapi.small_world import rows_table
from exporters.readmodel import VERDICT_GROUPS
from exporters.readmodel.monitor_status import Snapshot
from tests.exporters.snapshots import snapshot


def test_fine_verdicts_are_those_of_severity_fine() -> None:
    """The names are in the order of the table; verdicts of other severities are left out.

    Before the first evaluation the table is empty and has its columns.
    """
    taken = snapshot()
    new = Snapshot(taken.taken_at, taken.partitions, taken.groups, taken.unknown_lags)
    assert new.verdict_groups.equals(VERDICT_GROUPS.empty_table())
    assert new.fine_verdicts == ()
    severities = (("ok", "fine", 3), ("stopped", "critical", 0), ("idle", "fine", 0))
    evaluated = dataclasses.replace(
        new, verdict_groups=rows_table(VERDICT_GROUPS, "verdict severity groups", *severities)
    )
    assert evaluated.fine_verdicts == ("ok", "idle")
