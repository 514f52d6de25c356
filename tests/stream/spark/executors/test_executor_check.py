"""What a task finds wrong on its executor; the run on real executors is in tests/integration/executors."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from stream.spark.executors import executor_check
from stream.spark.executors.executor_check import problems_here

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

HOST = socket.gethostname()


def test_executor_with_everything_has_no_problem(tmp_path: Path) -> None:
    """Its packages are installed, the marker of the shared folder is there, and the files can be read."""
    (tmp_path / "marker").touch()
    assert list(problems_here([], marker=str(tmp_path / "marker"), files=[str(tmp_path / "marker")])) == []
    assert list(problems_here([], marker=None, files=[])) == []


def test_each_problem_is_a_sentence_with_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package, a file that cannot be read, and a folder that is not the shared one."""
    monkeypatch.setattr(executor_check, "TASK_MODULES", ("no_such_codec",))
    problems = list(problems_here([], marker=str(tmp_path / "marker"), files=[str(tmp_path / "password")]))
    assert problems == [
        f"{HOST}: No module named 'no_such_codec'",
        f"{HOST}: {tmp_path / 'password'} cannot be read",
        f"{HOST}: the checkpoint folder {tmp_path} is not the one of this process (checkpoint.shared)",
    ]
