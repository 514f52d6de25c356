"""Which rows have a fault that a common cause may explain, and when it began."""

from __future__ import annotations

import pytest

from stream.health.common_cause.faults import row_faults
from tests.stream.health.panes import MINUTE, NOW, SECOND, Row, judged, pane

SHOWN_SINCE = NOW - 10 * SECOND


@pytest.mark.parametrize(
    ("verdict", "row", "ago"),
    [
        pytest.param("stopped", Row(idle=50 * SECOND), 50 * SECOND, id="stopped: since the row is idle"),
        pytest.param("no_leader", Row(known_ago=40 * SECOND), 40 * SECOND, id="no leader: since the last known end"),
        pytest.param("no_members", Row(emptied_ago=MINUTE), MINUTE, id="no members: since the last member left"),
        pytest.param("no_members", Row(), 10 * SECOND, id="no members at an unknown time: since the verdict"),
        pytest.param("falling_behind", Row(idle=50 * SECOND), 10 * SECOND, id="other fault: since the verdict"),
        pytest.param("stalled", Row(idle=0), 10 * SECOND, id="stalled, but with new progress: since the verdict"),
    ],
)
def test_a_fault_begins_with_its_cause_or_with_its_verdict(verdict: str, row: Row, ago: int) -> None:
    """A fault begins with its cause if that time is known. Verdicts come later, by the patience of each group."""
    faults = row_faults(judged(pane(row), [verdict], SHOWN_SINCE))
    assert (faults.since.tolist(), faults.worked.tolist()) == ([NOW - ago], [-1])


@pytest.mark.parametrize(
    ("verdict", "worked"),
    [("ok", NOW - 2 * SECOND), ("caught_up", NOW - 2 * SECOND), ("skewed", NOW - 2 * SECOND), ("unknown", -1)],
)
def test_other_rows_have_no_fault(verdict: str, worked: int) -> None:
    """Warnings that concern one group alone do not count; an unknown row is not known to work."""
    faults = row_faults(judged(pane(Row()), [verdict], SHOWN_SINCE))
    assert (faults.since.tolist(), faults.worked.tolist()) == ([-1], [worked])
