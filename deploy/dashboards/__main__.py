"""Writes the chart's dashboards: `python -m deploy.dashboards`; a test compares."""

from pathlib import Path
from typing import Final

from deploy.chart.values_schema import CHART
from deploy.dashboards.group import group
from deploy.dashboards.monitor import monitor
from deploy.dashboards.overview import overview
from deploy.dashboards.parts import json_text

FOLDER: Final = CHART / "dashboards"


def files() -> dict[Path, str]:
    """Return the text of each file."""
    return {FOLDER / f"{make.__name__}.json": json_text(make()) for make in (overview, group, monitor)}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
