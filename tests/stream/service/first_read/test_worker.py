"""The processes of a first read: their result files, and their ends."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sandbox.waiting import wait_until
from stream.groups.codec import unpack_change, unpack_delta
from stream.groups.reduce import reduce
from stream.groups.shard import StateLimits, empty_state
from stream.service.first_read import worker
from stream.spark.offsets_reading import FOLDED_SCHEMA, folded_rows
from tests.stream.service.first_read.first_reads import first_read, write_results
from tests.support.commits import KEEP, read_run

_PROGRAM = """
import os, pathlib, signal, sys, time
from stream.service.first_read import worker
from tests.stream.service.first_read.first_reads import first_read

folder = pathlib.Path(sys.argv[1])

def write(read, task):
    (folder / f"pid-{task}.new").write_text(str(os.getpid()))
    (folder / f"pid-{task}.new").rename(folder / f"pid-{task}")
    while not (folder / f"end-{task}").exists():
        time.sleep(0.01)
    how = (folder / f"end-{task}").read_text()
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "failed":
        raise OSError("no space\\nleft")

sys.exit(worker.run(first_read(folder), os.getppid(), write))
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Return a running process with two children, each of which ends as the file `end-TASK` says."""
    running = subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: all((tmp_path / f"pid-{task}").exists() for task in (0, 1)), "two children", limit=60)
    yield running
    running.kill()
    running.communicate()


def end(folder: Path, task: int, how: str) -> None:
    """Make a child end: "failed", "killed", or any other word for a success."""
    (folder / f"end-{task}.new").write_text(how)
    (folder / f"end-{task}.new").rename(folder / f"end-{task}")


def is_running(folder: Path, task: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(int((folder / f"pid-{task}").read_text()), 0)
        return True
    return False


def test_a_result_has_the_deltas_of_a_task_and_what_they_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The result file has the delta, and the change that it makes to an empty state with live positions."""
    read = first_read(tmp_path)
    write_results(monkeypatch, read)
    with pa.ipc.open_file(str(read.result(0))) as file:
        assert file.schema == FOLDED_SCHEMA
        (row,) = file.read_all().to_pylist()
    delta, change = unpack_delta(row["delta"]), unpack_change(row["change"])
    _, expected = reduce(empty_state(), [delta], StateLimits(KEEP, live_from=5))
    assert (row["shard"], delta.position, change.position) == (0, 4, 4)
    assert read_run(change.runs, 0) == read_run(expected.runs, 0)
    assert change.histories.values.to_pylist() == expected.histories.values.to_pylist()


def test_the_source_reads_the_same_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The source of Spark yields the rows of the file in the columns of a task."""
    read = first_read(tmp_path)
    write_results(monkeypatch, read)
    (_, file) = read.folded.tasks[1]
    (row,) = folded_rows(file) or []
    assert (row.schema.names, row.column("shard").to_pylist()) == (["shard", "delta", "tally"], [2])


def test_the_process_succeeds_when_all_children_succeed(process: subprocess.Popen[str], tmp_path: Path) -> None:
    """The exit code of the process is 0."""
    end(tmp_path, 1, "well")
    end(tmp_path, 0, "well")
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("how", "reason"),
    [("failed", "OSError: no space left"), ("killed", f"a process was ended by signal {signal.SIGKILL:d}")],
)
def test_the_process_fails_when_one_child_fails(
    process: subprocess.Popen[str], tmp_path: Path, how: str, reason: str
) -> None:
    """The process prints the reason in one line and does not wait for the other children, which also end."""
    end(tmp_path, 1, how)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.splitlines()[-1]) == (1, reason)
    wait_until(lambda: not is_running(tmp_path, 0), "the other child to end", limit=60)


def test_a_process_without_a_request_ends() -> None:
    """The driver that started it has ended, or had nothing to read."""
    command = [sys.executable, "-m", worker.__name__, str(os.getpid())]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0


def test_a_killed_process_leaves_no_children(process: subprocess.Popen[str], tmp_path: Path) -> None:
    """The children end when their parent has ended."""
    process.kill()
    wait_until(lambda: not any(is_running(tmp_path, task) for task in (0, 1)), "the children to end", limit=60)


def test_the_end_of_the_driver_ends_all(tmp_path: Path) -> None:
    """The processes end when the driver is killed, although they get no signal."""
    starts = "import subprocess, sys; subprocess.call([sys.executable, *sys.argv[1:]])"
    driver = subprocess.Popen([sys.executable, "-c", starts, "-c", _PROGRAM, str(tmp_path)])
    wait_until(lambda: all((tmp_path / f"pid-{task}").exists() for task in (0, 1)), "two children", limit=60)
    driver.kill()
    driver.wait(60)
    wait_until(lambda: not any(is_running(tmp_path, task) for task in (0, 1)), "the children to end", limit=60)
