"""Decompression of every codec in every form that clients write, under a limit."""

import contextlib
import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log import zstd_many
from decoders.log.codecs import Codec, decompress
from decoders.log.errors import Damaged, LogFault
from decoders.log.zstd_many import decompress_together
from sandbox.kafka import log_writer as write

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@given(data=st.binary(max_size=3_000).map(lambda piece: piece * 50), codec=st.sampled_from(Codec))
def test_compressed_bytes_round_trip(data: bytes, codec: Codec) -> None:
    """Any bytes are restored with any codec, over several chunks and blocks."""
    assert decompress(codec, write.compress(codec, data)) == data


@given(data=st.binary(max_size=3_000).map(lambda piece: piece * 50))
def test_forms_of_other_clients_are_decompressed(data: bytes) -> None:
    """Raw snappy, zstd with a content size, and dependent lz4 blocks with a checksum are decompressed."""
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data
    assert decompress(Codec.ZSTD, bytes(cramjam.zstd.compress(data))) == data
    assert decompress(Codec.LZ4, bytes(cramjam.lz4.compress(data))) == data


def test_concatenated_streams_are_decompressed_as_one() -> None:
    """Two consecutive streams give both contents, as in Java's readers. A skippable zstd frame has no content."""
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.ZSTD):
        assert decompress(codec, write.compress(codec, b"one ") + write.compress(codec, b"two")) == b"one two"
    piece = write.compress(write.ZSTD, b"one ")
    assert decompress(Codec.ZSTD, piece + struct.pack("<II", 0x184D2A53, 3) + b"abc" + piece) == b"one one "


@given(
    payload=st.binary(max_size=400).map(lambda piece: piece * 500),
    more=st.binary(max_size=99).map(lambda piece: piece * 2_000),
)
def test_only_the_first_lz4_frame_is_read(payload: bytes, more: bytes) -> None:
    """Bytes after an lz4 frame are ignored, as in Kafka's Lz4BlockInputStream, whether they are a frame or not."""
    frame = write.compress(Codec.LZ4, payload)
    assert decompress(Codec.LZ4, frame + write.compress(Codec.LZ4, more)) == payload
    assert decompress(Codec.LZ4, frame + more) == payload
    with_checksum = bytes(cramjam.lz4.compress(payload))
    assert decompress(Codec.LZ4, with_checksum + more) == payload


def test_gzip_with_too_many_members_is_refused() -> None:
    """900 empty members are decompressed. 5,000 are refused, because they would take too much time."""
    assert decompress(Codec.GZIP, write.compress(write.GZIP, b"") * 900) == b""
    with pytest.raises(Damaged):
        decompress(Codec.GZIP, write.compress(write.GZIP, b"") * 5_000)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_decompression_bomb_is_refused(codec: Codec) -> None:
    """A stream that exceeds the limit is one typed error; one of exactly the limit is decompressed."""
    bomb = write.compress(codec, bytes(5 << 20))
    assert len(decompress(codec, bomb, limit=5 << 20)) == 5 << 20
    with pytest.raises(Damaged) as caught:
        decompress(codec, bomb, limit=(5 << 20) - 1)
    assert caught.value.fault is LogFault.EXPANDS_PAST_LIMIT


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_stream_truncated_anywhere_is_bad_compression(codec: Codec) -> None:
    """A truncated stream is refused, and never returned in part."""
    whole = write.compress(codec, b"some words, some words, some words, " * 40)
    for end in range(len(whole)):
        if codec is Codec.SNAPPY and end == 16:
            continue  # the header alone is a complete empty stream
        with pytest.raises(Damaged) as caught:
            decompress(codec, whole[:end])
        assert caught.value.fault is LogFault.BAD_COMPRESSION


def test_a_snappy_block_with_an_absurd_size_is_refused() -> None:
    """A block that states 2 GiB, or 2 MiB for three bytes of data, is refused before it is decompressed."""
    for stated_size in (b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x01"):
        with pytest.raises(Damaged, match="states a larger size than it can have"):
            decompress(Codec.SNAPPY, stated_size + b"abc")


def test_the_wrong_lz4_checksum_is_accepted_only_in_magic_0() -> None:
    """Writers of magic 0 wrote a wrong checksum byte in lz4 headers. In later magics it is damage."""
    frame = write.lz4_frame(b"text")
    wrong = frame[:6] + b"\x1a" + frame[7:]
    assert decompress(Codec.LZ4, wrong, magic=0) == decompress(Codec.LZ4, frame, magic=0) == b"text"
    with pytest.raises(Damaged):
        decompress(Codec.LZ4, wrong, magic=1)


@given(codec=st.sampled_from(COMPRESSED), data=st.binary(max_size=60))
def test_random_bytes_give_a_typed_error_or_bytes(codec: Codec, data: bytes) -> None:
    """Decompression of any bytes raises nothing except Damaged."""
    with contextlib.suppress(Damaged):
        assert isinstance(decompress(codec, data, limit=1 << 20), bytes)


def test_unusual_zstd_streams_are_not_decompressed_together() -> None:
    """Truncated, empty, damaged and strongly expanding streams are declined, because only `codecs` reports faults."""
    valid = write.compress(write.ZSTD, b"good")
    # One raw block with a size that includes exactly the separator frame and the stream after it.
    size = 1 + len(zstd_many._SEPARATOR_FRAME) + len(valid)
    too_long = valid[:6] + (1 | size << 3).to_bytes(3, "little") + b"x"
    assert decompress_together([too_long, valid]) is None
    for unusual in (valid[:-1], b"", b"\xff" * 20, write.compress(write.ZSTD, bytes(1 << 20))):
        assert decompress_together([valid, unusual, valid]) is None
