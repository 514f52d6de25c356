"""The files of a release, written here as by the workflow."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest
import yaml

from deploy.chart.tools import ToolsUnreachableError, python_tools
from deploy.release.artifacts import ArtifactError, build_wheel, package_chart, write_constraints, write_sbom
from deploy.release.versions import project_version
from tests.architecture.sources import PRODUCT

ROOT: Final = Path(__file__).resolve().parents[3]
BESIDE: Final = "pyspark_consumer_offsets"
DIGEST: Final = "sha256:" + "0123456789abcdef" * 4


def test_wheel_has_every_file_of_the_packages(tmp_path: Path) -> None:
    """The wheel also has pages, styles and other data, and an executable program; the sdist has no other folder."""
    wheel = build_wheel(tmp_path)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], cwd=ROOT, check=True)
    with tarfile.open(next(tmp_path.glob("*.gz"))) as source:
        folders = {name.split("/")[1] for name in source.getnames() if name.count("/") > 1}
    assert folders == {*PRODUCT, "deploy"}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PRODUCT]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    if not listed:
        pytest.skip("this tree is no git checkout")
    with zipfile.ZipFile(wheel) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
    expected = {name if name.startswith(f"{BESIDE}/") else f"lagwarden/{name}" for name in listed}
    expected |= {"lagwarden/__init__.py", "lagwarden/py.typed"}
    assert expected == {name for name in entries if ".dist-info/" not in name}
    assert entries["lagwarden/stream/spark/executor_java/bin/java"].external_attr >> 16 & 0o111 == 0o111


@pytest.mark.chart
def test_packaged_chart_runs_the_image_of_its_release(tmp_path: Path) -> None:
    """Name and digest of the image are default values. All other values are as in the tree."""
    try:
        python_tools()
    except ToolsUnreachableError as error:
        pytest.skip(str(error))
    archive = package_chart(tmp_path, f"registry.example/team/lagwarden@{DIGEST}", "https://forge.example/blob/v1")
    assert archive.name == f"lagwarden-{project_version()}.tgz"
    with tarfile.open(archive) as files:
        names = set(files.getnames())
        text = files.extractfile("lagwarden/values.yaml")
        values = yaml.safe_load(text.read())
        chart = files.extractfile("lagwarden/Chart.yaml")
        annotations = yaml.safe_load(chart.read())["annotations"]
    assert f"registry.example/team/lagwarden@{DIGEST}" in annotations["artifacthub.io/images"]
    assert "https://forge.example/blob/v1/SECURITY.md" in annotations["artifacthub.io/links"]
    assert "lagwarden/templates/statefulset.yaml" in names
    assert not [name for name in names if name.startswith("lagwarden/ci/")]
    before = yaml.safe_load((ROOT / "deploy" / "helm" / "lagwarden" / "values.yaml").read_text())
    expected = before["image"] | {"repository": "registry.example/team/lagwarden", "digest": DIGEST}
    assert values == before | {"image": expected}


def test_image_without_a_digest_is_refused(tmp_path: Path) -> None:
    """An image name without a complete digest is an error, because a tag can be moved after the release."""
    for image in ("lagwarden", "lagwarden:0.1.0", "lagwarden@sha256:12", f"a b@{DIGEST}"):
        with pytest.raises(ArtifactError, match="is not NAME@sha256:DIGEST"):
            package_chart(tmp_path, image)


def test_constraints_are_the_tested_versions_of_every_extra(tmp_path: Path) -> None:
    """Each pin of the image is among them, each is a pin of the tests, and the packages of all extras have one."""
    pins = {
        name: set(re.findall(r"^[a-z0-9-]+==[^ \n]+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("run.txt", "dev.txt")
    }
    constraints = set(write_constraints(tmp_path).read_text().splitlines())
    assert pins["run.txt"] < constraints < pins["dev.txt"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [line for name in extras.keys() - {"dev", "demo"} for line in extras[name]]
    assert {re.split("[<>=]", line)[0] for line in wanted} <= {pin.partition("==")[0] for pin in constraints}


def test_sbom_lists_every_pinned_package_with_its_hashes(tmp_path: Path) -> None:
    """Names, versions and hashes are those of the image's requirements."""
    document = json.loads(write_sbom(tmp_path).read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "lagwarden"
    assert document["metadata"]["component"]["version"] == project_version()
    found = {
        f"{component['name']}=={component['version']}": {
            each["content"]
            for reference in component["externalReferences"]
            for each in reference.get("hashes", [])
            if each["alg"] == "SHA-256"
        }
        for component in document["components"]
    }
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements" / "run.txt").read_text())
    expected = {
        entry.split()[0]: set(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)) for entry in entries if "==" in entry
    }
    assert len(expected) > 20
    assert found == expected
