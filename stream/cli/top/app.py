"""`lagwarden top`: all groups live in a terminal, the worst first, and one of them in full. Joins its parts.

Keys come from `top_terminal`, what they do is `top_state`, what is shown `top_screen`, the news come from `top_asking`.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final

from stream.cli.group_source import unix_time
from stream.cli.top.keys import Key
from stream.cli.top.model import State, press
from stream.cli.top.poller import Answers, Asking, answered
from stream.cli.top.terminal import EndedError, require_terminal, taken_over
from stream.cli.top.view import lines_seen, rows_seen, screen
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from stream.cli.api_client import Running
    from stream.cli.top.terminal import Terminal

_TICK_SECONDS: Final = 1.0
"""How often ages are drawn anew where nothing else happens."""


def watch(source: Running, every: float) -> int:
    """Show the groups until a person has seen enough; gives the exit code. Raises Refusal where that cannot be."""
    require_terminal()
    first = _first(source)
    try:
        with taken_over() as terminal, Asking(source, every, first) as asking:
            _go_on(terminal, asking, source.address)
    except (EndedError, KeyboardInterrupt):
        pass
    return ExitCode.OK


def _first(source: Running) -> Answers:
    """Ask once before the screen is taken: where nobody answers it need not be. For one not ready yet we wait."""
    try:
        return answered(source)
    except Refusal as refusal:
        if refusal.code is not ExitCode.NOT_READY:
            raise
        return Answers(trouble=refusal.what)


def _go_on(terminal: Terminal, asking: Asking, where: str) -> None:
    """Draw, wait for whatever comes first, and let it change what is drawn."""
    state = State()
    while not state.ended:
        state = _told(state, asking.answers)
        columns, lines = terminal.size
        state, drawn = screen(state, where, columns, lines, time.time())
        terminal.show(drawn)
        seen = rows_seen(lines) if state.opened is None else lines_seen(lines)
        for key in terminal.keys([asking.wake], _TICK_SECONDS):
            if key == Key.REDRAW:
                terminal.clear()
            state = press(state, key, seen)
        asking.quietened()
        asking.look_at(state.opened)


def _told(state: State, answers: Answers) -> State:
    """Put the newest answers into what is shown; of another group than the opened one nothing."""
    detail = answers.detail if answers.detail and answers.detail["group"] == state.opened else None
    groups = state.groups if answers.groups is None else answers.groups
    return dataclasses.replace(
        state, groups=groups, snapshot_time=unix_time(answers.snapshot_time), detail=detail, trouble=answers.trouble
    )
