"""A standalone Spark cluster on loopback: a master and workers as processes of their own, from PySpark's jars.

Workers share nothing with the driver but what a test gives both: they have their own working folders, an environment
without PYTHONPATH, and executors use an interpreter that has third-party packages, but not lagwarden.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Collection
from pathlib import Path
from typing import Final, Self

from sandbox.kafka.java import SMALL_JVM, find_java
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.waiting import wait_until
from stream.spark.executors.driver_machine import scala_version
from stream.spark.java import MODULE_OPTIONS, spark_home

_PACKAGE: Final = "org.apache.spark.deploy"
_START_SECONDS: Final = 120.0
_REGISTERED: Final = "Successfully registered with master"


def make_executor_python(folder: Path, without: Collection[str] = ()) -> Path:
    """Create a virtual environment with the third-party packages of this one; return its interpreter.

    Packages in `without`, by the names of their folders, are left out, and so is lagwarden: its installation is a .pth
    file that names the source tree.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.suffix != ".pth" and "lagwarden" not in entry.name and entry.name not in without:
            (packages / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


class StandaloneCluster:
    """A running master; `with StandaloneCluster(folder, secret) as cluster: cluster.add_worker()`.

    Master and workers require the secret (`spark.authenticate`), unless it is None.
    """

    def __init__(self, folder: Path, secret: str | None = None) -> None:
        self.folder: Final = folder
        self.port: Final = free_port()
        self.workers: Final[list[GuardedProcess]] = []
        self._stack = contextlib.ExitStack()
        folder.mkdir(parents=True, exist_ok=True)
        self._properties = folder / "spark.properties"
        settings = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
        lines = [] if secret is None else [*(f"{key} {value}" for key, value in settings.items())]
        lines += [] if secret is None else [f"spark.authenticate.secret {secret}"]
        self._properties.touch(mode=0o600)
        self._properties.write_text("\n".join(lines))

    def __enter__(self) -> Self:
        master = self._start("master.Master", "master", "--port", str(self.port))
        wait_until(lambda: self._answers(master), "Spark's master to answer", limit=_START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """The master URL."""
        return f"spark://{LOOPBACK}:{self.port}"

    def add_worker(self, cores: int = 1, memory: str = "1g") -> GuardedProcess:
        """Start a worker, and wait until the master has it."""
        name = f"worker-{len(self.workers)}"
        options = ("--cores", str(cores), "--memory", memory, "--work-dir", str(self.folder / name / "work"))
        worker = self._start("worker.Worker", name, *options, self.url)
        self.workers.append(worker)
        wait_until(lambda: _has(worker, _REGISTERED), f"{name} to register", limit=_START_SECONDS)
        return worker

    def executors_of(self, worker: GuardedProcess) -> list[int]:
        """Return the process ids of the executors that a worker runs."""
        listed = subprocess.run(
            ["pgrep", "-P", str(worker.pid), "-f", "CoarseGrainedExecutorBackend"],
            capture_output=True,
            text=True,
            check=False,
        )
        return list(map(int, listed.stdout.split()))

    def _start(self, main_class: str, name: str, *arguments: str) -> GuardedProcess:
        home = self.folder / name
        home.mkdir()
        (home / "jars").symlink_to(spark_home() / "jars")
        variables = {"PATH": os.environ["PATH"], "SPARK_HOME": str(home), "HOME": str(home)}
        variables["SPARK_SCALA_VERSION"] = scala_version()
        command = [
            *("env", "-i", "-C", str(home), *(f"{name}={value}" for name, value in variables.items())),
            *(str(find_java()), *SMALL_JVM, *MODULE_OPTIONS, "-Xmx256m", "-cp", str(home / "jars" / "*")),
            *(f"{_PACKAGE}.{main_class}", "--host", LOOPBACK, "--webui-port", "0"),
            *("--properties-file", str(self._properties), *arguments),
        ]
        return self._stack.enter_context(GuardedProcess(command, self.folder / f"{name}.log"))

    def _answers(self, master: GuardedProcess) -> bool:
        if not master.running:
            raise RuntimeError(f"Spark's master ended:\n{master.log.read_text()}")
        with contextlib.suppress(OSError):
            socket.create_connection((LOOPBACK, self.port), timeout=1).close()
            return True
        return False


def _has(process: GuardedProcess, text: str) -> bool:
    if not process.running:
        raise RuntimeError(f"a process of Spark ended:\n{process.log.read_text()}")
    return re.search(re.escape(text), process.log.read_text()) is not None
