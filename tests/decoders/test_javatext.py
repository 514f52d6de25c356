"""Decoding of any bytes to text as in Java."""

from hypothesis import given
from hypothesis import strategies as st

from decoders.javatext import java_text


@given(st.text())
def test_valid_text_round_trips(text: str) -> None:
    """Valid UTF-8 is decoded as in Python."""
    valid = text.encode("utf-8", "replace")
    assert java_text(valid) == valid.decode()


MALFORMED = {
    "a byte that is never in UTF-8": (b"a\xffb", "a\ufffdb"),
    "a truncated character is one replacement": (b"\xe2\x82", "\ufffd"),
    "an overlong NUL is two replacements": (b"\xc0\x80", "\ufffd\ufffd"),
    "a surrogate is one replacement": (b"\xed\xa0\x80", "\ufffd"),
    "a truncated surrogate is one replacement": (b"\xed\xb2\x11", "\ufffd\x11"),
    "a surrogate pair is two replacements": (b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd"),
    "the last character below the surrogates is valid": (b"\xed\x9f\xbf", "\ud7ff"),
    "above the last code point": (b"\xf4\x90\x80\x80", "\ufffd" * 4),
}


def test_malformed_bytes_are_replaced_as_java_replaces_them() -> None:
    """Each expected text was produced by `new String(bytes, UTF_8)` of Java 17."""
    for story, (data, text) in MALFORMED.items():
        assert java_text(data) == text, story
