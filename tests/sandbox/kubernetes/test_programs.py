"""Kubernetes' programs are built once from pinned modules, and missing ones give an error with the remedy."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from sandbox.kubernetes import programs
from sandbox.kubernetes.programs import (
    ETCD,
    MODULE,
    PACKAGES,
    KubernetesMissingError,
    build,
    programs_folder,
    require_programs,
    version,
)
from sandbox.programs.debian import unpacked_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a cache that has etcd and no program of Kubernetes."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    unpacked_folder(ETCD).mkdir(parents=True)
    return tmp_path


def use_go(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Put a script in the place of Go; its sixth argument is the target folder."""
    program = folder / "go"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(program))


def test_all_modules_of_kubernetes_are_of_one_release() -> None:
    """No module is a folder of Kubernetes' own tree; each staging module is v0.X.Y for Kubernetes vX.Y.Z."""
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) ?(\S*)$", (MODULE / "go.mod").read_text(), re.MULTILINE)
    staged = version().replace("v1.", "v0.")
    assert len(replaced) > 30
    assert [row for row in replaced if row[1:] != (row[0], staged)] == []


def test_every_module_has_a_checksum() -> None:
    """The direct and the indirect modules are in go.sum, each with the version that replaces its own, if any does."""
    sums, modules = (MODULE / "go.sum").read_text(), (MODULE / "go.mod").read_text()
    required = dict(re.findall(r"^\t(\S+) (v\S+)", modules, re.MULTILINE))
    replaced = dict(re.findall(r"^\t(\S+) => \1 (v\S+)$", modules, re.MULTILINE))
    assert len(required) > 100
    used = {name: replaced.get(name, number) for name, number in required.items()}
    assert [name for name, number in used.items() if f"{name} {number} h1:" not in sums] == []


@pytest.mark.usefixtures("cache")
def test_programs_that_are_not_built_are_an_error() -> None:
    """The message has the command that builds the programs."""
    with pytest.raises(KubernetesMissingError, match=rf"Kubernetes {version()} is not built: run make cluster"):
        require_programs()


@pytest.mark.usefixtures("cache")
def test_missing_go_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the request for the programs and their build raise the error."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for call in (require_programs, build):
        with pytest.raises(KubernetesMissingError, match="there is no go on PATH"):
            call()


def test_built_programs_are_found_and_not_built_again(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """A build stamps the version into both programs, and the next one does not call Go."""
    names = " ".join(package.rpartition("/")[2] for package in PACKAGES)
    use_go(monkeypatch, cache, f'printf "%s\\n" "$@" > {cache}/arguments; for name in {names}; do : > "$6$name"; done')
    build()
    assert f"version.gitVersion={version()}" in (cache / "arguments").read_text()
    use_go(monkeypatch, cache, "exit 1")
    build()
    assert [path.exists() for name, path in require_programs().items() if name != "etcd"] == [True, True]


def test_failed_build_is_an_error_and_leaves_no_files(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """The message has the last line of Go; the next attempt starts again."""
    use_go(monkeypatch, cache, "echo 'dial tcp: no such host' >&2; exit 1")
    with pytest.raises(KubernetesMissingError, match="go build failed: dial tcp: no such host"):
        build()
    assert list(programs_folder().parent.iterdir()) == []


def test_missing_etcd_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message names etcd if Debian's package cannot be fetched."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(KubernetesMissingError, match="etcd is missing: etcd-server is installed from Debian packages"):
        build()
    programs.programs_folder().mkdir(parents=True)
    with pytest.raises(KubernetesMissingError, match="etcd is missing: run make cluster"):
        require_programs()
