"""The problems that a task finds on its executor. The run on real executors is in tests/integration/executors."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from stream.errors import ExitCode, Refusal
from stream.spark.executors import executor_check
from stream.spark.executors.executor_check import check_executors, problems_here

HOST = socket.gethostname()


def test_executor_with_everything_has_no_problem(tmp_path: Path) -> None:
    """An executor with all packages, the marker of the shared folder and readable files has no problem."""
    (tmp_path / "marker").touch()
    assert list(problems_here([], marker=str(tmp_path / "marker"), files=[str(tmp_path / "marker")])) == []
    assert list(problems_here([], marker=None, files=[])) == []


def test_each_problem_is_a_sentence_with_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems are a missing package, a file that cannot be read, and a folder that is not the shared one."""
    monkeypatch.setattr(executor_check, "TASK_MODULES", ("no_such_codec",))
    problems = list(problems_here([], marker=str(tmp_path / "marker"), files=[str(tmp_path / "password")]))
    assert problems == [
        f"{HOST}: No module named 'no_such_codec'",
        f"{HOST}: {tmp_path / 'password'} cannot be read",
        f"{HOST}: the checkpoint folder {tmp_path} is not the one of this process (checkpoint.shared)",
    ]


class _Session:
    """A session whose jobs run in this process, after some that fail."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)
        self.tasks: list[int] = []
        self.sparkContext = self
        self._check: Callable[[Iterable[int]], Iterator[str]] = iter

    def parallelize(self, _: range, tasks: int) -> _Session:
        self.tasks.append(tasks)
        return self

    def mapPartitions(self, check: Callable[[Iterable[int]], Iterator[str]]) -> _Session:  # noqa: N802 -- Spark's name
        self._check = check
        return self

    def collect(self) -> list[str]:
        """Run the function in each task, or fail."""
        if self.errors:
            raise PySparkException(self.errors.pop(0))
        return [problem for _ in range(self.tasks[-1]) for problem in self._check([])]


SLOW = "org.apache.spark.SparkException: Python worker failed to connect back."


def test_problems_end_the_start(tmp_path: Path) -> None:
    """The refusal has each problem once and in order, and its advice names the page about clusters."""
    session: Any = _Session()
    with pytest.raises(Refusal) as raised:
        check_executors(session, 4, tmp_path, [tmp_path / "password", tmp_path / "key"])
    problems = [f"{HOST}: {tmp_path / name} cannot be read" for name in ("key", "password")]
    assert raised.value.what == f"executors cannot run tasks: {'; '.join(problems)}"
    assert raised.value.code == ExitCode.SPARK_UNAVAILABLE
    assert raised.value.advice == "docs/cluster.md has what executors need"


def test_slow_start_of_a_python_process_is_tried_again() -> None:
    """The check runs again after each of up to three slow starts of a Python worker.

    The start ends at the fourth slow start, and at once for another error.
    """
    for failures in (0, 3):
        session: Any = _Session(*[SLOW] * failures)
        check_executors(session, 2, None)
        assert len(session.tasks) == failures + 1
    for errors in ([SLOW] * 4, ["the executors are gone"]):
        session = _Session(*errors)
        with pytest.raises(Refusal, match="could not run a task on the executors"):
            check_executors(session, 2, None)
        assert len(session.tasks) == len(errors)
