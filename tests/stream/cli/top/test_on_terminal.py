"""`lagwarden top` on a pseudo-terminal: keys, signals, and the modes of the terminal before and after."""

import signal
from collections.abc import Mapping

import pytest

from tests.support.terminal import Program


def top(
    url: str, *, before: str = "", size: tuple[int, int] = (24, 100), environment: Mapping[str, str] | None = None
) -> Program:
    """Start `lagwarden top`; the process runs the statements in `before` first."""
    script = f"import sys; from stream.cli.app import main; {before}sys.exit(main(sys.argv[1:]))"
    return Program(script, "top", "--url", url, "--every", "0.2", size=size, environment=environment)


def test_filter_open_and_quit(url: str) -> None:
    """Keys filter the list, open and close a group, and quit; the terminal is restored."""
    with top(url) as program:
        assert program.wait_for("type to filter")[3].startswith("billing ")
        program.press("pla")
        lines = program.wait_for("filter: pla")
        assert lines[3].startswith("plain ")
        assert lines[4] == ""
        program.press("\x1b")
        program.wait_for("type to filter")
        program.press("bill\r")
        program.wait_for("billing: stopped (critical)")
        program.wait_for("lines more")  # before, the page has no height, and no end to go to
        program.press("\x1b[F")
        program.wait_for("1 offset")
        program.press("\x1b[D")
        program.wait_for("filter: bill")
        program.press("\x7f\x7f\x7f\x7f")
        program.wait_for("type to filter")
        program.press("q")
        assert program.wait_for_end() == 0
        assert program.is_as_before


def test_resized_window_is_filled(url: str) -> None:
    """A resized window is redrawn without a key, to its last column and line, for any exported size."""
    with top(url, environment={"LINES": "24", "COLUMNS": "80"}) as program:
        program.wait_for("type to filter")
        program.resize((12, 43))
        lines = program.wait_for("q quits")
        assert lines[-1] == "type to filter · ↑↓ · Enter opens · q quits"
        program._until(lambda: len(program.screen[2]) == 43, "heads that reach the edge")
        program.resize((40, 160))
        program.wait_for("PARTITIONS")
        program._until(lambda: program.screen[39].startswith("type to filter"), "40 lines")
        program.press("q")
        assert program.wait_for_end() == 0


@pytest.mark.parametrize(
    "how",
    [pytest.param("\x03", id="Control-C"), signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
    ids=lambda how: getattr(how, "name", None),
)
def test_terminal_is_restored_after_a_signal(url: str, how: str | signal.Signals) -> None:
    """The mode and content of the terminal are as before, and the exit code is 0."""
    with top(url) as program:
        program.wait_for("type to filter")
        if isinstance(how, str):
            program.press(how)
        else:
            program.signal(how)
        assert program.wait_for_end() == 0
        assert program.is_as_before
        assert "Traceback" not in program.output


def test_nothing_is_drawn_without_an_instance() -> None:
    """The error is one line on the normal screen, with its own exit code."""
    with top("http://127.0.0.1:9") as program:
        assert program.wait_for_end() == 50
        assert "error: no lagwarden answers" in program.output
        assert "\x1b" not in program.output
