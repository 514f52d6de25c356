"""The workflow of releases: valid, pinned, and composed of the steps that the other tests of this folder run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from deploy.chart.tools import ToolsUnreachableError
from deploy.release.workflow_lint import actionlint, problems

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[3]
WORKFLOW: Final = ROOT / ".github" / "workflows" / "release.yml"
UNPINNED: Final = {"pypa/gh-action-pypi-publish": "the commits of its newest tags could not be verified"}
"""Actions without the digest of a commit, and why."""


def steps() -> Iterator[dict[str, Any]]:
    """Yield the steps of all jobs."""
    for job in yaml.safe_load(WORKFLOW.read_text())["jobs"].values():
        yield from job["steps"]


@pytest.fixture(scope="module")
def linter() -> None:
    """Build actionlint, or skip where its module or Go is missing."""
    try:
        actionlint()
    except ToolsUnreachableError as error:
        pytest.skip(str(error))


@pytest.mark.chart
@pytest.mark.usefixtures("linter")
def test_workflows_have_no_findings() -> None:
    """The linter checks syntax, expressions, contexts, permissions and names of inputs."""
    assert problems() == []


@pytest.mark.chart
@pytest.mark.usefixtures("linter")
def test_linter_finds_an_unknown_context(tmp_path: Path) -> None:
    """The linter reports a misspelled property of the matrix, so the test above can fail."""
    broken = WORKFLOW.read_text().replace("matrix.platform", "matrix.plattform")
    (tmp_path / "broken.yml").write_text(broken)
    assert any('property "plattform" is not defined' in line for line in problems(tmp_path))


def test_actions_are_pinned_by_commit() -> None:
    """Each action except the listed one has a commit, and its version as comment, because a tag can be moved."""
    used = re.findall(r"uses: (\S+?)@(\S+)(?: # (v\S+))?", WORKFLOW.read_text())
    assert used
    assert {name for name, at, version in used if not (re.fullmatch("[0-9a-f]{40}", at) and version)} == set(UNPINNED)


def test_workflow_names_no_registry() -> None:
    """The registry is a variable of the repository, so that a fork releases to its own registry."""
    text = WORKFLOW.read_text()
    assert "://" not in text.replace("oci://$CHARTS", "")
    assert not re.search(r"\b(docker|ghcr|quay)\.io\b", text)


def test_make_targets_of_the_workflow_exist() -> None:
    """The steps run five targets of `make`, and the Makefile has each of them."""
    called = {name for step in steps() for name in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert called == {"test", "audit", "docs", "release", "release-check"}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert called <= set(targets)


def test_permissions_are_given_job_by_job() -> None:
    """The default is no permission, and no checkout keeps a token."""
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {}
    assert all("permissions" in job for job in workflow["jobs"].values())
    checkouts = [step for step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_site_of_the_documentation_is_deployed() -> None:
    """The output of `make docs` is uploaded, and deployed after the release with the needed rights."""
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    order = [step.get("run", step.get("uses", "")).partition("@")[0] for step in jobs["files"]["steps"]]
    built = next(at for at, words in enumerate(order) if words.startswith("make docs"))
    upload = jobs["files"]["steps"][order.index("actions/upload-pages-artifact")]
    assert built < order.index("actions/upload-pages-artifact")
    assert ROOT / upload["with"]["path"] == ROOT / "build" / "site" / "html"
    site = jobs["site"]
    assert [step["uses"].partition("@")[0] for step in site["steps"]] == ["actions/deploy-pages"]
    assert site["needs"] == "publish"
    assert site["permissions"] == {"pages": "write", "id-token": "write"}


DIGEST: Final = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("digest", "is_built"),
    [
        pytest.param(DIGEST, True, id="a digest"),
        pytest.param("", False, id="no answer"),
        pytest.param("12-slim", False, id="a tag"),
    ],
)
def test_the_image_has_a_base_of_a_known_digest(digest: str, tmp_path: Path, *, is_built: bool) -> None:
    """The build step, run with a fake docker, stops without the digest of the base."""
    (script,) = (step["run"] for step in steps() if "buildx build" in step.get("run", ""))
    docker = tmp_path / "docker"
    docker.write_text(f"""#!/bin/sh
case "$*" in
  *inspect*) echo {digest} ;;
  *) echo "$*" >>{tmp_path}/calls; echo '{{"containerimage.digest": "{DIGEST}"}}' >image.json ;;
esac
""")
    docker.chmod(0o755)
    # GitHub runs a step in this way.
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PLATFORM": "linux/amd64", "IMAGE": "i"}
    subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=False)
    built = [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith("buildx build")]
    assert [f"BASE_IMAGE=debian@{digest}" in line for line in built] == [True] * is_built
