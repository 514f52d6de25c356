"""`lagwarden top` on a terminal as a person has it: a pseudo-terminal, its modes before and after, keys and signals."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import pytest

from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.snapshots import CATCHING_UP, detail, small_world, status
from tests.support.terminal import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporters.readmodel import GroupDetail

FAULT: Final = "import stream.cli.top.view as s; s.status_line = lambda *_: 1 / 0; "


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the small world, with what is known of billing."""
    published = PublishedSnapshot.build(small_world())

    def details(name: str) -> GroupDetail | None:
        return detail() if name == "billing" else None

    server = HttpServer("127.0.0.1", 0, lambda: published, status, details)
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def top(url: str, *, before: str = "", size: tuple[int, int] = (24, 100)) -> Program:
    """Start it; `before` is what the process runs first."""
    script = f"import sys; from stream.cli.app import main; {before}sys.exit(main(sys.argv[1:]))"
    return Program(script, "top", "--url", url, "--every", "0.2", size=size)


def test_a_person_looks_around(url: str) -> None:
    """All groups, a filter, one group and back, and out; the terminal is as it was."""
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
    """A window that becomes smaller or larger is drawn without a key, its last column and last line included."""
    with top(url) as program:
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
def test_however_it_is_ended_the_terminal_is_given_back(url: str, how: str | signal.Signals) -> None:
    """In its old mode, with its old content, and with the code of a good end."""
    with top(url) as program:
        program.wait_for("type to filter")
        if isinstance(how, str):
            program.press(how)
        else:
            program.signal(how)
        assert program.wait_for_end() == 0
        assert program.is_as_before
        assert "Traceback" not in program.said


def test_a_fault_gives_the_terminal_back_first(url: str) -> None:
    """The traceback stands on the person's own screen."""
    with top(url, before=FAULT) as program:
        assert program.wait_for_end() == 1
        assert program.is_as_before
        shown = program.said.rpartition("\x1b[?1049l")[2]
        assert "ZeroDivisionError" in shown
        assert shown.rstrip().endswith("please report it with the lines above")


def test_a_terminal_that_goes_away_ends_it(url: str) -> None:
    """When the window is closed nothing stays behind."""
    with top(url) as program:
        program.wait_for("type to filter")
        assert program.hang_up() == 0


def test_control_z_does_not_leave_it_half_drawn(url: str) -> None:
    """Stopping is not offered: the shell would write over the other screen. Garbage of keys does no harm."""
    with top(url) as program:
        program.wait_for("type to filter")
        program.press("\x1a\x13\x1b[200~\x00q\x1b[201~\x1b[Mq\x1b[99;99R")
        program.wait_for("filter: q^[Mq")
        program.press("\x15")
        program.wait_for("type to filter")
        program.press("q")
        assert program.wait_for_end() == 0


def test_an_instance_that_is_not_ready_is_waited_for() -> None:
    """Before its first snapshot the reason is shown; when there are groups they come by themselves."""
    world: list[PublishedSnapshot | None] = [None]
    server = HttpServer("127.0.0.1", 0, lambda: world[0], lambda: status(**CATCHING_UP))
    server.start()
    try:
        with top(f"http://127.0.0.1:{server.port}") as program:
            program.wait_for("is not ready yet: catching up")
            world[0] = PublishedSnapshot.build(small_world())
            assert program.wait_for("billing ")[1] == ""
            server.stop()
            assert any(line.startswith("billing ") for line in program.wait_for("no lagwarden answers"))
            program.press("q")
            assert program.wait_for_end() == 0
    finally:
        server.stop()


def test_where_nobody_answers_no_screen_is_taken() -> None:
    """One line says so, with its own code."""
    with top("http://127.0.0.1:9") as program:
        assert program.wait_for_end() == 50
        assert "error: no lagwarden answers" in program.said
        assert "\x1b" not in program.said
