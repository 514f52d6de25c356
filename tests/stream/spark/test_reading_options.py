"""The parameters of the source on their way to Spark's Python processes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from stream.config.kafka_login import KafkaLogin, PasswordLogin
from stream.config.secret_sources import SecretFile, SecretValue
from stream.groups.placement import Placement
from stream.spark.reading_options import ClusterAccess, ReadingOptions

if TYPE_CHECKING:
    from pathlib import Path


def options(login: KafkaLogin) -> ReadingOptions:
    """Return options with this login."""
    access = ClusterAccess(("b:9092",), login, 10.0)
    return ReadingOptions(
        access,
        starts={0: 2},
        tasks=2,
        most_offsets=1_000,
        limit=60.0,
        placement=Placement(4, 1),
        slot_ms=30_000,
        keep_slots=10,
        progress_address=None,
    )


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
