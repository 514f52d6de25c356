"""The settings of Spark for a session with executors."""

import dataclasses
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stream.config.master_url import MasterKind, MasterUrl
from stream.config.secret_sources import Secret
from stream.spark.executors.code_archive import FILE_NAME

_IN_A_POD: Final = "KUBERNETES_SERVICE_HOST"
"""The variable that Kubernetes sets in each container."""


@dataclasses.dataclass(frozen=True, slots=True)
class KubernetesExecutors:
    """What the pods of executors are made of; None: Spark's default."""

    image: str
    namespace: str | None = None
    service_account: str | None = None
    pod_template: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """The executors of a session, and how they reach the driver."""

    master: MasterUrl
    number: int
    cores: int
    """Tasks that an executor runs at once."""
    memory: str
    """Heap size of an executor, such as `1g`."""
    bind_address: str
    """The address on which the driver listens."""
    driver_port: int | None = None
    block_manager_port: int | None = None
    authenticate: bool = True
    secret: Secret | None = None
    """The secret of a standalone cluster; Spark generates that of others."""
    kubernetes: KubernetesExecutors | None = None

    @property
    def ships_code(self) -> bool:
        """True if executors get lagwarden's code from the driver; on Kubernetes it is in their image."""
        return self.kubernetes is None


def executor_settings(options: ExecutorOptions, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings by name. Raises SecretUnavailable."""
    ports = {"spark.driver.port": options.driver_port, "spark.driver.blockManager.port": options.block_manager_port}
    return {
        "spark.driver.bindAddress": options.bind_address,
        **{name: str(port) for name, port in ports.items() if port is not None},
        "spark.executor.cores": str(options.cores),
        "spark.executor.memory": options.memory,
        "spark.executor.instances": str(options.number),
        "spark.cores.max": str(options.number * options.cores),
        # The number of executors is the operator's choice: reading is steady work.
        "spark.dynamicAllocation.enabled": "false",
        # Executors fetch files into their working folder, and Python makes a relative path absolute when it starts.
        **({"spark.executorEnv.PYTHONPATH": FILE_NAME} if options.ships_code else {}),
        **(_encryption(options) if options.authenticate else {}),
        **(_kubernetes(options.kubernetes, environment) if options.kubernetes else {}),
    }


def _encryption(options: ExecutorOptions) -> dict[str, str]:
    settings = {
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.io.encryption.enabled": "true",
    }
    # Spark reads the secret of a standalone cluster from its configuration only, and passes it on in variables, not in
    # arguments. That of a local cluster, too, but no other program has to know it.
    if options.secret is not None:
        settings["spark.authenticate.secret"] = options.secret.reveal()
    elif options.master.kind is MasterKind.LOCAL_CLUSTER:
        settings["spark.authenticate.secret"] = os.urandom(32).hex()
    return settings


def _kubernetes(executors: KubernetesExecutors, environment: Mapping[str, str]) -> dict[str, str]:
    settings = {
        "spark.kubernetes.container.image": executors.image,
        "spark.kubernetes.namespace": executors.namespace,
        "spark.kubernetes.authenticate.executor.serviceAccountName": executors.service_account,
        "spark.kubernetes.executor.podTemplateFile": None
        if executors.pod_template is None
        else str(executors.pod_template),
        # Kubernetes then deletes the executors with this pod. The name of a pod is its host name.
        "spark.kubernetes.driver.pod.name": socket.gethostname() if _IN_A_POD in environment else None,
    }
    return {name: value for name, value in settings.items() if value is not None}
