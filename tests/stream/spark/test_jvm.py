"""PySpark's connection to the JVM, and the settings that only the JVM has."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from stream.spark import jvm
from stream.spark.jvm_process import JvmConnection, JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session

if TYPE_CHECKING:
    from collections.abc import Mapping


class Jvm:
    """A JVM that accepts connections."""

    process = object()

    def connection(self) -> JvmConnection:
        """Return where it accepts them."""
        return JvmConnection(4711, "secret")


class Gateway:
    """The gateway that PySpark opened."""

    proc: Any = None


def test_secret_is_in_the_environment_only_for_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark reads port and secret there; the processes that are started later do not get them."""
    seen: dict[str, str] = {}

    def launch_gateway() -> Gateway:
        seen.update(_gateway_variables(os.environ))
        return Gateway()

    monkeypatch.setattr(jvm, "launch_gateway", launch_gateway)
    gateway = jvm.connect(Jvm())
    assert seen == {"PYSPARK_GATEWAY_PORT": "4711", "PYSPARK_GATEWAY_SECRET": "secret"}
    assert _gateway_variables(os.environ) == {}
    assert gateway.proc is Jvm.process


def _gateway_variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYSPARK_GATEWAY")}


@pytest.mark.spark
def test_spark_does_not_look_for_installed_data_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A package `pyspark_…` on the path of Python, which Spark would import, is left alone; the JVM's list is set."""
    (tmp_path / "pyspark_noise").mkdir()
    (tmp_path / "pyspark_noise" / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    session = open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
    try:
        assert session.readStream.format("rate").load().isStreaming
        with pytest.raises(Exception, match="nonsense"):
            session.readStream.format("nonsense").load()
    finally:
        end_session(session, 30)
    assert not (tmp_path / "imported").exists()
