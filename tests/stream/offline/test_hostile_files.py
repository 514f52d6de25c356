"""Damaged files, huge files and paths that are no files give one line and an exit code, and no file loses data."""

import errno
import fcntl
import io
import os
import pathlib
import random
import socket
import subprocess
import sys
import zlib
from pathlib import Path
from typing import IO

import fastavro
import pytest

from sandbox.kafka import log_writer as write
from stream.cli import app as cli
from stream.errors import ExitCode
from stream.offline import capture as capture_module
from stream.offline import container
from stream.offline.capture import SCHEMA, CaptureFile, CaptureWriter
from stream.offline.rows import UnreadableRefusal, UnwritableRefusal
from tests.stream.offline.captures import ORIGIN, RECORDED, capture_of, commit, row
from tests.support.raw import commit_key, commit_value
from tests.support.resources import full_after, peak_memory


@pytest.fixture
def log_folder(tmp_path: Path) -> Path:
    """Return a broker's log directory with 400 commits whose metadata does not compress."""
    return make_partition(tmp_path / "data", 3, 400).parent


def make_partition(root: Path, number: int, count: int) -> Path:
    """Write one partition of the offsets topic in two segments. Returns its directory."""
    folder = root / f"__consumer_offsets-{number}"
    folder.mkdir(parents=True)
    noise = random.Random(1)  # noqa: S311 -- bytes that do not compress
    for first, last in ((0, count // 2), (count // 2, count)):
        batches = [
            write.batch(at, [write.Rec(0, 0, commit_key("g", "t", at), commit_value(at, at) + noise.randbytes(4096))])
            for at in range(first, last)
        ]
        (folder / f"{first:020}.log").write_bytes(b"".join(batches))
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = cli.main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def blocks_of(path: Path) -> list[tuple[int, int]]:
    """Return start and end of each block of a capture."""
    return [(block.start, block.end) for block in CaptureFile(path).blocks()]


# --- continuing a capture


def start_of_data(raw: bytes, start: int) -> int:
    at = start
    for _ in range(2):
        while raw[at] & 0x80:
            at += 1
        at += 1
    return at


def damaged_copies(raw: bytes, blocks: list[tuple[int, int]]) -> dict[str, bytes]:
    """Return copies of a capture with damage other than an incomplete last block."""
    data = [start_of_data(raw, start) for start, _ in blocks]
    start, end = blocks[1]
    changes = {
        # An invalid block type of deflate. (A flipped bit in a value is not detectable.)
        "bad block": (data[2], raw[data[2]] | 0b110),
        "bad last block": (data[-1], raw[data[-1]] | 0b110),
        "bad sync marker": (blocks[2][1] - 1, raw[blocks[2][1] - 1] ^ 0xFF),
        # The last byte of the length makes the block some megabytes longer, beyond the end of the file.
        "length beyond the file": (data[2] - 1, 0x7E),
        "negative count": (start, raw[start] | 1),
    }
    copies = {name: raw[:at] + bytes([byte]) + raw[at + 1 :] for name, (at, byte) in changes.items()}
    copies["unknown codec"] = raw.replace(b"deflate", b"deflat9", 1)
    copies["zeroed block"] = raw[:start] + bytes(end - start) + raw[end:]
    return copies


def test_damaged_capture_is_not_continued(log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Damage other than an incomplete last block gives one line and an exit code; the file is not changed."""
    path = tmp_path / "c.avro"
    assert run(capsys, "capture", path, "--log-dir", log_folder)[0] == ExitCode.OK
    assert len(blocks_of(path)) > 4
    for damage, damaged in damaged_copies(path.read_bytes(), blocks_of(path)).items():
        path.write_bytes(damaged)
        code, _, err = run(capsys, "capture", path, "--log-dir", log_folder)
        assert (code, err.count("\n")) == (ExitCode.UNREADABLE, 1), (damage, err)
        assert path.read_bytes() == damaged, damage


def test_incomplete_last_block_is_cut_off(log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The writer cuts off only the incomplete block, reports this, and captures its rows again."""
    path = tmp_path / "c.avro"
    run(capsys, "capture", path, "--log-dir", log_folder)
    whole, (start, end) = path.read_bytes(), blocks_of(path)[-1]
    for cut in (start + 1, start + 3, start + 7, (start + end) // 2, end - 17, end - 16, end - 1):
        path.write_bytes(whole[:cut])
        code, _, err = run(capsys, "capture", path, "--log-dir", log_folder)
        assert code == ExitCode.OK
        assert f"its incomplete last block of {cut - start} bytes was cut off" in err
        assert path.read_bytes()[:start] == whole[:start]
        assert [each.offset for each in CaptureFile(path).rows()] == list(range(400))


class _Failing(io.FileIO):
    """A file with a read error after a number of bytes."""

    def __init__(self, path: Path, healthy: int) -> None:
        super().__init__(path)
        self._healthy = healthy

    def read(self, size: int | None = -1) -> bytes:  # type: ignore[override]  # a FileIO blocks and never returns None
        if self.tell() > self._healthy:
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size) or b""


def test_read_error_cuts_nothing_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary read error is not treated as the end of the file."""
    path = capture_of(tmp_path / "c.avro", [row(at, b"k", os.urandom(3000)) for at in range(500)])
    before = path.read_bytes()

    def failing(path: Path) -> IO[bytes]:
        return _Failing(path, len(before) // 2)

    with monkeypatch.context() as patched:
        patched.setattr(capture_module, "open_to_read", failing)
        with pytest.raises(
            UnreadableRefusal, match=r"cannot be read from byte \d+ on: Input/output error; nothing was"
        ):
            CaptureWriter(path, ORIGIN)
        known = CaptureFile(path)
        assert 0 < len(list(known.rows())) < 500, "a read yields the rows before the error"
        assert len(known.problems) == 1
    assert path.read_bytes() == before
    with CaptureWriter(path, ORIGIN) as writer:
        assert writer.cut == 0


def test_second_writer_of_a_file_is_rejected(tmp_path: Path) -> None:
    """A second writer is rejected while the first writer has the file open."""
    path = capture_of(tmp_path / "c.avro", [commit(0, 1)])
    with CaptureWriter(path, ORIGIN), pytest.raises(UnwritableRefusal, match="another process writes to"):
        CaptureWriter(path, ORIGIN)
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# --- full disks


def test_full_disk_is_one_line_and_the_next_run_continues(
    log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk gives an exit code; no written row is lost, and the next run completes the capture."""
    for room in (0, 100, 1000, 300_000, 900_000):
        path = tmp_path / f"{room}.avro"
        with full_after(room):
            code = cli.main(["capture", str(path), "--log-dir", str(log_folder)])
        assert code == ExitCode.UNWRITABLE
        err = capsys.readouterr().err
        assert "cannot be written: File too large" in err
        assert err.count("\n") == 1, err
        assert run(capsys, "capture", path, "--log-dir", log_folder)[0] == ExitCode.OK
        assert [each.offset for each in CaptureFile(path).rows()] == list(range(400))


def test_output_to_a_full_disk_is_one_line() -> None:
    """A command that cannot write to stdout ends with the exit code UNWRITABLE and without a traceback."""
    with pathlib.Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "stream.cli", "decode", "--input", str(RECORDED)]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == ExitCode.UNWRITABLE
    last = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert last == ["error: cannot write the output: No space left on device; free space or redirect it"]
    assert "Traceback" not in ended.stderr


# --- paths that are no files


def paths_that_are_no_files(folder: Path) -> dict[str, Path]:
    """Make paths that are no regular files. Returns them by their kind."""
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket"))
    (folder / "loop").symlink_to("loop")
    return {
        "a FIFO": folder / "fifo",
        "a socket": folder / "socket",
        "an endless device": pathlib.Path("/dev/zero"),
        "a full device": pathlib.Path("/dev/full"),
        "a name of 5,000 characters": folder / ("n" * 5000),
        "a path of 5,000 characters": folder.joinpath(*["n" * 99] * 50),
        "a symlink to itself": folder / "loop",
        "a file as a directory": capture_of(folder / "c.avro", []) / "x",
    }


def _contents(folder: Path) -> dict[Path, tuple[int, int, int]]:
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {path: (each.st_mode, each.st_size, each.st_mtime_ns) for path, each in found.items()}


def test_path_that_is_no_file_is_rejected(log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a capture nor a command that reads captures is blocked by such a path.

    The error is one short line and an exit code; nothing is created or changed.
    """
    odd = paths_that_are_no_files(tmp_path)
    targets = odd | {"a directory": tmp_path, "a missing directory": tmp_path / "no" / "c.avro"}
    sources = odd | {"a missing file": tmp_path / "nothing"}
    before = _contents(tmp_path)
    attempts = [
        (kind, ExitCode.UNWRITABLE, ["capture", path, "--log-dir", log_folder]) for kind, path in targets.items()
    ]
    for verb in (["replay"], ["decode", "--input"], ["groups", "--capture"]):
        attempts += [(kind, ExitCode.UNREADABLE, [*verb, path]) for kind, path in sources.items()]
    for kind, expected, words in attempts:
        code, out, err = run(capsys, *words)
        assert (code, out, err.count("\n")) == (expected, "", 1), (kind, words[0], err)
        assert len(err) < 600
        assert _contents(tmp_path) == before, (kind, words[0])


# --- decompression bombs

LIMIT = 16 << 20
"""The limit of a block in the tests of bombs, in bytes; that of the product takes seconds."""
EXPANDED = 4 * LIMIT
"""The uncompressed size of a bomb in bytes."""


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def with_block(path: Path, codec: str, count: int, compressed: bytes) -> Path:
    """Write a capture with one block of these compressed bytes. Returns its path."""
    plain = io.BytesIO()
    fastavro.writer(plain, SCHEMA, [], "null", metadata={}, sync_marker=b"0123456789abcdef")
    header = plain.getvalue().replace(b"\x08null", write.zigzag(len(codec)) + codec.encode(), 1)
    path.write_bytes(header + write.zigzag(count) + write.zigzag(len(compressed)) + compressed + b"0123456789abcdef")
    return path


def test_decompression_bomb_is_one_line_and_bounded_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block above the limit is damage, and needs no more memory than a block within the limit."""
    monkeypatch.setattr(container, "MAX_BLOCK_BYTES", LIMIT)
    path = with_block(tmp_path / "bomb.avro", "deflate", 10, _deflated(bytes(EXPANDED)))
    with peak_memory() as peak:
        code, _, err = run(capsys, "decode", "--input", path)
    assert code == ExitCode.UNREADABLE
    assert err.count("\n") == 1, err
    assert f"{LIMIT} bytes" in err
    assert peak.size < 3 * LIMIT


def test_row_above_the_limit_is_skipped(tmp_path: Path) -> None:
    """A row that the reader would reject is reported and not written; all others are captured."""
    path = tmp_path / "c.avro"
    with CaptureWriter(path, ORIGIN) as writer:
        writer.write(commit(0, 1))
        writer.write(row(1, b"k", bytes(capture_module.MAX_ROW_BYTES)))
        writer.write(commit(2, 3))
    assert len(writer.problems) == 1
    assert [each.offset for each in CaptureFile(path).rows()] == [0, 2]


# --- log directories


def spoil(segment: Path, kind: str) -> None:
    """Put something in the place of a segment that cannot be read."""
    segment.unlink()
    if kind == "FIFO":
        os.mkfifo(segment)
    elif kind == "directory":
        segment.mkdir()
    else:
        # Missing permissions do not stop root; a symlink to itself does.
        segment.symlink_to(segment.name)


@pytest.mark.parametrize("kind", ["FIFO", "directory", "unreadable"])
def test_unreadable_segment_does_not_affect_others(
    kind: str, log_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one line with the file name, and an exit code; all other segments and partitions are read."""
    spoil(log_folder / "__consumer_offsets-3" / f"{0:020}.log", kind)
    make_partition(log_folder, 4, 20)
    capture = ["capture", tmp_path / "c.avro", "--log-dir"]
    for verb in (["replay"], ["decode", "--input"], capture, ["groups", "--capture"]):
        code, out, err = run(capsys, *verb, log_folder)
        assert code == ExitCode.UNREADABLE
        (error,) = (line for line in err.splitlines() if line.startswith("error: "))
        assert f"__consumer_offsets-3/{0:020}.log" in error
        assert out.strip() or verb == capture
    rows = [(each.partition, each.offset) for each in CaptureFile(tmp_path / "c.avro").rows()]
    assert rows == [*((3, at) for at in range(200, 400)), *((4, at) for at in range(20))]


def test_read_error_ends_only_its_segment(
    log_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A read error gives one line and an exit code; the other segments are read."""
    broken = (log_folder / "__consumer_offsets-3" / f"{0:020}.log").stat().st_ino
    healthy = os.pread

    def failing(descriptor: int, size: int, position: int) -> bytes:
        if os.fstat(descriptor).st_ino == broken:
            raise OSError(errno.EIO, "Input/output error")
        return healthy(descriptor, size, position)

    monkeypatch.setattr("decoders.log.segment.os.pread", failing)
    code, out, err = run(capsys, "decode", "--input", log_folder)
    assert code == ExitCode.UNREADABLE
    assert f"{0:020}.log: unreadable at byte 0" in err
    assert "Input/output error" in err
    assert out.count("\n") == 200


def test_huge_length_is_not_allocated(tmp_path: Path) -> None:
    """A block length above the limit is damage. The length is not allocated."""
    path = with_block(tmp_path / "c.avro", "null", 1, b"x")
    raw = path.read_bytes()
    for length in (container.MAX_BLOCK_BYTES + 1, 1 << 60):
        path.write_bytes(raw[:-18] + write.zigzag(length, 64))
        known = CaptureFile(path)
        with peak_memory() as peak:
            assert list(known.rows()) == []
        assert "damaged at byte" in known.problems[0]
        assert f"a block of {length} bytes" in known.problems[0]
        assert peak.size < container.MAX_BLOCK_BYTES
