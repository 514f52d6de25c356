"""All places of the tree that hold a version have the version of the release."""

from pathlib import Path

import pytest

from deploy.release.__main__ import main
from deploy.release.versions import differing_versions, project_version


def tree(folder: Path, project: str, chart: str, image: str) -> Path:
    (folder / "deploy" / "helm" / "lagwarden").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{project}"\n')
    (folder / "deploy" / "helm" / "lagwarden" / "Chart.yaml").write_text(f"version: {chart}\nappVersion: {image}\n")
    return folder


def test_nothing_is_built_for_another_tag_or_for_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All versions of this tree agree. Another tag is an error, and `--only-check` builds nothing."""
    assert differing_versions(f"v{project_version()}") == []
    assert main(["--tag", "v99.0.0", "--into", str(tmp_path / "dist")]) == 1
    assert "and the tag is v99.0.0" in capsys.readouterr().err
    assert main(["--only-check", "--into", str(tmp_path / "dist")]) == 0
    assert not (tmp_path / "dist").exists()
