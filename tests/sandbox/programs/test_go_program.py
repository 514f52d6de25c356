"""Programs are built once from pinned modules, and a missing one gives an error with the reason."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from sandbox.keda.program import MODULE
from sandbox.programs.go_program import GoProgramMissingError, built, program_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use a cache without programs."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))


def use_go(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Put a script in the place of Go; its sixth argument is the target."""
    go = folder / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(go))


def build() -> Path:
    """Build a small program with the Go on PATH."""
    return built(MODULE, "small", "a small program")


def test_missing_go_is_an_error_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the program that needs Go, and the missing Go."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(GoProgramMissingError, match="a small program is built with Go, and there is no go on PATH"):
        build()


def test_a_failed_build_names_its_last_line_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No program is left, so that the next run tries again."""
    use_go(monkeypatch, tmp_path, "echo first; echo no network; exit 1")
    with pytest.raises(GoProgramMissingError, match="no network"):
        build()
    assert not program_path(MODULE, "small").exists()


def test_a_built_program_is_not_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second build returns the program in the cache and does not call Go."""
    use_go(monkeypatch, tmp_path, 'mkdir -p "$(dirname "$6")"; echo built > "$6"')
    assert build().read_text() == "built\n"
    use_go(monkeypatch, tmp_path, "exit 1")
    assert build() == program_path(MODULE, "small")
