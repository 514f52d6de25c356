"""Every command line `lagwarden …` in the documentation is valid."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer.main

from stream.cli.app import app
from stream.cli.options import HELP_OPTION_NAMES
from tests.stream.cli.command_line import CommandLine

ROOT: Final = Path(__file__).parents[3]
PAGES: Final = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "exporters/page/runbooks").glob("*.md")),
    *sorted((ROOT / "deploy/helm/lagwarden").glob("*.md")),
    ROOT / "deploy/helm/lagwarden/templates/NOTES.txt",
]


def command_lines(text: str) -> Iterator[str]:
    """Yield the command lines of a page: lines of its code blocks, and its code spans."""
    parts = re.split(r"^\s*```.*$", text, flags=re.MULTILINE)
    for at, part in enumerate(parts):
        found = part.splitlines() if at % 2 else [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", part)]
        for line in found:
            yield from re.findall(r"^\s*(?:\.venv/bin/)?lagwarden +([a-z].*)", line)


def usage_error(line: str) -> str:
    """Return the error for the arguments of `lagwarden`; empty if they are valid."""
    command: Any = typer.main.get_command(app)
    rest = shlex.split(line, comments=True)
    try:
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            name, *rest = rest
            if name not in command.commands:
                return f"no command {name}"
            command = command.commands[name]
        # The commands are shared with other tests, and keep their first option for help.
        command.make_context(command.name, rest, help_option_names=HELP_OPTION_NAMES)
    except typer.TyperException as error:
        return error.format_message() if hasattr(error, "format_message") else str(error)
    return ""


LINES: Final = sorted({(page.name, line) for page in PAGES for line in command_lines(page.read_text())})


def test_documented_command_lines_are_valid() -> None:
    """The command and its options exist, and no required argument is missing."""
    errors = {f"{page}: {line}": usage_error(line) for page, line in LINES}
    assert {place: error for place, error in errors.items() if error} == {}


def test_the_record_of_the_documentation_is_decoded(command: CommandLine) -> None:
    """The example is a complete key, and `decode` prints its fields."""
    (line,) = (line for page, line in LINES if page == "install.md" and line.startswith("decode "))
    command.run(*shlex.split(line, comments=True))
    assert json.loads(command.out)["key"]["data"] == {"group": "g", "topic": "t", "partition": 1}
