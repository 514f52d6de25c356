"""Where Prometheus comes from: this machine, the cache, Debian; and what is said where it is not to be had."""

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
    """Give a machine without any program, with an empty cache."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    return tmp_path


def test_an_installed_program_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on PATH comes first."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    assert find_tool("promtool") == "/somewhere/promtool"


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unpacked_program_is_found(bare: Path, name: str) -> None:
    """What was fetched once is used again, without a question to apt."""
    folder = unpacked_folder(PROGRAMS[name])
    folder.mkdir(parents=True)
    assert folder.is_relative_to(bare)
    assert find_tool(name, fetch=True) == str(folder / "usr" / "bin" / name)


@pytest.mark.usefixtures("bare")
def test_nothing_is_fetched_unasked() -> None:
    """Without leave to fetch, the message says how to get the program."""
    with pytest.raises(
        ToolMissingError, match=r"install Debian's packages .*, or run python -m sandbox.programs.prometheus_tools"
    ):
        find_tool("prometheus")


@pytest.mark.usefixtures("bare")
def test_no_apt_is_a_reason() -> None:
    """Where there is no apt-get, that is the reason."""
    with pytest.raises(ToolMissingError, match="there is no apt-get here"):
        find_tool("amtool", fetch=True)


def test_a_failed_download_is_a_reason_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The last words of apt are the reason; the next try starts from nothing."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")

    def refuse(*_: object) -> list[Path]:
        raise PackagesMissingError("apt-get failed: no such package")

    monkeypatch.setattr(debian, "_download", refuse)
    with pytest.raises(PackagesMissingError, match="no such package"):
        unpacked("x", ["x"])
    assert list((tmp_path / "debian").iterdir()) == []


def test_the_job_and_the_rules_are_configured(tmp_path: Path) -> None:
    """Prometheus scrapes one lagwarden under the job that the rules name, and reads whole folders of rules."""
    told = yaml.safe_load(configuration("http://127.0.0.1:10848", 5, [tmp_path]))
    (scrape,) = told["scrape_configs"]
    assert scrape == {"job_name": "lagwarden", "static_configs": [{"targets": ["127.0.0.1:10848"]}]}
    assert told["rule_files"] == [f"{tmp_path}/*.yaml"]
    assert told["global"]["scrape_interval"] == "5s"


@pytest.mark.usefixtures("bare")
def test_the_demo_goes_on_without(tmp_path: Path) -> None:
    """Where there is no Prometheus the demo says what it skips and how to get it."""
    with contextlib.ExitStack() as stack:
        said = demo.prometheus_of(stack, "http://127.0.0.1:1", tmp_path)
    assert said.startswith("skipped  Prometheus: prometheus is not here: install Debian's packages")


@pytest.mark.chart
def test_it_runs_with_the_charts_rules(tmp_path: Path) -> None:
    """A real one starts, has every rule, says that nobody answers it, and is gone afterwards."""
    try:
        find_tool("prometheus", fetch=True)
    except ToolMissingError as error:
        pytest.skip(str(error))
    with Prometheus("http://127.0.0.1:1", tmp_path, interval=1, hurry=True) as prometheus:
        assert "LagwardenMonitorDown" in {rule["name"] for rule in prometheus.rules()}
        assert prometheus.query("vector(3)") == [({}, 3.0)]
        address = prometheus.address
    with pytest.raises(OSError, match="refused"):
        prometheus.query("1")
    assert address.startswith("http://127.0.0.1:")
