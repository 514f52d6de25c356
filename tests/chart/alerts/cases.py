"""The stories of all alerts."""

from __future__ import annotations

from typing import Final

from tests.chart.alerts import clusters as alert_cases_clusters
from tests.chart.alerts import groups as alert_cases_groups
from tests.chart.alerts import monitor as alert_cases_monitor

CASES: Final = [*alert_cases_groups.CASES, *alert_cases_monitor.CASES, *alert_cases_clusters.CASES]
