"""Decompression: every codec in every form that clients write, always under a limit."""

from __future__ import annotations

import contextlib
import struct

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log import zstd_many
from decoders.log.blockwalk import xxh32_short
from decoders.log.codecs import Codec, decompress
from decoders.log.errors import Damaged, LogFault
from decoders.log.zstd_many import decompress_together
from tests.decoders.log import logwriter as write

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@given(data=st.binary(max_size=3_000).map(lambda piece: piece * 50), codec=st.sampled_from(Codec))
def test_what_is_compressed_comes_back(data: bytes, codec: Codec) -> None:
    """Any bytes survive any codec, over several chunks and blocks."""
    assert decompress(codec, write.compress(codec, data)) == data


@given(data=st.binary(max_size=3_000).map(lambda piece: piece * 50))
def test_other_forms_come_back(data: bytes) -> None:
    """Raw snappy, zstd with its size, dependent lz4 blocks with a checksum: what other clients write is read too."""
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data
    assert decompress(Codec.ZSTD, bytes(cramjam.zstd.compress(data))) == data
    assert decompress(Codec.LZ4, bytes(cramjam.lz4.compress(data))) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_concatenated_streams_are_one(codec: Codec) -> None:
    """Two streams behind each other expand to both contents, as Java's readers have it (lz4 excepted: one frame)."""
    if codec is not Codec.LZ4:
        assert decompress(codec, write.compress(codec, b"one ") + write.compress(codec, b"two")) == b"one two"


def test_gzip_of_endless_members_is_refused() -> None:
    """Thousands of empty members are no batch but an attack on the reader's time."""
    assert decompress(Codec.GZIP, write.compress(write.GZIP, b"") * 900) == b""
    with pytest.raises(Damaged):
        decompress(Codec.GZIP, write.compress(write.GZIP, b"") * 5_000)


def test_skippable_zstd_frames_are_skipped() -> None:
    """A skippable frame between two frames adds nothing."""
    piece = write.compress(write.ZSTD, b"one ")
    assert decompress(Codec.ZSTD, piece + struct.pack("<II", 0x184D2A53, 3) + b"abc" + piece) == b"one one "


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_refused_before_it_expands(codec: Codec) -> None:
    """What would expand past the limit is one typed error; just at the limit it is given."""
    bomb = write.compress(codec, bytes(5 << 20))
    assert len(decompress(codec, bomb, limit=5 << 20)) == 5 << 20
    with pytest.raises(Damaged) as caught:
        decompress(codec, bomb, limit=(5 << 20) - 1)
    assert caught.value.fault is LogFault.EXPANDS_PAST_LIMIT


@pytest.mark.parametrize("codec", COMPRESSED)
def test_every_cut_is_bad_compression(codec: Codec) -> None:
    """A stream that ends early anywhere is refused, never given in part."""
    whole = write.compress(codec, b"some words, some words, some words, " * 40)
    for end in range(len(whole)):
        if codec is Codec.SNAPPY and end == 16:
            continue  # the framing's header alone is a whole stream of nothing
        with pytest.raises(Damaged) as caught:
            decompress(codec, whole[:end])
        assert caught.value.fault is LogFault.BAD_COMPRESSION


def test_a_snappy_block_that_claims_too_much_costs_nothing() -> None:
    """A block whose preamble says 2 GiB is refused by its own size, not by trying."""
    for claim in (b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x01"):
        with pytest.raises(Damaged):
            decompress(Codec.SNAPPY, claim + b"abc")


def test_the_wrong_checksum_of_magic_0_is_forgiven_only_there() -> None:
    """Magic 0 wrote lz4 headers with a wrong checksum byte; from magic 1 on that is damage."""
    frame = write.lz4_frame(b"text")
    wrong = frame[:6] + b"\x1a" + frame[7:]
    assert decompress(Codec.LZ4, wrong, magic=0) == decompress(Codec.LZ4, frame, magic=0) == b"text"
    with pytest.raises(Damaged):
        decompress(Codec.LZ4, wrong, magic=1)


def test_the_header_checksum_is_that_of_the_lz4_library() -> None:
    """Our xxHash32 gives the byte that the library wrote, with and without the content size in the header."""
    assert xxh32_short(b"\x60\x40") >> 8 & 0xFF == 0x82
    frame = bytes(cramjam.lz4.compress(b"text" * 9))
    end = 6 + (8 if frame[4] & 8 else 0)
    assert xxh32_short(frame[4:end]) >> 8 & 0xFF == frame[end]


@given(codec=st.sampled_from(COMPRESSED), data=st.binary(max_size=60))
def test_garbage_is_a_typed_error_or_bytes(codec: Codec, data: bytes) -> None:
    """Any bytes expand to something or are refused with a typed error; nothing else is raised."""
    with contextlib.suppress(Damaged):
        assert isinstance(decompress(codec, data, limit=1 << 20), bytes)


@given(contents=st.lists(st.binary(max_size=300), min_size=1, max_size=20))
def test_zstd_streams_expanded_together_are_those_expanded_alone(contents: list[bytes]) -> None:
    """One call for many streams gives each one's content, in order, with and without its size in the frame."""
    streams = [write.compress(write.ZSTD, each) for each in contents]
    assert decompress_together(streams) == contents
    assert decompress_together([bytes(cramjam.zstd.compress(each)) for each in contents]) == contents


def test_odd_zstd_streams_are_not_expanded_together() -> None:
    """A cut, an empty or a damaged stream, and what grows too much, is left to the reader that words faults."""
    good = write.compress(write.ZSTD, b"good")
    # One raw block that claims so many bytes that it swallows exactly the border and the stream behind it.
    size = 1 + len(zstd_many._SEPARATOR_FRAME) + len(good)
    greedy = good[:6] + (1 | size << 3).to_bytes(3, "little") + b"x"
    assert decompress_together([greedy, good]) is None
    for odd in (good[:-1], b"", b"\xff" * 20, write.compress(write.ZSTD, bytes(1 << 20))):
        assert decompress_together([good, odd, good]) is None
