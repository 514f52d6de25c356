"""Decoding of any bytes to text as in Java."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.javatext import java_text


@given(st.text())
def test_valid_text_round_trips(text: str) -> None:
    """Valid UTF-8 is decoded as in Python."""
    valid = text.encode("utf-8", "replace")
    assert java_text(valid) == valid.decode()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"a\xffb", "a\ufffdb", id="a byte that is never in UTF-8"),
        pytest.param(b"\xe2\x82", "\ufffd", id="a truncated character is one replacement"),
        pytest.param(b"\xc0\x80", "\ufffd\ufffd", id="an overlong NUL is two replacements"),
        pytest.param(b"\xed\xa0\x80", "\ufffd", id="a surrogate is one replacement"),
        pytest.param(b"\xed\xb2\x11", "\ufffd\x11", id="a truncated surrogate is one replacement"),
        pytest.param(b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd", id="a surrogate pair is two replacements"),
        pytest.param(b"\xed\x9f\xbf", "\ud7ff", id="the last character below the surrogates is valid"),
        pytest.param(b"\xf4\x90\x80\x80", "\ufffd" * 4, id="above the last code point"),
    ],
)
def test_malformed_bytes_are_replaced_as_java_replaces_them(data: bytes, text: str) -> None:
    """Each expected text was produced by `new String(bytes, UTF_8)` of Java 17."""
    assert java_text(data) == text
