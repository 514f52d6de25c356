"""The display of the catch-up: a bar on a terminal, otherwise log lines."""

import io

import pytest
import structlog

from exporters.readmodel import CatchUp
from stream.service.catch_up import CatchUpView

SHOW_CURSOR, UP_ONE_LINE, ERASE_LINE = "\x1b[?25h", "\x1b[1A", "\x1b[2K"


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar() -> None:
    """The bar shows the percentage, the rate and the time left. It is erased at the end."""
    screen = Terminal()
    view = CatchUpView(screen)
    view.show(CatchUp(0.25, 1_234_567.0, 9.6))
    view._bar.refresh()  # type: ignore[union-attr]
    assert "25%" in screen.getvalue()
    assert "1,234,567 offsets/s, about 10 s left" in screen.getvalue()
    view.done()
    assert screen.getvalue().endswith(f"\n{SHOW_CURSOR}\r{UP_ONE_LINE}{ERASE_LINE}")


def test_a_log_gets_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The progress is logged every ten seconds, not at each call."""
    now = [100.0]
    monkeypatch.setattr("stream.service.catch_up.time.monotonic", lambda: now[0])
    view = CatchUpView(io.StringIO())
    with structlog.testing.capture_logs() as lines:
        for second in range(25):
            now[0] = 100.0 + second
            view.show(CatchUp(0.5, None, None))
    view.done()
    assert [(line["event"], line["percent"]) for line in lines] == [("catch-up running", 50.0)] * 2
