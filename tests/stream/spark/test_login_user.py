"""The user of Hadoop in the JVM of a process without an account."""

from __future__ import annotations

import os
import pwd
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

from stream.spark.login_user import NAME, set_login_user

if TYPE_CHECKING:
    import pytest


def fake_jvm() -> tuple[Any, Mock]:
    """Return a view of a JVM, and its class UserGroupInformation."""
    users = Mock()
    security = SimpleNamespace(UserGroupInformation=users)
    return SimpleNamespace(
        org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(security=security)))
    ), users


def test_a_user_id_without_an_account_is_logged_in_as_lagwarden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop would fail with a NullPointerException."""

    def no_account(user: int) -> Any:
        assert user == os.getuid()
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", no_account)
    jvm, users = fake_jvm()
    set_login_user(jvm)
    users.createRemoteUser.assert_called_once_with(NAME)
    users.setLoginUser.assert_called_once_with(users.createRemoteUser.return_value)


def test_a_user_with_an_account_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account may matter to a shared file system."""
    monkeypatch.setattr(pwd, "getpwuid", lambda _: object())
    jvm, users = fake_jvm()
    set_login_user(jvm)
    assert users.mock_calls == []
