"""The example for Alertmanager, asked by its own tool: it is valid, and every alert reaches the receiver it should."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from sandbox.prometheus_tools import ToolMissingError, find_tool
from tests.chart.alert_case import alerts

EXAMPLE: Final = Path(__file__).resolve().parents[2] / "deploy" / "alertmanager.example.yaml"
RECEIVERS: Final = {"critical": "pager", "warning": "tickets", "info": "nobody"}


@pytest.fixture(scope="session")
def amtool() -> str:
    """Give amtool; skip where it is not here and cannot be had."""
    try:
        return find_tool("amtool", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))


@pytest.mark.chart
def test_the_example_is_valid(amtool: str) -> None:
    """Alertmanager takes the file as it is."""
    done = subprocess.run([amtool, "check-config", str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.chart
@pytest.mark.parametrize("rule", alerts().values(), ids=alerts())
def test_an_alert_reaches_its_receiver(amtool: str, rule: dict[str, Any]) -> None:
    """Criticals page, warnings make tickets, infos go nowhere."""
    labels = [f"{name}={value}" for name, value in rule["labels"].items()]
    command = [amtool, "config", "routes", "test", f"--config.file={EXAMPLE}", *labels]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [RECEIVERS[rule["labels"]["severity"]]], done.stderr


def test_what_mutes_exists() -> None:
    """Every alert that an inhibition names is one of the rules'; a misspelt one would mute nothing."""
    text = EXAMPLE.read_text()
    told = yaml.safe_load(text)["inhibit_rules"]
    names = {word for rule in told for matcher in rule["source_matchers"] for word in _names(matcher)}
    assert len(names) > 5
    assert names <= set(alerts())


def _names(matcher: str) -> list[str]:
    """Give the alerts that a matcher of `alertname` means."""
    name, _, pattern = matcher.replace("=~", "=").partition("=")
    if name != "alertname":
        return []
    head, _, rest = pattern.strip('"').partition("(")
    return [f"{head}{word}" for word in rest.rstrip(")").split("|")] if rest else head.split("|")
