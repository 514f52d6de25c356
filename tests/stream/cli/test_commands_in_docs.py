"""Every `lagwarden …` that the documents tell a person to type is a command line that lagwarden takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import typer.main

from stream.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
PAGES: Final = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/runbooks").glob("*.md")),
    *sorted((ROOT / "deploy/helm/lagwarden").glob("*.md")),
    ROOT / "deploy/helm/lagwarden/templates/NOTES.txt",
]


def typed(text: str) -> Iterator[str]:
    """Give the command lines in a page: of its blocks line by line, of its sentences what stands in a code span."""
    parts = re.split(r"^\s*```.*$", text, flags=re.MULTILINE)
    for at, part in enumerate(parts):
        found = part.splitlines() if at % 2 else [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", part)]
        for line in found:
            yield from re.findall(r"^\s*(?:\.venv/bin/)?lagwarden +([a-z].*)", line)


def faults(line: str) -> str:
    """Say what is wrong with what stands behind `lagwarden`, or nothing."""
    command: Any = typer.main.get_command(app)
    rest = shlex.split(line, comments=True)
    try:
        while hasattr(command, "commands") and rest:
            name, *rest = rest
            if name not in command.commands:
                return f"no verb {name}"
            command = command.commands[name]
        command.make_context(command.name, rest)
    except typer.TyperException as error:
        return error.format_message() if hasattr(error, "format_message") else str(error)
    return ""


LINES: Final = sorted({(page.name, line) for page in PAGES for line in typed(page.read_text())})


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line}" for page, line in LINES])
def test_what_is_told_to_type_can_be_typed(page: str, line: str) -> None:
    """The verb exists, and so do its options; what it needs is given."""
    assert faults(line) == "", page


def test_the_documents_tell_of_many() -> None:
    """The search finds what it is to judge, in blocks and in sentences, and what is wrong is noticed."""
    assert len(LINES) > 20
    page = "Say `lagwarden\ntop --x`.\n```sh\nlagwarden run -b B  # so\n```\n"
    assert list(typed(page)) == ["top --x", "run -b B  # so"]
    assert faults("explain") != ""
    assert faults("acls --user me") != ""
    assert faults("explode") == "no verb explode"
