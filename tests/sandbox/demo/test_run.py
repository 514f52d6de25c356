"""The demo compares correctly and removes everything that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from sandbox.demo import run as demo
from sandbox.demo.comparison import PartitionComparison, VerdictComparison
from sandbox.demo.scrape import GroupLine
from sandbox.demo.view import comparison_lines, groups_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

AGREEING = PartitionComparison("g", "t", 0, 7, 3, 7, 3)
DIFFERING = PartitionComparison("g", "t", 1, 7, 3, 7, None)


class Traffic:
    """Traffic of given groups that records a pause."""

    rows = ()

    def __init__(self, groups: list[str]) -> None:
        self.groups = groups
        self.paused = False

    def pause(self) -> None:
        """Record the pause."""
        self.paused = True


@pytest.mark.parametrize(
    ("rows", "groups", "code"),
    [
        pytest.param([AGREEING], ["g"], 0, id="all agree"),
        pytest.param([AGREEING, DIFFERING], ["g"], 1, id="one lag is missing"),
        pytest.param([AGREEING], ["g", "other"], 1, id="a group of the traffic has no offsets"),
        pytest.param([], [], 1, id="nothing to compare"),
    ],
)
def test_exit_code_of_the_comparison(
    rows: list[PartitionComparison], groups: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo succeeds only when every partition of every group agrees, with traffic paused."""
    traffic = Traffic(groups)
    monkeypatch.setattr(demo, "compare_until_agreed", lambda *_: rows if traffic.paused else [])
    assert demo.compare_with_kafka("b:1", "http://l", traffic) == code  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shown", "observed", "result"),
    [
        pytest.param("rewound", 300.0, (0, "1 of 1 verdicts are as expected"), id="expected verdict"),
        pytest.param("two_committers", 300.0, (1, "g is two_committers, expected: rewound"), id="different verdict"),
        pytest.param(None, 300.0, (1, "g is without a verdict"), id="no verdict"),
        pytest.param("ok", 10.0, (0, "verdicts are not compared"), id="observed for too short a time"),
    ],
)
def test_exit_code_of_the_comparison_of_verdicts(
    shown: str | None,
    observed: float,
    result: tuple[int, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The demo fails if a group lacks its expected verdict, unless the demo was too short for a comparison."""
    code, printed = result
    rows = [VerdictComparison("g", ("rewound",), shown)]
    monkeypatch.setattr(demo, "compare_verdicts_until_agreed", lambda *_: rows)
    assert demo.compare_with_table("http://l", Traffic(["g"]), observed) == code  # type: ignore[arg-type]
    assert printed in capsys.readouterr().out


def test_views_show_unknown_values_as_a_dash() -> None:
    """An unknown value is a dash, never a zero, and a difference is marked."""
    lines = groups_lines([GroupLine("g", "simple", "", members=None, lag=None, last_commit_at=None)])
    assert lines.splitlines()[1].split() == ["g", "simple", *"------"]
    compared = comparison_lines([AGREEING, DIFFERING]).splitlines()
    assert compared[1].split() == ["g", "t", "0", "7", "7", "3", "3"]
    assert compared[2].split() == ["g", "t", "1", "7", "7", "3", "-", "<-", "differs"]


def test_configuration_is_local(tmp_path: Path) -> None:
    """Lagwarden listens on loopback only, and its checkpoint is in the folder of the demo."""
    config = yaml.safe_load(demo.configuration(tmp_path, 1234))
    assert config["http"] == {"host": "127.0.0.1", "port": 1234}
    assert config["checkpoint"]["dir"].startswith(str(tmp_path))


@contextlib.contextmanager
def run_demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run the demo with its temporary files in a folder of the test. It is killed if it still runs at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox.demo", *arguments],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def left_behind(folder: Path) -> list[str]:
    """Return the command lines of processes that contain the folder, and the folders of the demo that remain."""
    found = [str(each) for each in folder.glob("lagwarden-*")]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_demo_with_a_duration_agrees_with_the_official_tool(tmp_path: Path) -> None:
    """The whole demo ends by itself with exit code 0 and leaves no process or file."""
    with run_demo(tmp_path, "--duration", "1") as process:
        output = process.communicate(timeout=380)[0]
    assert process.returncode == 0, output
    assert "34 partitions of 10 groups agree" in output
    assert left_behind(tmp_path) == []


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.timeout(400)
def test_interrupted_demo_cleans_up(tmp_path: Path) -> None:
    """Ctrl-C while Spark starts ends all processes of the demo, and further signals do not interrupt the stop."""
    with run_demo(tmp_path) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "starting lagwarden" in line:
                break
        time.sleep(2)
        assert left_behind(tmp_path)
        process.send_signal(signal.SIGINT)
        for line in process.stdout:
            if "stopping lagwarden" in line:
                break
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output
    assert "all processes and files are removed" in output
    assert left_behind(tmp_path) == []
