"""Fixtures of the commands: a served snapshot, a command line, and an environment without options."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Final

import pytest
import typer

from tests.exporters.serving import serving_url
from tests.exporters.snapshots import small_snapshot
from tests.stream.cli.command_line import CommandLine

if TYPE_CHECKING:
    from collections.abc import Iterator

_get_command: Final = functools.cache(typer.main.get_command)


@pytest.fixture(autouse=True)
def _commands_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the commands in the first test only: that takes longer than most commands."""
    monkeypatch.setattr(typer.main, "get_command", _get_command)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("LAGWARDEN_") and name != "LAGWARDEN_CACHE":
            monkeypatch.delenv(name)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Serve the small snapshot with details of billing; returns the URL."""
    with serving_url(small_snapshot()) as address:
        yield address
