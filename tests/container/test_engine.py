"""The tests of the image are skipped with the cause if no engine can run. This test needs no engine."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.container.engine import EngineUnavailableError, require_engine


@pytest.mark.parametrize(
    ("user", "programs", "reason"),
    [
        pytest.param(1000, ["apt-get", "dpkg"], "root", id="not root"),
        pytest.param(0, ["apt-get"], "apt-get", id="no Debian"),
        pytest.param(0, ["dpkg"], "apt-get", id="no apt"),
    ],
)
def test_missing_requirement_is_named(
    monkeypatch: pytest.MonkeyPatch, user: int, programs: list[str], reason: str
) -> None:
    """Each missing requirement of the engine has its own reason."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in programs else None)
    with pytest.raises(EngineUnavailableError, match=reason):
        require_engine()
