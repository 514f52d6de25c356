"""The demo ends with the right exit code and removes everything that it has started."""

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.demo import run as demo
from sandbox.demo.view import PartitionComparison, VerdictComparison
from stream.cli.api_client import InstanceClient

AGREEING = PartitionComparison(("g", "t", 0), (7, 3), (7, 3))
DIFFERING = PartitionComparison(("g", "t", 1), (7, 3), (7, None))
CLIENT = InstanceClient("http://l", environment={})


class Traffic:
    """Traffic of given groups that records a pause."""

    rows = ()

    def __init__(self, groups: list[str]) -> None:
        self.groups = groups
        self.paused = False

    def pause(self) -> None:
        """Record the pause."""
        self.paused = True


def test_exit_code_of_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo succeeds only when every partition of every group agrees, with traffic paused."""
    both = [AGREEING, DIFFERING]
    for rows, groups, code in (([AGREEING], ["g"], 0), (both, ["g"], 1), ([AGREEING], ["g", "other"], 1), ([], [], 1)):
        traffic = Traffic(groups)
        monkeypatch.setattr(
            demo, "compare_until_agreed", lambda *_, traffic=traffic, rows=rows: rows if traffic.paused else []
        )
        assert demo.compare_with_kafka("b:1", CLIENT, traffic) == code, (rows, groups)  # type: ignore[arg-type]


def test_exit_code_of_the_comparison_of_verdicts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo fails if a group lacks its expected verdict, unless the demo was too short for a comparison."""
    for shown, observed, code, printed in (
        ("rewound", 300.0, 0, "1 of 1 verdicts are as expected"),
        ("two_committers", 300.0, 1, "g is two_committers, expected: rewound"),
        (None, 300.0, 1, "g is without a verdict"),
        ("ok", 10.0, 0, "verdicts are not compared"),
    ):
        rows = [VerdictComparison("g", ("rewound",), shown)]
        monkeypatch.setattr(demo, "compare_verdicts_until_agreed", lambda *_, rows=rows: rows)
        assert demo.compare_with_table(CLIENT, Traffic(["g"]), observed) == code  # type: ignore[arg-type]
        assert printed in capsys.readouterr().out


def test_a_busy_machine_gets_more_time_and_sees_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quiet machine gives up after the limit; ten waiting processes per core make it ten times as long."""
    monkeypatch.setattr(demo, "not_ready_because", lambda _: "no batch")
    process = SimpleNamespace(exit_code=None)
    for load, seconds in ((0.0, 180), (10.0, 1800)):
        now = itertools.count(0.0, 1.0)
        monkeypatch.setattr("sandbox.waiting.time", SimpleNamespace(monotonic=lambda now=now: next(now)))
        monkeypatch.setattr("sandbox.demo.run.time.sleep", lambda _: None)
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load * (os.cpu_count() or 1), 0.0, 0.0))
        with pytest.raises(demo.DemoError, match=r"not ready after \d+ s: no batch") as raised:
            demo.wait_until_ready(process, CLIENT)  # type: ignore[arg-type]
        assert seconds <= int(re.findall(r"\d+", str(raised.value))[0]) <= seconds + 10
        assert f"load {load:.1f} per core" in capsys.readouterr().out


def test_demo_continues_without_prometheus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo prints what it skips without Prometheus, and how to install it."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with contextlib.ExitStack() as stack:
        line = demo.prometheus_of(stack, "http://127.0.0.1:1", tmp_path)
    assert line.startswith("skipped  Prometheus: prometheus is missing: install Debian's packages")


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
    assert output.count("verdicts need a minute") == 1
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
