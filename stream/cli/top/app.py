"""`lagwarden top`: all groups live in a terminal, the worst first, and one of them in full.

Textual owns the terminal: its modes, its size, its keys. It draws on stderr and reads stdin.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import App
from textual.binding import Binding

from stream.cli.api_client import InstanceClient
from stream.cli.group_source import WORST_FIRST
from stream.cli.render.stdout import report_internal_error
from stream.cli.top.poller import PollResult, poll_forever
from stream.cli.top.screens import GroupListScreen, GroupScreen
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from textual.binding import BindingType

_REDRAW_SECONDS: Final = 1.0
"""The interval at which ages are redrawn."""


def watch(source: InstanceClient, interval: float) -> int:
    """Show the groups until the person quits; returns the exit code.

    Raises Refusal if there is no terminal, and if no instance answers. An instance that is not ready yet is waited for.
    """
    is_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if not is_terminal or os.environ.get("TERM") == "dumb":
        what = "`lagwarden top` needs a terminal as stdin, stdout and stderr, of a type that can move its cursor"
        advice = "`lagwarden groups` prints a table without one, `lagwarden top --json` its data"
        raise Refusal(what, advice, ExitCode.USAGE)
    try:
        first = PollResult(source.groups(WORST_FIRST))
    except Refusal as refusal:
        if refusal.code is not ExitCode.NOT_READY:
            raise
        first = PollResult(error=refusal.what)
    # A shell that exports these would fix the size: Textual prefers them to the size of the terminal.
    for name in ("LINES", "COLUMNS"):
        os.environ.pop(name, None)
    app = TopApp(source, interval, first)
    # Without mouse reporting a terminal lets a person select text.
    app.run(mouse=False)
    if app.return_code:  # Textual has printed the traceback
        report_internal_error()
        return ExitCode.INTERNAL
    return ExitCode.OK


class TopApp(App[None]):
    """The application: polls the instance, and shows the list of groups or one group."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", priority=True),
        Binding("ctrl+l", "redraw", priority=True),
    ]
    # Only the colours of the terminal, which are readable on any background. The screens need no scrollbar, because all
    # lines fit; one that appears while the window shrinks would take a column.
    CSS = """
    Screen { background: ansi_default; color: ansi_default; overflow: hidden; }
    .line { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #groups { height: 1fr; }
    #sentence { height: 2; }
    #notices { height: auto; max-height: 4; }
    #notices.empty { display: none; }
    VerticalScroll { scrollbar-size: 0 0; }
    """

    def __init__(
        self, source: InstanceClient, interval: float, first: PollResult, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.list = GroupListScreen(first, source.address, clock, self._open_group)
        self._clock = clock
        self._opened = queue.SimpleQueue[str | None]()
        polling = (source, interval, first, self._opened, self._show_from_thread)
        # A request may take its whole timeout; the process does not wait for it at exit.
        self._poller = threading.Thread(target=poll_forever, args=polling, daemon=True)

    def on_mount(self) -> None:
        """Start polling, and end on signals as on a key: the terminal gets its mode and content back."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit)
        self.push_screen(self.list)
        self.set_interval(_REDRAW_SECONDS, self._redraw_screen)
        self._poller.start()

    def _show_from_thread(self, result: PollResult) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self.call_later(self.show, result)

    def show(self, result: PollResult) -> None:
        """Show the newest answers."""
        self.list.show(result)
        if isinstance(self.screen, GroupScreen):
            self.screen.show(result)

    def _open_group(self, name: str) -> None:
        """Show one group in full, then the list again."""
        self._opened.put(name)
        self.push_screen(GroupScreen(name, self._clock), lambda _: self._opened.put(None))

    def _redraw_screen(self) -> None:
        if isinstance(self.screen, (GroupListScreen, GroupScreen)):
            self.screen.redraw()

    def action_redraw(self) -> None:
        """Redraw the whole screen, for example after another program has written over it."""
        self.screen.refresh(layout=True)
