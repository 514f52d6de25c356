"""Compressed texts: joined in any selection they equal the concatenated texts, plain and compressed."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.text import samples
from exporters.text.samples import (
    CompressedText,
    TextChecksum,
    TextCompressor,
    gzip_member,
    total_checksum,
)

TEXTS = st.lists(st.binary(max_size=2000), max_size=6)


@given(first=st.binary(), second=st.binary())
def test_checksums_join_without_the_texts(first: bytes, second: bytes) -> None:
    """Law: the checksum of a concatenation follows from the two checksums and the length of the second text."""
    one, other, both = (TextChecksum(len(text), zlib.crc32(text)) for text in (first, second, first + second))
    assert one.then(other) == both


@given(texts=TEXTS, last=st.binary(max_size=100))
def test_compressed_texts_join_to_one_gzip_member(texts: list[bytes], last: bytes) -> None:
    """Law: texts that were compressed separately join to one valid gzip member, also empty ones."""
    compressed = [CompressedText.compress(text) for text in texts]
    member = b"".join(gzip_member(compressed, total_checksum(compressed), last))
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert inflate.decompress(member) == b"".join(texts) + last
    assert inflate.eof
    assert not inflate.unused_data
    assert gzip.decompress(member) == b"".join(texts) + last


@given(texts=TEXTS)
def test_a_text_can_be_added_in_parts(texts: list[bytes]) -> None:
    """Law: the result does not depend on how the text was divided."""
    compressor = TextCompressor()
    for text in texts:
        compressor.add(text)
    compressed, whole = compressor.finish(), b"".join(texts)
    assert compressed.plain == whole
    assert compressed.checksum == TextChecksum(len(whole), zlib.crc32(whole))


@pytest.mark.parametrize("over", [0, 1], ids=["at the limit", "one byte longer"])
def test_a_long_text_is_kept_only_compressed(monkeypatch: pytest.MonkeyPatch, over: int) -> None:
    """Up to the limit the plain text is kept; a longer text is inflated for each reader, with its length known."""
    monkeypatch.setattr(samples, "KEPT_PLAIN", 100_000)
    text = bytes(range(250)) * 400 + b"x" * over
    plain = CompressedText.compress(text).plain
    assert isinstance(plain, bytes) != bool(over)
    assert len(plain) == len(text)
    assert (plain if isinstance(plain, bytes) else b"".join(plain)) == text
