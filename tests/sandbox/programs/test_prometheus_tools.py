"""Prometheus is that of this machine, the cache or Debian, and a missing one gives an error with the remedy."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from sandbox.demo import run as demo
from sandbox.programs import debian
from sandbox.programs.debian import PackagesMissingError, unpacked, unpacked_folder
from sandbox.programs.prometheus import Prometheus, configuration
from sandbox.programs.prometheus_tools import PROGRAMS, ToolMissingError, find_tool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return an empty cache of a machine without any program."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    return tmp_path


def test_installed_program_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program on PATH has precedence."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    assert find_tool("promtool") == "/somewhere/promtool"


@pytest.mark.parametrize("name", PROGRAMS)
def test_unpacked_program_is_found(bare: Path, name: str) -> None:
    """A fetched program is used again without a call of apt."""
    folder = unpacked_folder(PROGRAMS[name])
    folder.mkdir(parents=True)
    assert folder.is_relative_to(bare)
    assert find_tool(name, fetch=True) == str(folder / "usr" / "bin" / name)


@pytest.mark.usefixtures("bare")
def test_nothing_is_fetched_by_default() -> None:
    """The message without `fetch` has the way to install the program."""
    with pytest.raises(
        ToolMissingError, match=r"install Debian's packages .*, or run python -m sandbox.programs.prometheus_tools"
    ):
        find_tool("prometheus")


@pytest.mark.usefixtures("bare")
def test_missing_apt_is_an_error() -> None:
    """The message names apt-get or dpkg as missing."""
    with pytest.raises(ToolMissingError, match="this machine has no apt-get or dpkg"):
        find_tool("amtool", fetch=True)


def test_failed_download_is_an_error_and_leaves_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error of the download is raised, and no folder is left."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")

    def refuse(*_: object) -> list[Path]:
        raise PackagesMissingError("apt-get failed: no such package")

    monkeypatch.setattr(debian, "_download", refuse)
    with pytest.raises(PackagesMissingError, match="no such package"):
        unpacked("x", ["x"])
    assert list((tmp_path / "debian").iterdir()) == []


def test_the_job_and_the_rules_are_configured(tmp_path: Path) -> None:
    """Prometheus scrapes one lagwarden with the job name of the rules, and reads whole folders of rules."""
    config = yaml.safe_load(configuration("http://127.0.0.1:10848", 5, [tmp_path]))
    (scrape,) = config["scrape_configs"]
    assert scrape == {"job_name": "lagwarden", "static_configs": [{"targets": ["127.0.0.1:10848"]}]}
    assert config["rule_files"] == [f"{tmp_path}/*.yaml"]
    assert config["global"]["scrape_interval"] == "5s"


@pytest.mark.usefixtures("bare")
def test_demo_continues_without_prometheus(tmp_path: Path) -> None:
    """The demo prints what it skips without Prometheus, and how to install it."""
    with contextlib.ExitStack() as stack:
        line = demo.prometheus_of(stack, "http://127.0.0.1:1", tmp_path)
    assert line.startswith("skipped  Prometheus: prometheus is missing: install Debian's packages")


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
        address = prometheus.address
    with pytest.raises(OSError, match="refused"):
        prometheus.query("1")
    assert address.startswith("http://127.0.0.1:")
