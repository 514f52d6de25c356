"""The JVM that boots while the service is imported."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from stream.config.loader import load
from stream.errors import ExitCode, Refusal
from stream.service.early_jvm import start_jvm

if TYPE_CHECKING:
    from pathlib import Path

    from stream.config.options import Config


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Return a configuration, on a machine whose Java waits for the end of its input."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexec cat >/dev/null\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return load(flags={"kafka.bootstrap_servers": "localhost:9092", "job.driver_memory": "640m"}, environment={})


def test_module_does_not_import_what_takes_long() -> None:
    """Otherwise the JVM would start after the imports that it is to run beside."""
    program = (
        "import sys, stream.service.early_jvm; print(*{'pyspark', 'numpy', 'pyarrow', 'kafka'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_jvm_has_the_options_of_the_configuration(config: Config, tmp_path: Path) -> None:
    """Heap and folder for temporary files; without an archive of classes there is none."""
    with start_jvm(config) as jvm:
        assert jvm.options.heap == "640m"
        assert jvm.options.class_archive is None
        folder = jvm.options.temporary_folder
        assert folder is not None
        assert folder.is_relative_to(tmp_path)
        assert jvm.process.process.poll() is None
    assert jvm.process.process.wait(20) != 0
    assert not folder.exists()


def test_jvm_ends_with_an_error_of_the_start(config: Config) -> None:
    """As when the port of HTTP is in use."""
    with pytest.raises(Refusal, match="refused"), start_jvm(config) as jvm:
        raise Refusal("refused", "", ExitCode.PORT_IN_USE)
    assert jvm.process.process.wait(20) != 0


def test_machine_without_java_is_refused(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do, and exit code 24."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(Refusal) as raised, start_jvm(config):
        pass
    assert raised.value.what == "Spark did not start: there is no Java on PATH or in JAVA_HOME"
    assert raised.value.code is ExitCode.SPARK_UNAVAILABLE


def test_folder_that_cannot_be_written_to_is_refused(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would fail later, with a stack trace."""
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(Refusal, match="no folder for temporary files") as raised, start_jvm(config):
        pass
    assert raised.value.code is ExitCode.SPARK_UNAVAILABLE
