"""What the offline verbs print with: lines, problems, tables and a progress bar."""

# ruff: noqa: PLC0415 -- rich is loaded when it draws: `--help` of every verb passes through here
from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING

import typer

from stream.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _, __: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("capturing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("capturing", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def print_problems(problems: Sequence[str]) -> int:
    """Say on stderr what could not be read; gives the exit code."""
    for problem in problems:
        typer.echo(f"error: {printable(problem)}", err=True)
    return ExitCode.UNREADABLE if problems else ExitCode.OK


def report_internal_error() -> None:
    """Print below a traceback that it is a fault of lagwarden."""
    typer.echo("error: internal error of lagwarden; please report it with the lines above", err=True)


def printable(text: str) -> str:
    r"""Escape what a terminal would obey instead of showing, such as escape sequences, as Python does (`\x1b`)."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def printable_json(text: str) -> str:
    r"""Escape the same in a line of JSON, which keeps its meaning (`\u001b`); line feeds between its parts stay."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines; a reader that has seen enough (`| head`) is no error."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # What Python would still write when it ends goes nowhere, in silence.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
