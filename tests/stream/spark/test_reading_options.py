"""The parameters of the source on their way to Spark's Python processes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from stream.config.kafka_login import KafkaLogin, PasswordLogin
from stream.config.secret_sources import SecretFile, SecretValue
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from tests.stream.spark.readings import reading_options

if TYPE_CHECKING:
    from pathlib import Path


def options(login: KafkaLogin) -> ReadingOptions:
    """Return options with this login."""
    return reading_options(access=ClusterAccess(("b:9092",), login, 10.0))


def test_serialized_options_have_no_secret(tmp_path: Path) -> None:
    """The text has the file of a secret instead of its value. A secret without a file raises an error."""
    place = tmp_path / "password"
    place.write_text("hunter2")
    text = options(KafkaLogin(PasswordLogin("PLAIN", "u", SecretFile(place)))).to_text()
    assert b"hunter2" not in base64.b64decode(text)
    read = ReadingOptions.of_text(text).access.login.credentials
    assert isinstance(read, PasswordLogin)
    assert read.password.reveal() == "hunter2"
    with pytest.raises(TypeError, match="cannot leave its process"):
        options(KafkaLogin(PasswordLogin("PLAIN", "u", SecretValue("hunter2")))).to_text()
