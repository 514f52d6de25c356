"""A token file is read at each login; every fault of the file is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream.cluster.transport.errors import LoginUnavailable
from stream.cluster.transport.login.token_file import read_token_file

if TYPE_CHECKING:
    from pathlib import Path

JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MTkwMDAwMDAwMH0."


@pytest.mark.parametrize("content", [JWT, f"{JWT}\n", f"\n  {JWT}\r\n"])
def test_line_breaks_and_blanks_around_the_token_are_removed(tmp_path: Path, content: str) -> None:
    """The token is read without the line breaks and blanks around it."""
    path = tmp_path / "token"
    path.write_text(content)
    token = read_token_file(path)
    assert (token.text, token.expires_at, token.claims["sub"]) == (JWT, 1_900_000_000.0, "alice")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b" \n", "is empty", id="blank"),
        pytest.param(b"hunter2", "its content is not a JWT", id="a password"),
        pytest.param(b"\xff\x00" * 50, "its content is not a JWT", id="binary"),
        pytest.param(b"a" * 10_000_000, "its content is not a JWT", id="huge"),
    ],
)
def test_unusable_file_is_named(tmp_path: Path, content: bytes | None, problem: str) -> None:
    """The error has the path and the reason, but not the content, and is retriable."""
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LoginUnavailable) as refused:
        read_token_file(path)
    assert str(path) in refused.value.what
    assert problem in refused.value.what
    assert "hunter2" not in str(refused.value)
    assert "kafka.oauth_token_file" in refused.value.advice
    assert refused.value.passes


def test_a_folder_is_named(tmp_path: Path) -> None:
    """If a mount is configured instead of a file in it, the error states that the mount is a directory."""
    with pytest.raises(LoginUnavailable, match="Is a directory"):
        read_token_file(tmp_path)
