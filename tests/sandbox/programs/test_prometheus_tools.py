"""Prometheus of the demo: its answers and its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.programs.prometheus import Prometheus
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chart
def test_prometheus_runs_with_the_rules_of_the_chart(tmp_path: Path) -> None:
    """A real Prometheus starts, has the rules, answers queries, and ends with its context."""
    try:
        find_tool("prometheus", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))
    with Prometheus("http://127.0.0.1:1", tmp_path, interval=1, short_rules=True) as prometheus:
        assert "LagwardenMonitorDown" in {rule["name"] for rule in prometheus.rules()}
        assert prometheus.query("vector(3)") == [({}, 3.0)]
    with pytest.raises(OSError, match="refused"):
        prometheus.query("1")
