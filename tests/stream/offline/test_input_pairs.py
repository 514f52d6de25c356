"""Parsing of keys and values that users enter."""

import pytest

from stream.offline.rows import Encoding, LogRow, parse_bytes, parse_pairs


def test_encoding_is_detected() -> None:
    """Hexadecimal and base64 are distinguished automatically; usual prefixes, separators and alphabets are accepted."""
    texts = {
        b"\0\1": ["0001"],
        b"\0\xff": ["0x00FF", "00:ff"],
        b"\0\1\0g": ["AAEAZw==", "AAEAZw"],
        b"\xff\xef": ["_-8="],
        None: ["-", "null"],
    }
    assert {wanted: [parse_bytes(text) for text in each] for wanted, each in texts.items()} == {
        wanted: [wanted] * len(each) for wanted, each in texts.items()
    }


def test_invalid_text_is_rejected() -> None:
    """The error names the expected encoding."""
    for text, encoding, problem in (
        ("xyz", Encoding.HEX, "not hexadecimal"),
        ("a*b", Encoding.BASE64, "not base64"),
        ("a*b", Encoding.AUTO, "neither hexadecimal nor base64"),
    ):
        with pytest.raises(ValueError, match=problem):
            parse_bytes(text, encoding)


def test_pairs_are_parsed_line_by_line() -> None:
    """An invalid line is an error, an empty one is skipped; the offset of a row is the number of its line."""
    lines = ["0001 0002\n", "\n", "*** 00\n", "0001\n", "1 2 3\n"]
    first, bad, alone, long = parse_pairs(lines, "t", Encoding.AUTO)
    assert first == LogRow("t", 0, 0, None, b"\0\1", b"\0\2")
    assert bad == "line 3: '***' is neither hexadecimal nor base64"
    assert alone == LogRow("t", 0, 3, None, b"\0\1", None)
    assert long == "line 5: 3 words instead of a key and a value"
