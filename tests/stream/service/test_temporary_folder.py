"""The folder for temporary files: removed at the end of its process, or by the next one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from stream.service.early_jvm import temporary_folder

HOLDER = """
import sys, pathlib
from stream.service.early_jvm import temporary_folder
with temporary_folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "library.so").write_bytes(b"x" * 1000)
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(root: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that has a folder until its input ends; return it and the folder."""
    command = [sys.executable, "-c", HOLDER, str(root)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_folder_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    """Only the owner can read the folder; the end of the process removes the folder with its files."""
    with temporary_folder(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "blocks").mkdir()
        (folder / "blocks" / "1").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    """A kill leaves the folder, and the next start removes it."""
    process, left = holder(tmp_path)
    with process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert (left / "library.so").exists()
    with temporary_folder(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]


def test_folder_of_a_running_process_stays(tmp_path: Path) -> None:
    """Two monitors on one machine do not remove each other's files."""
    process, other = holder(tmp_path)
    with process, temporary_folder(tmp_path) as own:
        assert set(tmp_path.iterdir()) == {own, other}
        assert (other / "library.so").exists()
        process.communicate()
    assert list(tmp_path.iterdir()) == []
