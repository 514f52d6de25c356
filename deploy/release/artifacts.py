"""The files of a release: the wheel and its constraints, the packaged chart, the SBOM and their checksums."""

import hashlib
import importlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from deploy.chart.tools import python_tools
from deploy.chart.values_schema import CHART
from deploy.release.artifact_hub import release_annotations, with_annotations
from deploy.release.versions import ROOT, project_version

CHECKSUMS: Final = "SHA256SUMS"
_IMAGE: Final = re.compile(r"(?P<repository>[^@\s]+)@(?P<digest>sha256:[0-9a-f]{64})")


class ArtifactError(RuntimeError):
    """A file of the release could not be written; the message is the last line of its tool."""


def build_wheel(folder: Path) -> Path:
    """Write the wheel with the pinned build backend of the environment; return its path. Raises ArtifactError."""
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.absolute())])
    return folder / f"lagwarden-{project_version()}-py3-none-any.whl"


def package_chart(folder: Path, image: str = "", source: str = "") -> Path:
    """Write the chart as an archive of Helm; return its path.

    `image` (`NAME@sha256:...`) becomes the default of the values `image.repository` and `image.digest`, so that the
    chart runs the image of its release. `source` is the address of the repository's files, for the links on Artifact
    Hub. Raises ArtifactError for another form of image, ToolsUnreachableError without Helm's engine.
    """
    with tempfile.TemporaryDirectory() as scratch:
        draft = Path(scratch) / CHART.name
        shutil.copytree(CHART, draft)
        if image:
            values = draft / "values.yaml"
            values.write_text(_with_image(values.read_text(), image))
        chart = draft / "Chart.yaml"
        chart.write_text(with_annotations(chart.read_text(), release_annotations(image, source)))
        return Path(_helm().package(str(draft), destination=str(folder.absolute())))


def _with_image(values: str, image: str) -> str:
    """Return the text of the values with this image as default; the comments stay."""
    parts = _IMAGE.fullmatch(image)
    if parts is None:
        raise ArtifactError(f"the image {image!r} is not NAME@sha256:DIGEST")
    for key in ("repository", "digest"):
        line = f'  {key}: ""\n'
        if values.count(line) != 1:
            raise ArtifactError(f"values.yaml does not have the line {line.strip()!r} once")
        values = values.replace(line, f"  {key}: {parts[key]}\n")
    return values


def write_sbom(folder: Path) -> Path:
    """Write the Python packages that lagwarden runs with, as CycloneDX; return the path. Raises ArtifactError.

    The packages, versions and hashes are those of requirements/run.txt. The image has its own SBOM, with Debian's
    packages and the jars, from its builder.
    """
    path = folder / f"lagwarden-{project_version()}.cdx.json"
    requirements, project = str(ROOT / "requirements" / "run.txt"), str(ROOT / "pyproject.toml")
    _run(
        [
            *(sys.executable, "-m", "cyclonedx_py", "requirements", requirements, "--pyproject", project),
            *("--output-reproducible", "--output-format", "JSON", "--output-file", str(path.absolute())),
        ]
    )
    return path


def write_constraints(folder: Path) -> Path:
    """Write the versions that were tested, of all packages that an install can bring, for `pip install -c`."""
    path = folder / f"lagwarden-{project_version()}-constraints.txt"
    return Path(shutil.copy(ROOT / "requirements" / "constraints.txt", path))


def write_checksums(folder: Path, files: Sequence[Path]) -> Path:
    """Write the SHA-256 of these files in the format of `sha256sum`; return the path."""
    path = folder / CHECKSUMS
    path.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files))
    return path


def _helm() -> Any:
    if (tools := str(python_tools())) not in sys.path:
        # Behind the project's own packages, which win where both have one.
        sys.path.append(tools)
    return importlib.import_module("helm_python")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise ArtifactError(f"{command[2]} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
