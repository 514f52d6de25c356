"""A real Prometheus on this machine: it scrapes one lagwarden, has the chart's rules loaded, and can be queried.

It listens on 127.0.0.1, keeps its data in a folder of the caller's, and ends with its context.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import yaml

from deploy.chart.values_schema import CHART
from sandbox.cache import cache_folder
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.programs.prometheus_tools import find_tool
from sandbox.waiting import wait_until

JOB: Final = "lagwarden"
"""The name of the scrape job that the rules expect."""
RULES: Final = CHART / "rules"
_START_LIMIT: Final = 60.0
_STOP_LIMIT: Final = 10.0
_HTTP_SECONDS: Final = 30.0

Sample = tuple[dict[str, str], float]
"""Labels and value of one series at one time."""


class QueryError(RuntimeError):
    """Prometheus rejected a query; the message is its own."""


class Prometheus:
    """`with Prometheus("http://127.0.0.1:10848", folder) as prometheus: prometheus.query("up")`.

    `interval` is the scrape and evaluation interval in seconds. The rules' own intervals are longer; `short_rules` sets
    them to `interval` too. `rules` is a folder of rule files to load instead of those of the chart, `labels` are those
    of the target. Raises ToolMissingError where there is no Prometheus.
    """

    def __init__(
        self,
        target: str,
        folder: Path,
        *,
        interval: int = 5,
        short_rules: bool = False,
        rules: Path = RULES,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.address: Final = f"http://{LOOPBACK}:{free_port()}"
        self.interval: Final = interval
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "prometheus.yml"
        config.write_text(
            configuration(target, interval, [_rules(folder, interval) if short_rules else rules], labels or {})
        )
        program = find_tool("prometheus")
        self._command = [
            *(program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", *_assets(program)),
            *(f"--web.listen-address={self.address.removeprefix('http://')}", "--log.level=warn"),
            "--storage.tsdb.retention.time=1d",
        ]
        self._process: GuardedProcess | None = None

    def __enter__(self) -> Self:
        self._process = process = GuardedProcess(self._command, self._folder / "prometheus.log")
        try:
            wait_until(lambda: not process.running or self._ready(), "Prometheus to be ready", limit=_START_LIMIT)
        except BaseException:
            process.kill()
            raise
        if not process.running:
            raise RuntimeError(f"Prometheus does not start: {process.log.read_text(errors='replace')[-500:]}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate(_STOP_LIMIT)

    def query(self, expression: str, at: float | None = None) -> list[Sample]:
        """Return the value of an expression at a time (Unix seconds), or now. Raises QueryError."""
        parameters = {"query": expression} if at is None else {"query": expression, "time": f"{at:.3f}"}
        return [(one["metric"], float(one["value"][1])) for one in self._get("query", parameters)["result"]]

    def query_range(
        self, expression: str, start: float, end: float, step: float
    ) -> list[tuple[dict[str, str], list[float]]]:
        """Return the values of an expression over a time range, as a graph does. Raises QueryError."""
        parameters = {"query": expression, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
        found = self._get("query_range", parameters)["result"]
        return [(one["metric"], [float(value) for _, value in one["values"]]) for one in found]

    def label_values(self, selector: str, label: str) -> list[str]:
        """Return the values of a label over the selected series, as a variable of Grafana requests them."""
        found = self._get(f"label/{label}/values", {"match[]": selector})
        return [str(value) for value in found]

    def rules(self) -> list[dict[str, Any]]:
        """Return every rule with its health, its last error and its alerts."""
        return [rule for group in self._get("rules", {})["groups"] for rule in group["rules"]]

    def scrape_error(self) -> str | None:
        """Return the error of the last scrape of lagwarden; None when it succeeded."""
        (target,) = self._get("targets", {"state": "active"})["activeTargets"]
        return str(target["lastError"]) or (None if target["health"] == "up" else f"health {target['health']}")

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/-/ready", timeout=_HTTP_SECONDS):  # noqa: S310 - http on loopback
                return True
        except OSError:
            return False

    def _get(self, path: str, parameters: dict[str, str]) -> Any:
        url = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=_HTTP_SECONDS) as answer:  # noqa: S310 - http on loopback
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            raise QueryError(json.load(refused)["error"]) from refused


def _assets(program: str) -> list[str]:
    """Return the option for the web pages of Debian's Prometheus, which an unpacked one needs; else nothing."""
    pages = Path(program).parents[1] / "share" / "prometheus" / "web"
    unpacked = Path(program).is_relative_to(cache_folder())
    return [f"--web.local-assets={pages}/"] if unpacked and pages.is_dir() else []


def configuration(target: str, interval: int, rules: list[Path], labels: Mapping[str, str]) -> str:
    """Return the configuration of Prometheus: one lagwarden as target, and folders of rules."""
    return yaml.safe_dump(
        {
            "global": {"scrape_interval": f"{interval}s", "evaluation_interval": f"{interval}s"},
            "rule_files": [f"{folder}/*.yaml" for folder in rules],
            "scrape_configs": [
                {
                    "job_name": JOB,
                    "static_configs": [{"targets": [target.removeprefix("http://")], "labels": dict(labels)}],
                },
            ],
        },
        sort_keys=False,
    )


def _rules(folder: Path, interval: int) -> Path:
    """Copy the rules with this evaluation interval; returns the folder."""
    target = folder / "rules"
    target.mkdir(exist_ok=True)
    for file in RULES.glob("*.yaml"):
        rules = yaml.safe_load(file.read_text())
        for group in rules["groups"]:
            group["interval"] = f"{interval}s"
        (target / file.name).write_text(yaml.safe_dump(rules))
    return target
