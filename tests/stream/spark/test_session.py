"""The settings of the Spark session."""

import json
import socket
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JNetworkError

from stream.errors import ExitCode, Refusal
from stream.spark import session
from stream.spark.jvm_process import UI_ENVIRONMENT, UI_HOST, JvmOptions
from stream.spark.session import SessionOptions, session_settings

SYSTEM: Final = "/tmp"  # noqa: S108 - the default of the JVM


def test_sockets_of_workers_are_in_the_temporary_folder() -> None:
    """Sockets are in the folder for temporary files, unless their paths would be too long, counted in bytes."""
    fits, too_long, in_bytes = "/" + "x" * 63, "/" + "x" * 64, "/" + "ä" * 40
    folders = {"/scratch/lagwarden-a1b2c3d4": "/scratch/lagwarden-a1b2c3d4", fits: fits}
    for folder, sockets in (folders | {too_long: SYSTEM, in_bytes: SYSTEM, "": SYSTEM}).items():
        jvm = JvmOptions("512m", temporary_folder=Path(folder) if folder else None)
        options = SessionOptions("local[1]", jvm, "127.0.0.1", 1)
        assert session_settings(options)["spark.python.unix.domain.socket.dir"] == sockets


@pytest.mark.spark
def test_spark_has_its_own_pages_for_this_machine_and_an_event_log(tmp_path: Path) -> None:
    """The pages answer on 127.0.0.1 and on no other address; settings of the event log are accepted beside them."""
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": tmp_path.as_uri()}
    jvm = JvmOptions("512m", environment=UI_ENVIRONMENT)
    opened = session.open_session(SessionOptions("local[1]", jvm, UI_HOST, 1, ui_port=0, further=logged))
    try:
        port = int((opened.sparkContext.uiWebUrl or "").rpartition(":")[2])
        with urllib.request.urlopen(f"http://{UI_HOST}:{port}/api/v1/applications") as answer:
            assert json.load(answer)[0]["name"] == "lagwarden"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 30)
    finally:
        session.end_session(opened, 30)
    assert list(tmp_path.glob("eventlog_v2_*/events_1_*"))


@pytest.mark.parametrize("part", ["SparkContext", "SparkSession"])
def test_jvm_that_ends_during_the_start_is_refused_with_its_end(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal has the end of the JVM and the exit code SPARK_UNAVAILABLE, without advice about JAVA_HOME."""
    monkeypatch.setattr(session, "JvmProcess", SimpleNamespace(start=lambda _: None))
    for name in ("connect", "SparkContext", "SparkSession", "skip_installed_data_sources"):
        monkeypatch.setattr(session, name, lambda *_, **__: SimpleNamespace(jvm=None))
    monkeypatch.setattr("stream.spark.errors.describe_end", lambda: "Spark's JVM was killed by SIGKILL")
    for error in (
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionRefusedError(111, "Connection refused"),
    ):
        monkeypatch.setattr(session, part, Mock(side_effect=error))
        with pytest.raises(Refusal) as raised:
            session.open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
        assert raised.value.what == "Spark did not start: Spark's JVM was killed by SIGKILL"
        assert raised.value.code == ExitCode.SPARK_UNAVAILABLE
        assert "JAVA_HOME" not in raised.value.advice
