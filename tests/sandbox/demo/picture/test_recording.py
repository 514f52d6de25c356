"""Recordings of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.demo.picture.recording import TerminalRecording, record

if TYPE_CHECKING:
    from pathlib import Path


def test_a_program_is_recorded_on_a_terminal_of_the_given_size() -> None:
    """The program's terminal has the size, and its output is complete and in order, with whole characters."""
    script = "import os, sys; print(sys.stdout.isatty(), *os.get_terminal_size()); print('│' * 70000)"
    found = record(["python3", "-c", script], 71, 9)
    assert found.outputs[0] == (0.0, f"$ python3 -c {script}\r\n")
    assert "".join(text for _, text in found.outputs[1:]) == f"True 71 9\r\n{'│' * 70000}\r\n"
    assert [at for at, _ in found.outputs] == sorted(at for at, _ in found.outputs)


def test_the_home_folder_is_not_in_a_recording() -> None:
    """A path in the home folder is recorded with `~`."""
    found = record(["python3", "-c", "import pathlib; print(pathlib.Path.home() / 'a')"], 80, 24)
    assert "".join(text for _, text in found.outputs[1:]) == "~/a\r\n"


def test_a_program_that_fails_gives_no_recording() -> None:
    """The exit code is in the error."""
    with pytest.raises(RuntimeError, match="exit code 3"):
        record(["python3", "-c", "raise SystemExit(3)"], 80, 24)


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The file is asciicast, version 2: a header and a line per output."""
    recording = TerminalRecording(80, 24, ((0.1, "a\r\n"), (0.25, "\x1b[1mb\x1b[0m")))
    recording.write(tmp_path / "a.cast")
    assert (tmp_path / "a.cast").read_text().splitlines()[0] == '{"version": 2, "width": 80, "height": 24}'
    assert TerminalRecording.read(tmp_path / "a.cast") == recording
