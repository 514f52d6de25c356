"""Runs tests several times, some of the runs under load, and prints which tests failed how often: finds flaky tests.

    python -m sandbox.stability --runs 5 --loaded 2 -- tests/integration -m "kafka and not long"

The arguments after `--` go to pytest. During the last `--loaded` runs one process per core is busy. The exit code is 1
when any run failed.
"""

import argparse
import contextlib
import dataclasses
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from sandbox.process import GuardedProcess

BUSY_PROCESSES: Final = 2
RUN_LIMIT: Final = 3600.0
"""Seconds after which a run is ended, and after which a busy process ends by itself."""
_BUSY: Final = f"import time\nend = time.monotonic() + {RUN_LIMIT}\nwhile time.monotonic() < end: pass"


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run of the tests; `failed` names each test that failed or could not be set up."""

    number: int
    loaded: bool
    passed: int
    skipped: int
    failed: tuple[str, ...]
    seconds: float
    code: int

    def __str__(self) -> str:
        load = f"{BUSY_PROCESSES} busy cores" if self.loaded else "none"
        numbers = f"{self.passed:6} {len(self.failed):6} {self.skipped:7} {self.seconds:8.0f}"
        return f"{self.number:3}  {load:12} {numbers}  {self.code}"


HEADER: Final = f"{'run':>3}  {'load':12} {'passed':>6} {'failed':>6} {'skipped':>7} {'seconds':>8}  code"


@contextlib.contextmanager
def busy_cores(number: int, log: Path) -> Iterator[list[int]]:
    """Keep `number` cores busy with child processes and yield their ids; they end with the block."""
    with contextlib.ExitStack() as started:
        processes = [started.enter_context(GuardedProcess([sys.executable, "-c", _BUSY], log)) for _ in range(number)]
        yield [process.pid for process in processes]


def run_tests(number: int, arguments: Sequence[str], folder: Path, *, loaded: bool) -> Run:
    """Run pytest once; its output goes to the terminal."""
    result = folder / f"run-{number}.xml"
    began = time.monotonic()
    with busy_cores(BUSY_PROCESSES if loaded else 0, folder / "load.log"):
        command = [sys.executable, "-m", "pytest", f"--junitxml={result}", *arguments]
        try:
            code = subprocess.run(command, check=False, timeout=RUN_LIMIT).returncode
        except subprocess.TimeoutExpired:
            code = -1
    passed, skipped, failed = read_results(result) if result.exists() else (0, 0, ("the run did not end",))
    return Run(number, loaded, passed, skipped, failed, time.monotonic() - began, code)


def read_results(path: Path) -> tuple[int, int, tuple[str, ...]]:
    """Return the number of passed and of skipped tests in a JUnit file, and the names of the failed ones."""
    passed = skipped = 0
    failed = []
    for case in ET.parse(path).iter("testcase"):  # noqa: S314 - written by our own pytest
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, skipped, tuple(failed)


def report(runs: Sequence[Run]) -> Iterator[str]:
    """Return the lines of the table, and below it each test that failed with the number of its failures."""
    yield HEADER
    yield from map(str, runs)
    failures = Counter(name for run in runs for name in run.failed)
    for name, times in failures.most_common():
        yield f"failed in {times} of {len(runs)} runs: {name}"
    if not failures and all(run.code == 0 for run in runs):
        yield f"no failure in {len(runs)} runs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests as the module describes. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.stability", description="run tests several times")
    parser.add_argument("--runs", type=int, default=5, help="number of runs")
    parser.add_argument("--loaded", type=int, default=2, help="number of runs under load, at the end")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    options = parser.parse_args(arguments)
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="lagwarden-stability-") as folder:
        for number in range(1, options.runs + 1):
            loaded = number > options.runs - options.loaded
            runs.append(run_tests(number, options.pytest, Path(folder), loaded=loaded))
            print(HEADER, runs[-1], sep="\n", flush=True)
    print("", *report(runs), sep="\n")
    return 0 if all(run.code == 0 for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
