"""Text as Java makes it of any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.javatext import java_text


@given(st.text())
def test_good_text_comes_back(text: str) -> None:
    """What is UTF-8 is decoded as everywhere."""
    good = text.encode("utf-8", "replace")
    assert java_text(good) == good.decode()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"a\xffb", "a\ufffdb", id="never a byte of UTF-8"),
        pytest.param(b"\xe2\x82", "\ufffd", id="a cut character is one replacement"),
        pytest.param(b"\xc0\x80", "\ufffd\ufffd", id="an overlong zero is two"),
        pytest.param(b"\xed\xa0\x80", "\ufffd", id="a surrogate is one"),
        pytest.param(b"\xed\xb2\x11", "\ufffd\x11", id="a cut surrogate is one"),
        pytest.param(b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd", id="a pair of them is two"),
        pytest.param(b"\xed\x9f\xbf", "\ud7ff", id="the last character below them is itself"),
        pytest.param(b"\xf4\x90\x80\x80", "\ufffd" * 4, id="beyond the last character"),
    ],
)
def test_malformed_bytes_are_replaced_as_java_replaces_them(data: bytes, text: str) -> None:
    """Each row is what `new String(bytes, UTF_8)` of Java 17 gives."""
    assert java_text(data) == text
