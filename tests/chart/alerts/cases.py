"""The stories of all alerts."""

from typing import Final

from tests.chart.alerts import groups, monitor

CASES: Final = [*groups.CASES, *monitor.CASES]
