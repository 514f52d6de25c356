"""The workflow of releases: valid, pinned, and of existing targets."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deploy.chart.tools import ToolsUnreachableError
from deploy.release.workflow_lint import actionlint, problems

ROOT: Final = Path(__file__).resolve().parents[3]
WORKFLOW: Final = ROOT / ".github" / "workflows" / "release.yml"
EVERY: Final = {path.name: path.read_text() for path in sorted(WORKFLOW.parent.glob("*.yml"))}
"""The text of each workflow. That of releases runs the others as jobs."""
JOBS: Final[list[dict[str, Any]]] = [job for text in EVERY.values() for job in yaml.safe_load(text)["jobs"].values()]
UNPINNED: Final = {"pypa/gh-action-pypi-publish": "the commits of its newest tags could not be verified"}
"""Actions without the digest of a commit, and why."""


def steps() -> list[dict[str, Any]]:
    """Return the steps of all jobs."""
    return [step for job in JOBS for step in job.get("steps", ())]


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


def test_actions_are_pinned_and_no_registry_is_named() -> None:
    """Each action but the listed one has a commit and its version; a fork releases to a registry of its own."""
    used = [found for text in EVERY.values() for found in re.findall(r"uses: (\S+?)@(\S+)(?: # (v\S+))?", text)]
    assert {name for name, at, version in used if not (re.fullmatch("[0-9a-f]{40}", at) and version)} == set(UNPINNED)
    for text in EVERY.values():
        assert "://" not in text.replace("oci://$CHARTS", "")
        assert not re.search(r"\b(docker|ghcr|quay)\.io\b", text)


def test_jobs_run_existing_targets_with_their_own_permissions() -> None:
    """The Makefile has each target. The default is no permission, and no checkout keeps a token."""
    called = {name for step in steps() for name in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert called == {"full", "test", "audit", "docs", "release", "release-check"}
    assert called <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert [name for name, text in EVERY.items() if yaml.safe_load(text)["permissions"] != {}] == []
    assert all("permissions" in job for job in JOBS)
    checkouts = [step for step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert {step["with"]["persist-credentials"] for step in checkouts} == {False}
