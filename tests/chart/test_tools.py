"""Fetching tools and schemas: a missing network skips tests, and a wrong file fails them. These tests need neither."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deploy.chart.tools import OPERATOR, ToolsError, ToolsUnreachableError, custom_schema

RELEASE = "v0.93.1"
CRD = """\
spec:
  versions:
    - {served: false, schema: {openAPIV3Schema: {type: old}}}
    - {served: true, schema: {openAPIV3Schema: {type: object}}}
"""


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Replace Go by a script of the test, with an empty cache."""
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))

    def install(script: str) -> None:
        program = tmp_path / "go"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(shutil, "which", lambda _: str(program))

    return install


def module(folder: Path, checksum: str) -> str:
    """Return a script that answers as `go mod download -json` does, with a module that has that checksum."""
    archive = folder / "module.zip"
    with zipfile.ZipFile(archive, "w") as files:
        for plural in OPERATOR.plurals.values():
            inside = f"{OPERATOR.module}@{RELEASE}/{OPERATOR.file.format(plural=plural)}"
            files.writestr(inside, CRD)
    return f"echo '{json.dumps({'Sum': checksum, 'Zip': str(archive)})}'"


def test_a_module_with_the_right_checksum_is_kept(go: Any, tmp_path: Path) -> None:
    """The schema is that of the served version. The next request fetches nothing."""
    go(module(tmp_path, OPERATOR.sums[RELEASE]))
    assert custom_schema(RELEASE, "ServiceMonitor") == {"type": "object"}
    go("exit 1")
    assert custom_schema(RELEASE, "PrometheusRule") == {"type": "object"}


def test_a_module_with_another_checksum_is_refused(go: Any, tmp_path: Path) -> None:
    """A file whose checksum is not the pinned one is not used and leaves no file in the cache."""
    go(module(tmp_path, "h1:another"))
    with pytest.raises(ToolsError, match="checksum h1:another") as raised:
        custom_schema(RELEASE, "ServiceMonitor")
    assert not isinstance(raised.value, ToolsUnreachableError)
    assert list((tmp_path / "cache" / "chart-tools").iterdir()) == []
