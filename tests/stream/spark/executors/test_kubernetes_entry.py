"""The command of an executor's container on Kubernetes, from the variables that Spark sets."""

from pathlib import Path
from typing import Final

import pytest

from stream.errors import Refusal
from stream.spark.executors.kubernetes_entry import executor_command
from tests.stream.spark.fake_java import write_java

VARIABLES: Final = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@lagwarden-driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_APPLICATION_ID": "spark-application-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "lagwarden-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_0": "--add-modules=jdk.incubator.vector",
    "SPARK_JAVA_OPT_10": "-Dspark.driver.port=7078",
    "SPARK_JAVA_OPT_2": "-Dspark.authenticate=true",
    "SPARK_CONF_DIR": "/opt/spark/conf",
}


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a runtime in JAVA_HOME."""
    program = write_java(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return program


def test_variables_of_spark_become_the_command_line(java: Path) -> None:
    """The command has the JVM options in the order of their numbers, the heap, PySpark's jars and the arguments.

    The option for the module of vectors is left out, because a trimmed runtime would not start with it.
    """
    command = executor_command(VARIABLES)
    at = command.index("-cp")
    assert command[:at] == [
        str(java),
        *("-Dspark.authenticate=true", "-Dspark.driver.port=7078"),
        *("-Xms1024m", "-Xmx1024m"),
    ]
    paths = command[at + 1].split(":")
    assert paths[0] == "/opt/spark/conf"
    assert paths[-1].endswith("pyspark/jars/*")
    assert command[at + 2 :] == [
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", "spark://CoarseGrainedScheduler@lagwarden-driver:7078", "--executor-id", "3"),
        *("--cores", "2", "--app-id", "spark-application-1", "--hostname", "10.0.0.7"),
        *("--resourceProfileId", "0", "--podName", "lagwarden-exec-3"),
    ]


def test_command_outside_of_an_executor_is_refused() -> None:
    """The error names the variables that are not set."""
    with pytest.raises(Refusal, match=r"SPARK_DRIVER_URL.*SPARK_EXECUTOR_MEMORY not set"):
        executor_command({})
