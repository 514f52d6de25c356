"""Upgrades on a real API server: changes that reach the pod, and changes that Kubernetes refuses with their remedy."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

import pytest
import yaml

from deploy.chart.values_schema import CHART
from tests.chart.rendering import Object, case, merged
from tests.cluster.release import STATEFUL_SET, Release

pytestmark = pytest.mark.cluster

ROOT: Final = CHART.parents[2]
FIRST_UPGRADABLE: Final = "4ed975c"
"""The commit that made the pod management policy Parallel. Before the first tag, upgrades start at this commit."""
OWN_NAME: Final = "watch-lagwarden"


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Return the result of a git command in this checkout."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)


def previous_chart(folder: Path, revision: str) -> Path:
    """Return the chart of a revision, unpacked into the folder; skip in a checkout without its history."""
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != b"false":
        pytest.skip("this checkout has no history, and so no earlier chart")
    path = str(CHART.relative_to(ROOT))
    packed = git("archive", revision, path)
    assert packed.returncode == 0, packed.stderr.decode()
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / path


def last_tag() -> str:
    """Return the last tag before this commit, else FIRST_UPGRADABLE."""
    return git("describe", "--tags", "--abbrev=0").stdout.decode().strip() or FIRST_UPGRADABLE


def edited_chart(folder: Path, file: str, old: str, new: str) -> Path:
    copy = folder / CHART.name
    shutil.copytree(CHART, copy, dirs_exist_ok=True)
    template = copy / "templates" / file
    assert old in template.read_text()
    template.write_text(template.read_text().replace(old, new))
    return copy


def with_login(secret: str) -> Object:
    """Return values whose password is in a Secret of that name."""
    return merged(case("scram"), {"credentials": {"sasl": {"existingSecret": secret}}})


def secret_of(pod: Object) -> str:
    """Return the name of the Secret with the password that the pod mounts."""
    (volume,) = (one for one in pod["spec"]["volumes"] if one["name"] == "sasl")
    return str(volume["secret"]["secretName"])


def claims(release: Release) -> list[Object]:
    return release.cluster.objects("v1", "PersistentVolumeClaim", release.namespace)


def uid(release: Release) -> str:
    """Return the uid of the only claim of a release."""
    (claim,) = claims(release)
    return str(claim["metadata"]["uid"])


def test_upgrade_from_the_last_release(release: Release, tmp_path: Path) -> None:
    """A release of the last tag is upgraded with the same values, and its claim stays."""
    release.install(case("minimal"), previous_chart(tmp_path, last_tag()))
    before, claim = release.pod(), uid(release)
    release.upgrade(merged(case("minimal"), {"config": {"log": {"level": "debug"}}}))
    after = release.pod(other_than=before)
    assert after["metadata"]["annotations"] != before["metadata"]["annotations"]
    assert uid(release) == claim


def test_upgrade_from_before_the_policy(release: Release, tmp_path: Path) -> None:
    """The pod management policy cannot be changed. The upgrade succeeds after the StatefulSet is deleted."""
    release.install(case("minimal"), previous_chart(tmp_path, f"{FIRST_UPGRADABLE}^"))
    release.pod()
    assert release.refused_upgrade(case("minimal")).count("podManagementPolicy: Kubernetes does not change this") == 1
    release.delete_stateful_set("Orphan")
    release.upgrade(case("minimal"))
    assert release.stateful_set()["spec"]["podManagementPolicy"] == "Parallel"


def test_a_changed_option_is_a_new_pod(release: Release) -> None:
    """Another number of reading tasks replaces the pod, and the configuration file has the number."""
    release.install(case("minimal"))
    before = release.pod()
    release.upgrade(merged(case("minimal"), {"config": {"job": {"read_tasks": 4}}}))
    after = release.pod(other_than=before)
    assert after["metadata"]["labels"]["controller-revision-hash"] == release.stateful_set()["status"]["updateRevision"]
    written = release.cluster.get("v1", "ConfigMap", release.namespace, OWN_NAME)
    assert yaml.safe_load(written["data"]["lagwarden.yaml"])["job"]["read_tasks"] == 4


@pytest.mark.parametrize("policy", ["Parallel", "OrderedReady"])
def test_a_corrected_password_reaches_a_pod_that_never_got_ready(release: Release, policy: str, tmp_path: Path) -> None:
    """The upgrade replaces a pod without a node, which is as unready as one with a wrong password.

    Kubernetes' default policy would keep it.
    """
    edited_chart(tmp_path, "_storage.tpl", '"Parallel"', f'"{policy}"')
    chart = tmp_path / CHART.name
    template = chart / "templates" / "statefulset.yaml"
    template.write_text(template.read_text().replace("Policy: Parallel", f"Policy: {policy}"))
    release.install(with_login("wrong"), chart)
    before = release.pod()
    assert secret_of(before) == "wrong"
    release.upgrade(with_login("right"), chart)
    if policy == "Parallel":
        assert secret_of(release.pod(other_than=before)) == "right"
    else:
        status = release.stateful_set()["status"]
        assert status["updateRevision"] != status["currentRevision"]
        assert release.pod()["metadata"]["uid"] == before["metadata"]["uid"]


PERMANENT: Final[dict[str, Object]] = {
    "persistence.size": {"size": "10Gi"},
    "persistence.storageClass": {"storageClass": "fast"},
    "persistence.accessMode": {"accessMode": "ReadWriteOncePod"},
    "persistence.annotations": {"annotations": {"example.com/for": "backup"}},
    "persistence.enabled": {"enabled": False},
    "persistence.existingClaim": {"existingClaim": "kept-from-before"},
}
"""Values that a StatefulSet keeps for its life, each with another value."""


@pytest.mark.parametrize("path", PERMANENT)
def test_a_permanent_value_is_refused_with_its_remedy(release: Release, path: str, tmp_path: Path) -> None:
    """The error names the value and a command. After it the same upgrade succeeds, and the claim is kept.

    The API server refuses the upgrade, too, if the chart's check is removed.
    """
    changed = merged(case("minimal"), {"persistence": PERMANENT[path]})
    release.install(case("minimal"))
    release.pod()
    claim = uid(release)
    unguarded = edited_chart(
        tmp_path, "_contradictions.tpl", '{{- include "lagwarden.upgrade.contradictions" . -}}', ""
    )
    assert "updates to statefulset spec for fields other than" in release.refused_upgrade(changed, unguarded)
    error = release.refused_upgrade(changed)
    assert f"{path}: Kubernetes does not change this" in error
    assert f"kubectl --namespace {release.namespace} delete statefulset {OWN_NAME} --cascade=orphan" in error
    release.delete_stateful_set("Orphan")
    release.upgrade(changed)
    release.stateful_set()
    assert claim in [one["metadata"]["uid"] for one in claims(release)]


def test_a_deleted_release_keeps_its_claim(release: Release) -> None:
    """The checkpoint still exists after `helm uninstall` and another `helm install`."""
    release.install(case("minimal"))
    release.pod()
    claim = uid(release)
    release.uninstall()
    release.cluster.wait_for(
        lambda: release.cluster.objects("v1", "Pod", release.namespace) == [], "the pod to be deleted"
    )
    release.install(case("minimal"))
    release.pod()
    assert uid(release) == claim
    assert release.cluster.get(*STATEFUL_SET, release.namespace, OWN_NAME) is not None
