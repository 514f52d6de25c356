"""PySpark's connection to the JVM, and the settings that only the JVM has."""

import os
import pwd
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from stream.spark import jvm
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session


class Jvm:
    """A JVM that accepts connections."""

    process = object()

    def connection(self) -> tuple[int, str]:
        return 4711, "secret"


class Gateway:
    """The gateway that PySpark opened."""

    proc: Any = None


def test_secret_is_in_the_environment_only_for_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark finds port and secret in the environment. Processes that are started later do not."""
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
    """Spark does not import a package `pyspark_…` on Python's path. Spark's own sources can be used."""
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


def fake_jvm() -> tuple[Any, Mock]:
    users = Mock()
    security = SimpleNamespace(UserGroupInformation=users)
    return SimpleNamespace(
        org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(security=security)))
    ), users


def test_a_user_id_without_an_account_is_logged_in_as_lagwarden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop's login user is set, because Hadoop would fail with a NullPointerException."""

    def no_account(user: int) -> Any:
        assert user == os.getuid()
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", no_account)
    view, users = fake_jvm()
    jvm.set_login_user(view)
    users.createRemoteUser.assert_called_once_with(jvm.LOGIN_NAME)
    users.setLoginUser.assert_called_once_with(users.createRemoteUser.return_value)
