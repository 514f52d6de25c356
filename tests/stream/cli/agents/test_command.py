"""The command `mcp`: its errors before the first question."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stream.cli import app as cli
from stream.errors import ExitCode

if TYPE_CHECKING:
    import pytest


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the extra to install, without a traceback."""
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert cli.main(["mcp", "--url", "http://127.0.0.1:1"]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert "install lagwarden[mcp]" in error
    assert "Traceback" not in error


def test_an_invalid_url_is_an_error_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    """The command refuses the URL before the first question."""
    assert cli.main(["mcp", "--url", "nonsense"]) == ExitCode.USAGE
    assert "--url nonsense is not an http or https URL" in capsys.readouterr().err
