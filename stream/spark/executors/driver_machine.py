"""What a session with executors needs of the driver's machine: address, route, interpreter, variables of the JVM.

Imports no PySpark: the JVM starts before it.
"""

import contextlib
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stream.config.master_url import MasterKind, MasterUrl
from stream.errors import ExitCode, Refusal
from stream.spark.executors.code_archive import FILE_NAME
from stream.spark.java import spark_home

LOOPBACK: Final = "127.0.0.1"
_CONNECT_SECONDS: Final = 5.0


def address_for(master: MasterUrl) -> str:
    """Return the address from which this machine sends to the master; loopback if all executors are on this machine.

    Sends nothing: the address is that of a connected UDP socket. Raises Refusal if no master's name can be resolved.
    """
    if not master.is_on_other_machines:
        return LOOPBACK
    for host, port in master.addresses:
        with contextlib.suppress(OSError):
            family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(target)
                return str(probe.getsockname()[0])
    raise Refusal(
        f"the address of this machine for executors is not known: {master.text} cannot be resolved or has no route",
        "correct job.master, or set job.driver_host",
        ExitCode.SPARK_UNAVAILABLE,
    )


def check_python(python: str | None) -> None:
    """Raise Refusal if the interpreter of executors (job.executor_python) is not on this machine, too."""
    if python is not None and shutil.which(python) is None:
        raise Refusal(
            f"the interpreter of executors, {python}, is not on this machine, where Spark plans with the same one",
            "install it at the same path, or set job.executor_python to a name on the PATH of all machines",
            ExitCode.SPARK_UNAVAILABLE,
        )


def check_reachable(master: MasterUrl) -> None:
    """Raise Refusal if no master of a standalone cluster accepts a connection: Spark itself tries for a minute."""
    if master.kind is not MasterKind.STANDALONE:
        return
    causes = []
    for host, port in master.addresses:
        try:
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError as error:
            causes.append(f"{host} port {port}: {error.strerror or error}")
        else:
            return
    raise Refusal(
        f"Spark's master does not answer ({'; '.join(causes)})",
        "correct job.master, or start the master",
        ExitCode.SPARK_UNAVAILABLE,
    )


def jvm_environment(master: MasterUrl, folder: Path, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables to add for this master; `folder` is that of temporary files. Raises OSError.

    The Python processes in which the driver plans batches import lagwarden's code from the archive, as executors do:
    their interpreter is the same one.
    """
    if not master.has_executors or master.kind is MasterKind.KUBERNETES:
        return {}
    python_path = [str(folder / FILE_NAME), *filter(None, [inherited.get("PYTHONPATH")])]
    variables = {"PYTHONPATH": os.pathsep.join(python_path)}
    if master.kind is MasterKind.LOCAL_CLUSTER:
        variables |= {"SPARK_HOME": str(_make_spark_home(folder)), "SPARK_SCALA_VERSION": scala_version()}
    return variables


def scala_version() -> str:
    """Return the Scala version of PySpark's jars, such as `2.13`; workers look for build folders without it."""
    (core,) = (spark_home() / "jars").glob("spark-core_*.jar")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def _make_spark_home(folder: Path) -> Path:
    """Create a SPARK_HOME for the executors of a `local-cluster`, which the JVM itself starts; return its path.

    Spark takes their jars from there, and lets them work there. The folder of the package pyspark would do for the jars
    only: every Python process would import PySpark from archives of sources in it, and it may be read-only.
    """
    home = folder / "spark-home"
    home.mkdir()
    (home / "jars").symlink_to(spark_home() / "jars")
    return home
