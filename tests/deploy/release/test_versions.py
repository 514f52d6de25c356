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


def test_each_version_is_compared_with_the_tag(tmp_path: Path) -> None:
    """Each version that differs from the tag has one line, and equal versions have none."""
    for at, (versions, found) in enumerate(
        (
            (("1.2.3", "1.2.3", "1.2.3"), []),
            (("1.2.2", "1.2.3", "1.2.3"), ["the version in pyproject.toml is 1.2.2, and the tag is v1.2.3"]),
            (("1.2.3", "1.3.0", "1.2.3"), ["the version of the chart is 1.3.0, and the tag is v1.2.3"]),
            (("1.2.3", "1.2.3", "1.2.2"), ["the appVersion of the chart is 1.2.2, and the tag is v1.2.3"]),
        )
    ):
        assert differing_versions("v1.2.3", tree(tmp_path / str(at), *versions)) == found
