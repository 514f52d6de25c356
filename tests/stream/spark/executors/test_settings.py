"""Settings of Spark for executors: size, address of the driver, code, authentication, Kubernetes."""

import dataclasses
import shlex
import socket
from pathlib import Path
from typing import Final

from stream.config.master_url import MasterUrl
from stream.config.secret_sources import SecretFile
from stream.spark.class_archive import ClassArchive
from stream.spark.executors.settings import ExecutorOptions, KubernetesExecutors, executor_settings
from stream.spark.java import class_path
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, session_settings

ALL: Final = ExecutorOptions(
    MasterUrl.parse("spark://m:7077"),
    number=3,
    cores=2,
    memory="2g",
    bind_address="0.0.0.0",  # noqa: S104 -- not opened
    driver_port=7078,
    block_manager_port=7079,
)
PODS: Final = KubernetesExecutors("lagwarden:1", "monitoring", "lagwarden-executor", Path("/etc/pod.yaml"))
IN_PODS: Final = dataclasses.replace(ALL, master=MasterUrl.parse("k8s://https://api"), kubernetes=PODS)


def test_size_and_ports_are_set() -> None:
    """The cores of all executors limit a standalone cluster. Spark chooses ports that are not given."""
    settings = executor_settings(dataclasses.replace(ALL, authenticate=False))
    assert settings["spark.cores.max"] == "6"
    assert settings["spark.executor.instances"] == "3"
    assert settings["spark.driver.port"] == "7078"
    assert settings["spark.driver.blockManager.port"] == "7079"
    free = executor_settings(dataclasses.replace(ALL, authenticate=False, driver_port=None, block_manager_port=None))
    assert settings.keys() - free.keys() == {"spark.driver.port", "spark.driver.blockManager.port"}


def test_executors_on_this_machine_start_as_the_driver() -> None:
    """Executors of a local cluster get the driver's class archive with its class path, and keep configured options."""
    jvm = JvmOptions("1g", ClassArchive(Path("/my cache/spark.jsa")))
    given = {"spark.executor.extraJavaOptions": "-Dx=1"}
    local = dataclasses.replace(ALL, master=MasterUrl.parse("local-cluster[3,2,2048]"))
    settings = session_settings(SessionOptions("x", jvm, "127.0.0.1", 1, executors=local, further=given))
    options = shlex.split(settings["spark.executor.extraJavaOptions"])
    assert {"-XX:SharedArchiveFile=/my cache/spark.jsa", "-XX:TieredStopAtLevel=1", "-Dx=1"} <= set(options)
    assert [option for option in options if option.startswith(("-Xmx", "-Xms"))] == ["-Xms32768k"]
    assert settings["spark.executor.extraClassPath"].split(":") == class_path()
    others = session_settings(SessionOptions("x", jvm, "127.0.0.1", 1, executors=ALL, further=given))
    assert others["spark.executor.extraJavaOptions"] == "-Dx=1"
    assert "spark.executor.extraClassPath" not in others


def test_authentication_and_encryption_are_on(tmp_path: Path) -> None:
    """A standalone cluster uses the secret in its file, a local cluster a new secret, and Kubernetes that of Spark."""
    (tmp_path / "secret").write_text("of-the-cluster\n")
    standalone = executor_settings(dataclasses.replace(ALL, secret=SecretFile(tmp_path / "secret")))
    assert standalone["spark.authenticate.secret"] == "of-the-cluster"
    local = dataclasses.replace(ALL, master=MasterUrl.parse("local-cluster[3,2,2048]"))
    secrets = {executor_settings(local)["spark.authenticate.secret"] for _ in range(2)}
    assert len(secrets) == 2
    assert all(len(secret) == 64 for secret in secrets)
    pods = executor_settings(IN_PODS)
    assert "spark.authenticate.secret" not in pods
    for settings in (standalone, pods):
        names = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")
        assert [settings[name] for name in names] == ["true"] * 3
    assert not any(
        "auth" in name or "crypt" in name for name in executor_settings(dataclasses.replace(ALL, authenticate=False))
    )


def test_executors_import_lagwarden_from_their_working_folder_except_on_kubernetes() -> None:
    """PYTHONPATH is the archive in the working folder. It is not set on Kubernetes, where the image has the code."""
    assert (
        executor_settings(dataclasses.replace(ALL, authenticate=False))["spark.executorEnv.PYTHONPATH"]
        == "lagwarden-code.zip"
    )
    assert "spark.executorEnv.PYTHONPATH" not in executor_settings(IN_PODS)


def test_settings_of_executor_pods() -> None:
    """Image, namespace, service account and template are set; the driver's pod owns executors, if it is a pod."""
    settings = executor_settings(IN_PODS, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert {name: value for name, value in settings.items() if name.startswith("spark.kubernetes.")} == {
        "spark.kubernetes.container.image": "lagwarden:1",
        "spark.kubernetes.namespace": "monitoring",
        "spark.kubernetes.authenticate.executor.serviceAccountName": "lagwarden-executor",
        "spark.kubernetes.executor.podTemplateFile": "/etc/pod.yaml",
        "spark.kubernetes.driver.pod.name": socket.gethostname(),
    }
    few = executor_settings(dataclasses.replace(IN_PODS, kubernetes=KubernetesExecutors("lagwarden:1")), {})
    assert [name for name in few if name.startswith("spark.kubernetes.")] == ["spark.kubernetes.container.image"]


def test_driver_listens_on_its_bind_address_and_is_reached_by_its_host() -> None:
    """The host and the bind address of the driver are two settings, because they differ behind a Service.

    The folder for the sockets of Python workers is set for a local master, but not for a cluster.
    """
    jvm = JvmOptions("512m", temporary_folder=Path("/scratch/lagwarden"))
    cluster = session_settings(SessionOptions("spark://m:7077", jvm, "driver.example", 6, executors=ALL))
    assert cluster["spark.driver.host"] == "driver.example"
    assert cluster["spark.driver.bindAddress"] == "0.0.0.0"  # noqa: S104 -- not opened
    assert "spark.python.unix.domain.socket.dir" not in cluster
    local = session_settings(SessionOptions("local[2]", jvm, "127.0.0.1", 2))
    assert local["spark.python.unix.domain.socket.dir"] == "/scratch/lagwarden"
    assert local["spark.authenticate"] == "true", "other users of the machine can reach its ports"
