"""Printing of lines, errors and a progress bar, and the escaping of unprintable characters."""

# ruff: noqa: PLC0415 -- rich is loaded when it draws: `--help` of every verb passes through here

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import typer

from exporters.wording import printable
from stream.errors import ExitCode


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar on a terminal, nothing elsewhere. Yields a function of (done, total or None)."""
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
    """Print on stderr what could not be read; returns the exit code."""
    for problem in problems:
        typer.echo(f"error: {printable(problem)}", err=True)
    return ExitCode.UNREADABLE if problems else ExitCode.OK


def print_notes(notes: Iterable[str], problems: Sequence[str]) -> int:
    """Print on stderr the notes of a source, and what could not be read; returns the exit code."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    return print_problems(problems)


def report_internal_error() -> None:
    """Print below a traceback that it is a fault of lagwarden."""
    typer.echo("error: internal error of lagwarden; please report it with the lines above", err=True)


def printable_json(text: str) -> str:
    r"""Escape the same as `printable` in JSON, whose value stays the same (`\u001b`); line feeds of its layout stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def print_api_json(answer: Any) -> None:
    """Print an answer of the API as JSON: indented on a terminal, in one line elsewhere."""
    indent = 2 if sys.stdout.isatty() else None
    print_lines([printable_json(json.dumps(answer, indent=indent, ensure_ascii=indent is None))])


def print_lines(lines: Iterable[str]) -> None:
    """Print lines; a closed pipe (`| head`) is not an error."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would fail again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
