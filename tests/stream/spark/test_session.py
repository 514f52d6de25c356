"""The settings of the Spark session."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest
from py4j.protocol import Py4JNetworkError

from stream.errors import ExitCode, Refusal
from stream.spark import session
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, session_settings

SYSTEM: Final = "/tmp"  # noqa: S108 - the default of the JVM


@pytest.mark.parametrize(
    ("folder", "sockets"),
    [
        pytest.param("/scratch/lagwarden-a1b2c3d4", "/scratch/lagwarden-a1b2c3d4", id="a configured folder"),
        pytest.param("/" + "x" * 63, "/" + "x" * 63, id="the longest folder in which the path of a socket fits"),
        pytest.param("/" + "x" * 64, SYSTEM, id="a path of 108 bytes is too long for a socket"),
        pytest.param("/" + "ä" * 40, SYSTEM, id="a path that is too long in bytes, but not in characters"),
        pytest.param(None, SYSTEM, id="no configured folder"),
    ],
)
def test_sockets_of_workers_are_in_the_temporary_folder(folder: str | None, sockets: str) -> None:
    """Sockets are in the folder for temporary files, unless their paths would be too long."""
    jvm = JvmOptions("512m", temporary_folder=Path(folder) if folder else None)
    options = SessionOptions("local[1]", jvm, "127.0.0.1", 1)
    assert session_settings(options)["spark.python.unix.domain.socket.dir"] == sockets


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Py4JNetworkError("Answer from Java side is empty"), id="during a call"),
        pytest.param(ConnectionRefusedError(111, "Connection refused"), id="before a call"),
    ],
)
@pytest.mark.parametrize("part", ["SparkContext", "SparkSession"])
def test_jvm_that_ends_during_the_start_is_refused_with_its_end(
    error: Exception, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal has the end of the JVM and the exit code SPARK_UNAVAILABLE, without advice about JAVA_HOME."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(session, "JvmProcess", SimpleNamespace(start=lambda _: None))
    for name in ("connect", "SparkContext", "SparkSession", "skip_installed_data_sources"):
        monkeypatch.setattr(session, name, lambda *_, **__: SimpleNamespace(jvm=None))
    monkeypatch.setattr(session, part, fail)
    monkeypatch.setattr("stream.spark.errors.describe_end", lambda: "Spark's JVM was killed by SIGKILL")
    with pytest.raises(Refusal) as raised:
        session.open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
    assert raised.value.what == "Spark did not start: Spark's JVM was killed by SIGKILL"
    assert raised.value.code == ExitCode.SPARK_UNAVAILABLE
    assert "JAVA_HOME" not in raised.value.advice
