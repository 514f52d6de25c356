"""A guarded process ends with its parent, however the parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.process import GuardedProcess

PARENT = """
import os, signal, sys
from pathlib import Path
from sandbox.process import GuardedProcess
child = GuardedProcess(["sh", "-c", "sleep 60 & echo $!; wait"], Path(sys.argv[1]))
print(child.pid, flush=True)
while not Path(sys.argv[1]).read_text().strip():
    pass
{end}
"""


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int, within: float = 20.0) -> bool:
    """Wait for a process to end; return whether it did."""
    deadline = time.monotonic() + within
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", id="killed"),
        pytest.param("sys.exit(0)", id="exits without closing the child"),
        pytest.param("raise ValueError('lost')", id="raises an exception"),
        pytest.param("os._exit(3)", id="exits without clean-up"),
    ],
)
def test_child_and_grandchild_end_with_the_parent(end: str, tmp_path: Path) -> None:
    """The whole process group of the child ends with the parent."""
    log = tmp_path / "log"
    script = PARENT.format(end=end)
    done = subprocess.run([sys.executable, "-c", script, log], capture_output=True, text=True, check=False, timeout=30)
    assert ends(int(done.stdout)), done.stderr
    assert ends(int(log.read_text()))


def test_terminate_lets_the_child_finish(tmp_path: Path) -> None:
    """A child that handles SIGTERM ends by itself, with its own exit code and output."""
    log = tmp_path / "log"
    child = GuardedProcess(["sh", "-c", "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.02; done"], log)
    while "up" not in log.read_text():
        time.sleep(0.01)
    assert child.terminate(timeout=20) == 7
    assert log.read_text() == "up\nbye\n"


def test_terminate_kills_a_child_that_ignores_sigterm(tmp_path: Path) -> None:
    """A child that ignores SIGTERM is killed after the time-out."""
    log = tmp_path / "log"
    child = GuardedProcess(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.02; done"], log)
    while "up" not in log.read_text():
        time.sleep(0.01)
    assert child.terminate(timeout=0.1) == -signal.SIGKILL
    assert not child.running


COUNTING = """
import itertools, sys, threading
from pathlib import Path
folder = Path(sys.argv[1])
def count(name):
    with (folder / name).open("wb", buffering=0) as file:
        for _ in itertools.count():
            file.write(b".")
for name in ("a", "b", "c"):
    threading.Thread(target=count, args=(name,)).start()
"""


def test_no_thread_runs_once_pause_returns(tmp_path: Path) -> None:
    """The threads of a paused child have stopped when `pause` returns, and continue after `resume`."""
    files = [tmp_path / name for name in ("a", "b", "c")]

    def sizes() -> list[int]:
        return [file.stat().st_size if file.exists() else 0 for file in files]

    with GuardedProcess([sys.executable, "-c", COUNTING, tmp_path], tmp_path / "log") as child:
        while not all(sizes()):
            time.sleep(0.01)
        for _ in range(20):
            child.pause()
            before = sizes()
            time.sleep(0.005)
            assert sizes() == before
            child.resume()
            while not all(map(int.__lt__, before, sizes())):
                time.sleep(0.001)


def test_pausing_an_ended_child_has_no_effect(tmp_path: Path) -> None:
    """`pause` returns at once for a child that has ended, before and after its exit code was collected."""
    child = GuardedProcess(["sh", "-c", "exit 5"], tmp_path / "log")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    child.pause()
    assert child.wait(20) == 5
    child.pause()
    assert child.kill() == 5


def test_paused_child_can_be_terminated(tmp_path: Path) -> None:
    """A paused child counts as running and can be terminated."""
    with GuardedProcess(["sleep", "60"], tmp_path / "log") as child:
        child.pause()
        assert child.running
        assert child.terminate(timeout=20) == -signal.SIGTERM


def test_kill_can_be_repeated(tmp_path: Path) -> None:
    """Killing an ended child has no effect and returns its exit code again."""
    child = GuardedProcess(["sh", "-c", "exit 5"], tmp_path / "log")
    assert child.wait(20) == 5
    assert [child.kill(), child.kill()] == [5, 5]
