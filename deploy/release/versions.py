"""The places of the tree that hold the version of a release, compared with the tag."""

import tomllib
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[2]


def project_version(root: Path = ROOT) -> str:
    """Return the version of the Python package."""
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def differing_versions(tag: str, root: Path = ROOT) -> list[str]:
    """Return one line for each version of the tree that is not the tag's, such as `v0.1.0`."""
    chart = yaml.safe_load((root / "deploy" / "helm" / "lagwarden" / "Chart.yaml").read_text())
    found = {
        "the version in pyproject.toml": project_version(root),
        "the version of the chart": str(chart["version"]),
        "the appVersion of the chart": str(chart["appVersion"]),
    }
    return [f"{name} is {version}, and the tag is {tag}" for name, version in found.items() if f"v{version}" != tag]
