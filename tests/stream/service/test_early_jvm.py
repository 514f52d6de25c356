"""The JVM that boots while the service is imported."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream.config.loader import load
from stream.config.options import Config
from stream.errors import ExitCode, Refusal
from stream.service.early_jvm import start_jvm
from stream.spark.jvm_process import NO_JAVA
from tests.stream.spark.fake_java import write_java


@pytest.fixture(autouse=True)
def _keep_signal_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Return a configuration whose checkpoint has a batch, on a machine whose Java waits for the end of its input."""
    write_java(tmp_path / "jdk", "exec cat >/dev/null")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "checkpoint/v2/spark/offsets").mkdir(parents=True)
    flags = {"kafka.bootstrap_servers": "localhost:9092", "job.driver_memory": "640m"}
    return load(flags={**flags, "checkpoint.dir": str(tmp_path / "checkpoint")}, environment={})


def test_module_does_not_import_what_takes_long() -> None:
    """An import of PySpark, NumPy, PyArrow or kafka would delay the JVM, which starts beside these imports."""
    program = (
        "import sys, stream.service.early_jvm; print(*{'pyspark', 'numpy', 'pyarrow', 'kafka'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_jvm_has_the_options_of_the_configuration(config: Config, tmp_path: Path) -> None:
    """The JVM has the configured heap and a folder for temporary files, and no class archive if none exists."""
    with start_jvm(config) as jvm:
        assert jvm.options.heap == "640m"
        assert jvm.options.class_archive is None
        folder = jvm.options.temporary_folder
        assert folder is not None
        assert folder.is_relative_to(tmp_path)
        assert jvm.process is not None
        assert jvm.process.process.poll() is None
    assert jvm.process.process.wait(20) != 0
    assert not folder.exists()


def test_jvm_of_an_empty_checkpoint_is_started_when_it_is_needed(config: Config, tmp_path: Path) -> None:
    """The topic may be read first, on all cores, by a process that waits until then. The end ends the JVM here, too."""
    (tmp_path / "checkpoint/v2/spark/offsets").rmdir()
    with start_jvm(config) as jvm:
        assert jvm.process is None
        waiting = jvm.waiting
        process = jvm.start()
        assert jvm.start() is process
        assert process.process.poll() is None
        assert waiting is not None
        assert waiting._process.returncode is not None
    assert process.process.wait(20) != 0
    with start_jvm(config, many_rows=True) as jvm:
        assert jvm.process is not None


def test_jvm_ends_with_an_error_of_the_start(config: Config) -> None:
    """The JVM ends if the start fails, for example because the HTTP port is in use."""
    with pytest.raises(Refusal, match="refused"), start_jvm(config) as jvm:
        raise Refusal("refused", "", ExitCode.PORT_IN_USE)
    assert jvm.process is not None
    assert jvm.process.process.wait(20) != 0


def test_signal_during_the_imports_stops_in_order(config: Config) -> None:
    """A signal lets the process continue to its regular end, which removes the temporary files."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with start_jvm(config) as jvm:
            assert not jvm.stopping.is_set()
            os.kill(os.getpid(), number)
            assert jvm.stopping.wait(20)
        assert jvm.options.temporary_folder is not None
        assert not jvm.options.temporary_folder.exists()


@pytest.mark.parametrize("fresh", [False, True])
def test_machine_without_java_is_refused(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fresh: bool
) -> None:
    """The refusal has advice and the exit code 24, also if the JVM is not needed yet."""
    if fresh:
        (tmp_path / "checkpoint/v2/spark/offsets").rmdir()
    monkeypatch.setattr("stream.spark.jvm_process.find_java", lambda: None)
    monkeypatch.setattr("stream.service.early_jvm.find_java", lambda: None)
    with pytest.raises(Refusal) as raised, start_jvm(config):
        pass
    assert raised.value.what == f"Spark did not start: {NO_JAVA}"
    assert raised.value.advice == "install Java 17 to 25 and set JAVA_HOME, or add it to PATH"
    assert raised.value.code is ExitCode.SPARK_UNAVAILABLE


def test_folder_that_cannot_be_written_to_is_refused(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start is refused, because Spark would fail later with a stack trace."""
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(Refusal, match="no folder for temporary files") as raised, start_jvm(config):
        pass
    assert raised.value.code is ExitCode.SPARK_UNAVAILABLE
