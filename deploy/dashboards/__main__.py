"""Writes the chart's dashboards: `python -m deploy.dashboards`; a test compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.chart.values_schema import CHART
from deploy.dashboards.fleet import fleet
from deploy.dashboards.group import group
from deploy.dashboards.monitor import monitor
from deploy.dashboards.parts import json_text

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = CHART / "dashboards"


def files() -> dict[Path, str]:
    """Give every file with its text."""
    return {FOLDER / f"{make.__name__}.json": json_text(make()) for make in (fleet, group, monitor)}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
