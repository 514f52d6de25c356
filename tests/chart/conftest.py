"""Fetches the tools and schemas of the chart's tests once, and skips the tests where they cannot be fetched."""

import shutil
from pathlib import Path

import pytest

from deploy.chart.tools import ToolsUnreachableError, python_tools
from deploy.chart.values_schema import CHART
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool


@pytest.fixture(scope="session")
def helm() -> None:
    """Require Helm's engine and Kubernetes' schemas."""
    try:
        python_tools()
    except ToolsUnreachableError as error:
        pytest.skip(f"{error}")


@pytest.fixture(scope="session")
def promtool() -> str:
    """Return the path of promtool; skip if it cannot be installed."""
    try:
        return find_tool("promtool", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))


RULES = """\
groups:
  - name: a
    interval: 30s
    rules:
      - record: level:metric:ops
        expr: sum(up)
      - alert: FirstAlert
        expr: up == 0
        for: 5m
        labels: {severity: critical, about: group}
        annotations:
          summary: '{{ $labels.group }} is at {{ $value | humanize }} of "all"'
  - name: b
    rules:
      - alert: SecondAlert
        expr: vector(1)
"""
DASHBOARD = '{"title": "Overview {{ not Helm\'s }}", "panels": []}\n'


@pytest.fixture
def chart_with_files(tmp_path: Path) -> Path:
    """Return a copy of the chart with exactly one rule file and one dashboard."""
    copy = tmp_path / CHART.name
    shutil.copytree(CHART, copy, ignore=shutil.ignore_patterns("rules", "dashboards"))
    for folder, name, text in (("rules", "some.yaml", RULES), ("dashboards", "overview.json", DASHBOARD)):
        (copy / folder).mkdir()
        (copy / folder / name).write_text(text)
    return copy
