"""The driver's side of a first read: its result, and the failures after which there is no result."""

import os
import signal
import time
from pathlib import Path
from typing import Final

import pytest
import structlog

from sandbox.waiting import wait_until
from stream.groups.driver_state import DriverState
from stream.service.first_read import reader
from stream.service.first_read.reader import FirstReader, FirstReadError
from stream.service.first_read.request import read_first
from tests.stream.service.first_read.first_reads import first_read, write_results

WAITING: Final = "import time; time.sleep(600)"


def program(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    """Replace the program that reads."""
    (folder / "first_read_program.py").write_text(text)
    monkeypatch.setattr(reader, "PROGRAM", "first_read_program")
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the ids of the processes that are started."""
    ids: list[int] = []
    original = FirstReader.__enter__

    def enter(self: FirstReader) -> FirstReader:
        entered = original(self)
        ids.append(entered._process.pid)
        return entered

    monkeypatch.setattr(FirstReader, "__enter__", enter)
    return ids


def has_ended(process: int) -> bool:
    """Return whether there is no process with this id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def wait_a_little() -> bool:
    """Wait as the caller does; nothing has to stop."""
    time.sleep(0.01)
    return False


def test_the_result_has_all_changes_and_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A driver state that applies the changes has the groups of the topic, even if it applies them twice."""
    program(monkeypatch, tmp_path, "")
    read = first_read(tmp_path / "first-read")
    read.folder.mkdir()
    write_results(monkeypatch, read)
    result = read_first(read, wait_a_little)
    assert result is not None
    changes, stats = result
    assert stats.records == {1: 8}
    state = DriverState()
    for shard, change in changes * 2:
        state.apply(shard, change)
    columns = state.columns()
    found = zip(columns.group.to_pylist(), columns.runs.spans.last_offset.tolist(), strict=True)
    assert sorted(found) == [("a", 4), ("c", 2)]


def test_a_broker_that_is_away_is_reported_in_one_line(tmp_path: Path) -> None:
    """A read without a broker has no result, so that the query reads the topic; its folder is removed."""
    read = first_read(tmp_path / "first-read")
    with structlog.testing.capture_logs() as logs:
        assert read_first(read, wait_a_little) is None
    (line,) = [line for line in logs if line["log_level"] == "warning"]
    assert "127.0.0.1:1" in line["cause"]
    assert not read.folder.exists()


@pytest.mark.parametrize("content", [None, b"", b"ARROW1"], ids=["missing", "empty", "cut off"])
def test_a_result_that_cannot_be_read_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    """A result file that is missing, empty or cut off, as after a full volume, gives no result."""
    program(monkeypatch, tmp_path, "")
    read = first_read(tmp_path / "first-read")
    read.folder.mkdir()
    write_results(monkeypatch, read)
    read.result(1).write_bytes(content or b"")
    if content is None:
        read.result(1).unlink()
    with structlog.testing.capture_logs() as logs:
        assert read_first(read, wait_a_little) is None
    assert [line["cause"][:24] for line in logs] == ["a result cannot be read:"]


def test_a_folder_that_cannot_be_created_is_no_failure_of_the_start(tmp_path: Path) -> None:
    """The first read has no result and logs the reason; the query needs no folder."""
    with structlog.testing.capture_logs() as logs:
        assert read_first(first_read(tmp_path / "missing" / "first-read"), wait_a_little) is None
    assert "No such file" in logs[0]["cause"]


def test_a_killed_process_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error has the signal that ended the process."""
    program(monkeypatch, tmp_path, WAITING)
    with FirstReader() as running:
        running.begin(first_read(tmp_path))
        assert not running.finished()
        os.kill(running._process.pid, signal.SIGKILL)
        with pytest.raises(FirstReadError, match="SIGKILL"):
            wait_until(running.finished, "the process to end")


def test_a_stop_ends_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: list[int]) -> None:
    """A stop has no result and logs nothing."""
    program(monkeypatch, tmp_path, WAITING)
    with structlog.testing.capture_logs() as logs:
        assert read_first(first_read(tmp_path / "first-read"), lambda: True) is None
    assert logs == []
    assert [has_ended(process) for process in started] == [True]


def test_an_error_of_the_caller_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: list[int]
) -> None:
    """An error of the caller, such as a JVM that does not start, ends the first read."""
    program(monkeypatch, tmp_path, WAITING)

    def stopped() -> bool:
        raise RuntimeError("no Java")

    with pytest.raises(RuntimeError, match="no Java"):
        read_first(first_read(tmp_path / "first-read"), stopped)
    assert [has_ended(process) for process in started] == [True]
