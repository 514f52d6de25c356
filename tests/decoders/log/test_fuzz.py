"""Fuzz tests: any bytes in any log file give records and typed errors, no exception, and bounded memory.

The quick profile tries some thousand inputs, the long one hundreds of thousands, with other seeds in each run.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders.log.batch import record_batch
from decoders.log.columns import partition_records
from decoders.log.control import end_marker
from decoders.log.dump import Dump, as_text, item_text
from decoders.log.errors import Damaged
from decoders.log.legacy import legacy_batch
from decoders.log.partition import read_directory
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED, opened
from tests.support.hypothesis_profiles import inputs, new_random
from tests.support.resources import peak_memory

LIMIT = 4 << 20


def seeds() -> Iterator[bytes]:
    """Yield valid contents of every kind: recorded segments, and formats that current brokers do not write."""
    yield from (path.read_bytes() for path in sorted(RECORDED.rglob("*.log")))
    records = [write.Rec(n, n, b"key%d" % n, b"value" * n, ((b"h", None),) if n == 2 else ()) for n in range(4)]
    for codec in range(5):
        yield write.batch(0, records, codec, producer_id=3, attributes=0x10) + write.marker(4, 3, committed=True)
    for magic in (0, 1):
        for codec in (write.GZIP, write.SNAPPY, write.LZ4):
            inner = b"".join(write.message(n, b"k", b"v" * n, magic) for n in range(4))
            yield write.wrapper(3, inner, magic, codec) + write.message(4, b"k", None, magic)


SEEDS = list(seeds())


def mutate(rng: random.Random, content: bytes) -> bytes:
    """Return the content after one to four mutations: changed bytes, extreme lengths, cuts, repeats, insertions."""
    raw = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(raw) or 1)
        match rng.randrange(6):
            case 0:
                raw[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                raw[at : at + 4] = rng.choice([b"\xff" * 4, b"\x7f\xff\xff\xff", b"\0" * 4, b"\x80\0\0\0"])
            case 2:
                del raw[at:]
            case 3:
                raw[at:at] = raw[at : at + rng.randrange(40)]
            case 4:
                raw[at : at + rng.randrange(1, 30)] = rng.randbytes(rng.randrange(30))
            case _:
                raw[at:] += bytes(rng.randrange(100))
    return bytes(raw)


def read_frame(content: bytes) -> None:
    """Read bytes as one batch of any magic, without the checksum, which would refuse nearly every mutation."""
    if len(content) < 61 or content[16] > 2:  # the walk over a file returns no others
        return
    batch = (record_batch if content[16] == 2 else legacy_batch)(memoryview(content), 0)
    batch.has_valid_crc()
    try:
        for record in batch.records(LIMIT):
            if batch.is_control:
                end_marker(record)
    except Damaged:
        pass


def read_everything(folder: Path, content: bytes) -> None:
    """Write bytes as every kind of file and read them with every reader."""
    log = folder / f"{0:020}.log"
    for file in (log, folder / "partition.metadata"):
        file.write_bytes(content)
    with opened(folder, limit=LIMIT) as partition:
        pieces = partition_records(partition, with_aborted=False)
        rows = sum(int((piece.columns.offset >= 0).sum()) for piece in pieces)  # of the first batch it yields all
        errors = {(each.fault, each.offset) for each in partition.errors}
        assert rows == sum(1 for _ in partition.records())
        assert errors == {(each.fault, each.offset) for each in partition.errors}
    read_directory(folder)
    list(map(item_text, Dump(log, as_text).items()))


def frames_of(content: bytes) -> list[bytes]:
    frames, at = [], 0
    while at < len(content):
        end = at + 12 + int.from_bytes(content[at + 8 : at + 12], "big")
        frames.append(content[at:end])
        at = end
    return frames


FRAMES = [frame for seed in SEEDS for frame in frames_of(seed)]


def fuzz_frames(rng: random.Random, count: int) -> None:
    """Read `count` mutated batches."""
    for _ in range(count):
        read_frame(mutate(rng, rng.choice(FRAMES)))


def fuzz_files(rng: random.Random, folder: Path, count: int) -> None:
    """Read `count` mutated files with every reader."""
    partition = folder / "topic-0"
    partition.mkdir()
    for _ in range(count):
        content = mutate(rng, rng.choice(SEEDS))
        read_everything(partition, content if rng.random() < 0.5 else with_checksums(content))


def with_checksums(content: bytes) -> bytes:
    """Return the content with valid checksums of complete batches of magic 2, so that their damage is reached."""
    import google_crc32c  # only needed here

    raw, at = bytearray(content), 0
    while at + 61 <= len(raw) and raw[at + 16] == 2:
        end = at + 12 + int.from_bytes(raw[at + 8 : at + 12], "big")
        if not at + 61 <= end <= len(raw):
            break
        raw[at + 17 : at + 21] = google_crc32c.value(bytes(raw[at + 21 : end])).to_bytes(4, "big")
        at = end
    return bytes(raw)


def test_a_few_mutations_raise_no_exception(tmp_path: Path) -> None:
    """Some thousand mutated batches and a hundred mutated files, with fixed seeds, raise no exception."""
    fuzz_frames(random.Random(1), 2_000)  # noqa: S311  # repeatable test data
    fuzz_files(random.Random(2), tmp_path, 100)  # noqa: S311  # repeatable test data


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_many_mutations_raise_no_exception(tmp_path: Path) -> None:
    """Hundreds of thousands of mutated batches and thousands of files raise nothing, and both readers agree."""
    fuzz_frames(new_random(), inputs(1_000_000))
    fuzz_files(new_random(), tmp_path, inputs(10_000))


def test_lengths_of_two_gibibytes_take_little_memory(tmp_path: Path) -> None:
    """Reading with such length fields takes less than 32 MiB, because file size and limits bound the memory."""
    huge = [
        write.batch(0, [write.Rec(0, 0, b"k", b"v")], count=0x7FFFFFFF),
        write.batch(0, [write.Rec(0, 0, b"k", b"v")])[:61] + write.zigzag(0x7FFFFFFF) * 3,
        write.message(0, None, b"\xff\xff\xff\xff\x07" + bytes(9), 1, attributes=write.SNAPPY),
        write.batch(0, [])[:8] + b"\x7f\xff\xff\xff" + write.batch(0, [])[12:],
    ]
    with peak_memory() as peak:
        for number, content in enumerate(huge):
            read_frame(content)
            folder = tmp_path / f"t-{number}"
            folder.mkdir()
            read_everything(folder, with_checksums(content))
    assert peak.size < 32 << 20
