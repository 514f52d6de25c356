"""The dashboards' files as values: panels, queries and variables, and Grafana's form of a variable in a query."""

import dataclasses
import functools
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from deploy.chart.values_schema import CHART

FILES: Final = sorted((CHART / "dashboards").glob("*.json"))


@dataclasses.dataclass(frozen=True, slots=True)
class PanelQuery:
    """One query of one panel, as the file has it."""

    board: str
    panel: str
    expression: str
    legend: str
    instant: bool

    @property
    def name(self) -> str:
        return f"{self.board}: {self.panel}"


@functools.cache
def board(name: str) -> dict[str, Any]:
    """Return a dashboard by its file name."""
    return json.loads((CHART / "dashboards" / f"{name}.json").read_text())


BOARDS: Final = {file.stem: board(file.stem) for file in FILES}


def panels(name: str) -> list[dict[str, Any]]:
    """Return the panels of a dashboard without its rows."""
    return [panel for panel in BOARDS[name]["panels"] if panel["type"] != "row"]


def queries() -> list[PanelQuery]:
    """Return every query of every dashboard."""
    return [
        PanelQuery(name, panel["title"], target["expr"], target["legendFormat"], target["instant"])
        for name in BOARDS
        for panel in panels(name)
        for target in panel["targets"]
    ]


def annotation_queries() -> list[PanelQuery]:
    return [
        PanelQuery(name, each["name"], each["expr"], each["textFormat"], instant=False)
        for name, made in BOARDS.items()
        for each in made["annotations"].get("list", [])
    ]


def filled(expression: str, values: Mapping[str, str | list[str]], scrape_interval: int = 15) -> str:
    """Replace the variables as Grafana does: several values become alternatives, a rate gets its interval.

    `$__rate_interval` is at least four scrapes, so that a rate has two samples even if one scrape fails.
    """
    text = expression.replace("$__rate_interval", f"{4 * scrape_interval}s").replace("$__range", "1h")
    for name, value in values.items():
        text = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", lambda _, value=value: _text(value), text)
    return text


def _text(value: str | list[str]) -> str:
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace('"', '\\"')
    # Grafana escapes the metacharacters of a regular expression, and a string of PromQL needs a second backslash.
    each = [re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\\\1", one) for one in value]
    return each[0] if len(each) == 1 else f"({'|'.join(each)})"
