"""Repeated runs of tests: each failure is counted, and the load exists only during the loaded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import stability
from sandbox.waiting import wait_until

if TYPE_CHECKING:
    import pytest

FLAKY = """
import pathlib, pytest

def test_fine(): pass

@pytest.mark.skip(reason="not here")
def test_skipped(): pass

def test_flaky():
    counter = pathlib.Path({counter!r})
    counter.write_text(counter.read_text() + "x" if counter.exists() else "x")
    assert len(counter.read_text()) != 2
"""


def test_a_test_that_fails_in_one_run_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The second of three runs fails: the table shows it, the test is named once, and the exit code is 1."""
    test = tmp_path / "test_flaky.py"
    test.write_text(FLAKY.format(counter=str(tmp_path / "counter")))
    quiet = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", "/dev/null"]
    assert stability.main(["--runs", "3", "--loaded", "1", "--", *quiet, str(test)]) == 1
    output = capfd.readouterr().out
    table = output[output.rindex(stability.HEADER) :].splitlines()
    rows = [line.split() for line in table[1:4]]
    assert [(row[0], row[-1]) for row in rows] == [("1", "0"), ("2", "1"), ("3", "0")]
    assert ["2 busy cores" in line for line in table[1:4]] == [False, False, True]
    assert table[4] == "failed in 1 of 3 runs: test_flaky::test_flaky"


def test_runs_without_a_failure_exit_with_0(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The last line reports that nothing failed."""
    test = tmp_path / "test_fine.py"
    test.write_text("def test_fine(): pass\n")
    quiet = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", "/dev/null"]
    assert stability.main(["--runs", "2", "--loaded", "0", "--", *quiet, str(test)]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "no failure in 2 runs"


def test_the_load_is_busy_and_ends_with_its_block(tmp_path: Path) -> None:
    """The given number of processes run, use CPU time, and end with the block."""

    def ticks(pid: int) -> int:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])

    with stability.busy_cores(2, tmp_path / "load.log") as pids:
        assert len(pids) == 2
        wait_until(lambda: all(ticks(pid) > 10 for pid in pids), "the processes to use CPU time")
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
