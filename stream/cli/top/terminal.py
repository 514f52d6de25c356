"""The terminal under `lagwarden top`: taken over, drawn upon, and always given back as it was.

Owns termios, the alternate screen and the signals. However `top` ends, by its key, by a fault, by SIGINT, SIGTERM or
SIGHUP, the terminal is in its old mode with its old content afterwards. Control-C stays a signal.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from typing import TYPE_CHECKING, Any, Final, NoReturn

from rich.console import Console

from stream.cli.top.keys import Keys
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from rich.text import Text

_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The alternate screen, no cursor, no wrapping at the edge."""
_LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_ESCAPE_SECONDS: Final = 0.05
"""How long after an escape the rest of a sequence may come."""
_INPUT, _OUTPUT = 0, 1
_IN, _LOCAL, _CONTROL = 0, 3, 6
"""Where termios has the flags of input, the local ones, and the control characters."""


class EndedError(BaseException):
    """A signal wants the process to end. No `Exception`: nothing in between shall take it for a fault."""


class Terminal:
    """The terminal while it is taken over."""

    def __init__(self, wake: int) -> None:
        self._keys = Keys()
        self._wake = wake

    @property
    def size(self) -> tuple[int, int]:
        """Give columns and lines as they are now."""
        columns, lines = os.get_terminal_size(_OUTPUT)
        return max(columns, 20), max(lines, 8)

    def show(self, lines: Sequence[Text]) -> None:
        """Draw all of the screen, over what is there: nothing flickers."""
        console = Console(force_terminal=True, width=self.size[0], legacy_windows=False, highlight=False)
        with console.capture() as captured:
            for line in lines:
                console.print(line, end="\x00", no_wrap=True, overflow="crop", soft_wrap=True)
        drawn = captured.get().split("\x00")[:-1]
        # Behind a line that reaches the edge the cursor stands on its last sign: erasing from there would take it.
        reach = [line.cell_len >= self.size[0] for line in lines]
        rest = ["" if edge else "\x1b[K" for edge in reach]
        below = "" if reach and reach[-1] else "\x1b[J"
        _write("\x1b[H" + "\r\n".join(map("".join, zip(drawn, rest, strict=True))) + below)

    def clear(self) -> None:
        """Have everything drawn anew, whatever another program wrote in between."""
        _write("\x1b[2J")

    def keys(self, others: Sequence[int], seconds: float) -> list[str]:
        """Wait for keys, another size, or something to read from others; give the keys, if any.

        Raises EndedError when the terminal is gone.
        """
        limit = _ESCAPE_SECONDS if self._keys.waiting else seconds
        ready, _, _ = select.select([_INPUT, self._wake, *others], [], [], limit)
        if self._wake in ready:
            os.read(self._wake, 4096)
        if _INPUT in ready:
            came = os.read(_INPUT, 4096)
            if not came:
                raise EndedError
            return self._keys.feed(came)
        return self._keys.rest() if not ready else []


def require_terminal() -> None:
    """Raise Refusal where stdin or stdout is no terminal, or one that cannot move its cursor."""
    if not (os.isatty(_INPUT) and os.isatty(_OUTPUT)) or os.environ.get("TERM") == "dumb":
        what = "`lagwarden top` draws on a terminal, and here is none"
        raise Refusal(what, "`lagwarden groups` prints a table wherever it goes", ExitCode.USAGE)


@contextlib.contextmanager
def taken_over() -> Iterator[Terminal]:
    """Take over the terminal of stdin and stdout, and give it back at the end."""
    before = termios.tcgetattr(_INPUT)
    with _signals() as wake:
        try:
            termios.tcsetattr(_INPUT, termios.TCSADRAIN, _raw(before))
            _write(_ENTER)
            yield Terminal(wake)
        finally:
            # A second signal must not interrupt this; and a terminal that is gone needs nothing back.
            with _undisturbed(), contextlib.suppress(OSError, termios.error):
                _write(_LEAVE)
                termios.tcsetattr(_INPUT, termios.TCSAFLUSH, before)


def _raw(before: list[Any]) -> list[Any]:
    """Give the mode in which keys come at once and unseen. Control-C still is a signal; Control-Z and -S do nothing."""
    mode: list[Any] = [list(part) if isinstance(part, list) else part for part in before]
    mode[_IN] &= ~(termios.IXON | termios.ICRNL)
    mode[_LOCAL] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    mode[_CONTROL][termios.VMIN], mode[_CONTROL][termios.VTIME] = 1, 0
    # Stopped with another screen shown, the shell would write over it.
    mode[_CONTROL][termios.VSUSP] = bytes([os.fpathconf(_INPUT, "PC_VDISABLE")])
    return mode


@contextlib.contextmanager
def _signals() -> Iterator[int]:
    """Have signals that end us raise, and those of another size wake up who waits; give where to wait."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(read, False)
    taken = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)
    kept = {number: signal.getsignal(number) for number in taken}
    # A shell without job control has what runs behind it ignore SIGINT, and Control-C with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGHUP, _end)
    signal.signal(signal.SIGWINCH, lambda _, __: None)
    woken_before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield read
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in kept.items():
            signal.signal(number, handler)
        os.close(read)
        os.close(write)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise EndedError


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _write(text: str) -> None:
    """Write all of it; a terminal may take a piece at a time."""
    left = memoryview(text.encode("utf-8", "replace"))
    while left:
        left = left[os.write(_OUTPUT, left) :]
