"""Pieces of text: joined in any choice they are what the texts joined would be, plain and compressed."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.text import compressed_text
from exporters.text.compressed_text import (
    EMPTY_CHECKSUM,
    CompressedText,
    InflatedText,
    TextChecksum,
    TextCompressor,
    crc32_joined,
    gzip_member,
    total_checksum,
)

TEXTS = st.lists(st.binary(max_size=2000), max_size=6)


@given(first=st.binary(), second=st.binary())
def test_checksums_join_without_the_texts(first: bytes, second: bytes) -> None:
    """The checksum of two texts follows from those of each and the second one's length."""
    assert crc32_joined(zlib.crc32(first), zlib.crc32(second), len(second)) == zlib.crc32(first + second)


@pytest.mark.parametrize("length", [1, 255, 65_537, 10_000_000], ids=["a byte", "odd", "over a power", "long"])
def test_checksums_join_over_long_texts(length: int) -> None:
    """The law holds for texts as long as those of a large cluster."""
    text = b"a line\n" * (length // 7) + b"x" * (length % 7)
    assert crc32_joined(zlib.crc32(b"before"), zlib.crc32(text), length) == zlib.crc32(b"before" + text)


@given(texts=TEXTS, live=st.binary(max_size=100))
def test_any_pieces_are_one_gzip_member(texts: list[bytes], live: bytes) -> None:
    """Pieces that were compressed apart join to one valid member, empty ones too."""
    every = [CompressedText.compress(text) for text in texts]
    member = b"".join(gzip_member(every, total_checksum(every), live))
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert inflate.decompress(member) == b"".join(texts) + live
    assert inflate.eof
    assert not inflate.unused_data
    assert gzip.decompress(member) == b"".join(texts) + live


@given(texts=TEXTS)
def test_a_text_may_come_bit_by_bit(texts: list[bytes]) -> None:
    """However it comes, a piece is that of the whole text."""
    writer = TextCompressor()
    for text in texts:
        writer.add(text)
    piece, whole = writer.piece(), b"".join(texts)
    assert piece.plain == whole
    assert piece.sum == TextChecksum(len(whole), zlib.crc32(whole))


@pytest.mark.parametrize("over", [0, 1], ids=["as long as is kept", "a byte longer"])
def test_a_long_text_is_kept_compressed_only(monkeypatch: pytest.MonkeyPatch, over: int) -> None:
    """Up to the limit the text stays, beyond it readers get it inflated, with its length known before."""
    monkeypatch.setattr(compressed_text, "KEPT_PLAIN", 100_000)
    text = bytes(range(250)) * 400 + b"x" * over
    plain = CompressedText.compress(text).plain
    assert isinstance(plain, InflatedText) == bool(over)
    assert len(plain) == len(text)
    assert (plain if isinstance(plain, bytes) else b"".join(plain)) == text


def test_an_inflated_text_comes_in_slices() -> None:
    """A reader never has the whole of a long text in hand, and each reader has it from the start."""
    text = b"".join(b"lagwarden_partition_lag{group=%d} 1\n" % at for at in range(300_000))
    plain = InflatedText(CompressedText.compress(text).deflated, len(text))
    for _ in range(2):
        parts = list(plain)
        assert b"".join(parts) == text
        assert max(map(len, parts)) < len(text) / 8


def test_nothing_is_the_sum_of_no_pieces() -> None:
    """Without pieces there is nothing, and nothing before a text changes nothing."""
    assert total_checksum([]) == EMPTY_CHECKSUM
    piece = CompressedText.compress(b"text")
    assert EMPTY_CHECKSUM.then(piece.sum) == piece.sum
