"""Mode operator: a SparkApplication whose driver is the only pod, and runs lagwarden's own command."""

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.chart.rendering import Object, Rendered, case, merged, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]


@pytest.fixture
def rendered() -> Rendered:
    return render(case("operator"))


def conf(rendered: Rendered) -> Object:
    return rendered.one("SparkApplication")["spec"]["sparkConf"]


def test_the_pod_is_that_of_mode_local(rendered: Rendered) -> None:
    """The template has the metadata and the specification of the StatefulSet's, except command and claim."""
    local = render(merged(case("operator"), {"mode": "local"}))
    assert rendered.template["metadata"] == local.template["metadata"]
    pod, wanted = rendered.pod, local.pod
    (claim,) = (one for one in pod["volumes"] if one["name"] == "checkpoint")
    pod["volumes"].remove(claim)
    assert claim["persistentVolumeClaim"]["claimName"] == rendered.one("PersistentVolumeClaim")["metadata"]["name"]
    command = pod["containers"][0].pop("command")
    assert command[-1].endswith(" ".join(["lagwarden", *wanted["containers"][0].pop("args")]))
    assert pod == wanted


def test_the_command_drops_the_arguments_of_spark(rendered: Rendered, tmp_path: Path) -> None:
    """Spark appends `driver --properties-file …` to the command. The program gets only `run`."""
    program = tmp_path / "lagwarden"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    init, separator, *command = rendered.container["command"]
    assert (init, separator) == ("tini", "--")
    arguments = ["driver", "--properties-file", "/opt/spark/conf/spark.properties", "--class", "a.B", "local:///x"]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "run\n"


def test_spark_sets_the_limits_of_the_values(rendered: Rendered) -> None:
    """Heap and overhead together are the limit, and the heap is that of lagwarden's JVM; a limit of CPU is optional."""
    settings = conf(rendered)
    sizes = {
        name: int(settings[name].removesuffix("m")) for name in ("spark.driver.memory", "spark.driver.memoryOverhead")
    }
    assert sizes["spark.driver.memory"] == 1024
    assert sum(sizes.values()) == 3 * 1024
    assert settings["spark.kubernetes.driver.request.cores"] == "1"
    assert settings["spark.kubernetes.driver.limit.cores"] == "2"
    rendered = render(merged(case("operator"), {"resources": {"limits": {"cpu": None}}}))
    assert "spark.kubernetes.driver.limit.cores" not in conf(rendered)


def test_spark_and_the_template_agree(rendered: Rendered) -> None:
    """Image, pull policy, account and container are the template's; the release is that of the installed PySpark."""
    settings, container = conf(rendered), rendered.container
    assert settings["spark.kubernetes.container.image"] == container["image"]
    assert settings["spark.kubernetes.container.image.pullPolicy"] == container["imagePullPolicy"]
    assert settings["spark.kubernetes.authenticate.driver.serviceAccountName"] == rendered.pod["serviceAccountName"]
    assert settings["spark.kubernetes.driver.podTemplateContainerName"] == container["name"]
    assert settings["spark.kubernetes.driver.master"] == "local[2]"
    assert rendered.one("SparkApplication")["spec"]["runtimeVersions"]["sparkVersion"] == version("pyspark")


def test_the_claim_follows_the_values() -> None:
    """Helm's annotation follows `persistence.whenDeleted`, because no StatefulSet owns the claim.

    The chart makes no claim if it has an existing one, or if persistence is off.
    """

    def made(**persistence: object) -> Rendered:
        return render(merged(case("operator"), {"persistence": persistence}))

    for kept, policy in (("Retain", "keep"), ("Delete", None)):
        claim = made(whenDeleted=kept).one("PersistentVolumeClaim")
        assert claim["metadata"]["annotations"].get("helm.sh/resource-policy") == policy
        assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    existing = {"persistentVolumeClaim": {"claimName": "kept"}}
    for rendered, volume in (
        (made(existingClaim="kept"), existing),
        (made(enabled=False), {"emptyDir": {"sizeLimit": "5Gi"}}),
    ):
        assert rendered.of_kind("PersistentVolumeClaim") == []
        assert {"name": "checkpoint", **volume} in rendered.pod["volumes"]
