"""The collector is built once from pinned modules, and a missing one gives an error with the reason."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from sandbox.collector.program import MODULE, CollectorMissingError, build, program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use a cache without a collector."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))


def use_go(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Put a script in the place of Go; its sixth argument is the target."""
    go = folder / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(go))


def test_without_go_the_reason_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests skip with it."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CollectorMissingError, match="there is no go on PATH"):
        build()


def test_a_failed_build_names_its_last_line_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The next run tries again."""
    use_go(monkeypatch, tmp_path, "echo first; echo no network; exit 1")
    with pytest.raises(CollectorMissingError, match="no network"):
        build()
    assert not program().exists()


def test_a_built_collector_is_not_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It stays in the cache."""
    use_go(monkeypatch, tmp_path, 'mkdir -p "$(dirname "$6")"; echo built > "$6"')
    assert build().read_text() == "built\n"
    use_go(monkeypatch, tmp_path, "exit 1")
    assert build() == program()


def test_every_module_has_a_checksum() -> None:
    """Of the collector and of its exporter to a file."""
    sums = (MODULE / "go.sum").read_text()
    wanted = [line.split() for line in (MODULE / "go.mod").read_text().splitlines() if line.startswith("\t")]
    assert len(wanted) > 100
    assert [name for name, version, *_ in wanted if f"{name} {version}" not in sums] == []
