"""A token file is read at each login; every fault of the file is one line."""

from pathlib import Path

import pytest

from stream.cluster.transport.errors import LoginUnavailable
from stream.cluster.transport.login.tokens import read_token_file

JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6MTkwMDAwMDAwMH0."


def test_line_breaks_and_blanks_around_the_token_are_removed(tmp_path: Path) -> None:
    """The token is read without the line breaks and blanks around it."""
    path = tmp_path / "token"
    for content in (JWT, f"{JWT}\n", f"\n  {JWT}\r\n"):
        path.write_text(content)
        token = read_token_file(path)
        assert (token.text, token.expires_at, token.claims["sub"]) == (JWT, 1_900_000_000.0, "alice")


def test_unusable_file_is_named(tmp_path: Path) -> None:
    """The error has the path and the reason, but not the content, and is retriable; a mount is named as a directory."""
    contents = {
        b"": "is empty",
        b" \n": "is empty",
        b"hunter2": "its content is not a JWT",
        b"\xff\x00" * 50: "its content is not a JWT",
        b"a" * 10_000_000: "its content is not a JWT",
    }
    paths = {tmp_path / "none": "cannot be read: No such file or directory", tmp_path: "Is a directory"}
    for number, (content, problem) in enumerate(contents.items()):
        path = tmp_path / f"token-{number}"
        path.write_bytes(content)
        paths[path] = problem
    for path, problem in paths.items():
        with pytest.raises(LoginUnavailable) as refused:
            read_token_file(path)
        assert (str(path) in refused.value.what, problem in refused.value.what) == (True, True)
        assert "hunter2" not in str(refused.value)
        assert "kafka.oauth_token_file" in refused.value.advice
        assert refused.value.passes
