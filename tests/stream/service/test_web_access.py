"""TLS and logins of the HTTP server from the options, with their errors and log lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import bcrypt
import pytest
import structlog

from stream.config.options import HttpOptions
from stream.errors import ExitCode, Refusal
from stream.service.web_access import open_web_access

if TYPE_CHECKING:
    from pathlib import Path

USER = f"basic_auth_users: {{alice: {bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()}}}"


def test_default_is_open() -> None:
    """Neither TLS nor a login."""
    access = open_web_access(HttpOptions())
    assert not access.has_tls
    assert not access.credentials().needed


def test_unusable_file_is_a_refusal(tmp_path: Path) -> None:
    """The process does not start open to everybody because of a mistake."""
    with pytest.raises(Refusal) as refused:
        open_web_access(HttpOptions(web_config=tmp_path / "none.yaml"))
    assert refused.value.code is ExitCode.USAGE
    assert "none.yaml cannot be read" in str(refused.value)


def test_changes_are_logged(tmp_path: Path) -> None:
    """A good change at level info, an unusable one at level error with its cause."""
    now = [0.0]
    file = tmp_path / "web.yaml"
    file.write_text(USER)
    with structlog.testing.capture_logs() as lines:
        access = open_web_access(HttpOptions(web_config=file), lambda: now[0])
        for text in ("basic_auth_users: {alice: clear}", f"{USER}  # again"):
            file.write_text(text)
            os.utime(file, (now[0], now[0]))
            now[0] += 2.0
            access.credentials()
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("error", "web configuration unusable; the previous one stays in force"),
        ("info", "web configuration read again"),
    ]
    assert "alice is no bcrypt hash" in lines[0]["cause"]
