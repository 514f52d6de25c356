"""Spark's own log in a checkpoint: a consistent log is accepted, and each kind of damage is named with its file."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from stream.checkpoint.audit import check_log
from stream.checkpoint.files import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable

NEWEST: Final = 6


def write(path: Path, text: str, *, checksum: bool = True) -> None:
    """Write a file as Hadoop's local file system does, with its checksums beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    path.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512)]
    if checksum:
        path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"".join(sums))


def offsets(read: dict[int, int]) -> str:
    """Return the content of `offsets/N`, longer than one checksum covers."""
    about = {"batchWatermarkMs": 0, "conf": {f"spark.sql.setting{number}": "value" for number in range(20)}}
    ends = {"__consumer_offsets": {str(partition): offset for partition, offset in read.items()}}
    return f"v1\n{json.dumps(about)}\n{json.dumps(ends)}"


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """Return an undamaged log of batches 2 to NEWEST, of which all have ended, with the state of two partitions."""
    folder = tmp_path / "spark"
    write(folder / "metadata", '{"id":"76612f7d-7ae1-4bc0-85aa-1818fff0a30a"}')
    for number in range(2, NEWEST + 1):
        write(folder / "offsets" / str(number), offsets({0: 10 * number, 1: 20 * number}))
        write(folder / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
        for partition in "01":
            write(folder / "state" / "0" / partition / f"{number + 1}.changelog", "changes")
    write(folder / "state" / "0" / "0" / "5.zip", "snapshot")
    write(folder / "state" / "0" / "_metadata" / "v2" / "0", "v2")
    return folder


def flip(path: Path, at: int = -3) -> None:
    """Flip one bit."""
    content = bytearray(path.read_bytes())
    content[at] ^= 0x01
    path.write_bytes(content)


def remove(*paths: Path) -> None:
    """Delete files with their checksums, as people and restored backups do."""
    for path in paths:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink()


def all_but_the_newest(folder: Path) -> list[Path]:
    """Return the files of all batches but the newest."""
    return [path for path in folder.glob("[0-9]*") if path.name != str(NEWEST)]


SOUND: Final[dict[str, Callable[[Path], None]]] = {
    "as Spark left it": lambda _: None,
    "the newest batch has not ended": lambda spark: remove(spark / "commits" / str(NEWEST)),
    "old batches are cleared away": lambda spark: remove(
        spark / "offsets" / "2", *all_but_the_newest(spark / "commits")
    ),
    "a write was cut off before its rename": lambda spark: (spark / "offsets" / ".7.ab.tmp").write_text("v1"),
    "no checksums": lambda spark: [path.unlink() for path in spark.rglob(".*.crc")],
    "a checksum file that Hadoop ignores": lambda spark: (spark / "offsets" / f".{NEWEST}.crc").write_text(""),
    "nothing there at all": shutil.rmtree,
}


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_a_consistent_log_is_accepted(spark: Path, change: Callable[[Path], None]) -> None:
    """Files that Spark leaves after a normal stop or a kill are no damage."""
    change(spark)
    check_log(spark)


def no_batch_ended(spark: Path) -> None:
    """Leave the first batch in progress."""
    for folder in ("offsets", "commits", "state"):
        shutil.rmtree(spark / folder)
    write(spark / "offsets" / "0", offsets({0: 1}))
    write(spark / "state" / "0" / "0" / "1.changelog", "changes")


def test_a_first_batch_in_progress_is_accepted(spark: Path) -> None:
    """A log without a finished batch is accepted, even if the state of its first batch exists."""
    no_batch_ended(spark)
    check_log(spark)


DAMAGE: Final[dict[str, tuple[Callable[[Path], None], str]]] = {
    "newest offsets empty": (lambda spark: write(spark / "offsets" / "6", ""), "offsets/6 is empty"),
    "newest offsets flipped": (lambda spark: flip(spark / "offsets" / "6"), r"offsets/6 does not match its checksum"),
    "offsets flipped beyond the first checksum": (
        lambda spark: flip(spark / "offsets" / "6", 600),
        r"offsets/6 does not match its checksum in \.6\.crc",
    ),
    "newest offsets cut short": (
        lambda spark: write(spark / "offsets" / "6", 'v1\n{"batchWatermarkMs":0}'),
        "offsets/6 has no positions",
    ),
    "newest offsets cut within a line": (
        lambda spark: write(spark / "offsets" / "6", offsets({0: 60, 1: 120})[:-4], checksum=False),
        "offsets/6 does not match",
    ),
    "newest offsets of zeros": (
        lambda spark: write(spark / "offsets" / "6", "\0" * 700),
        "offsets/6 does not begin with a version",
    ),
    "newest offsets that are no text": (
        lambda spark: (remove(spark / "offsets" / "6"), (spark / "offsets" / "6").write_bytes(b"\xff\xfe")),
        "offsets/6 is not UTF-8 text",
    ),
    "newest offsets without JSON": (
        lambda spark: write(spark / "offsets" / "6", "v1\n{\n{}"),
        "offsets/6 is not JSON",
    ),
    "newest offsets of another topic": (
        lambda spark: write(spark / "offsets" / "6", 'v1\n{}\n{"t":{"0":5}}'),
        "offsets/6 has no positions",
    ),
    "newest offsets with a text for a number": (
        lambda spark: write(spark / "offsets" / "6", 'v1\n{}\n{"__consumer_offsets":{"0":"5"}}'),
        "offsets/6 has no positions",
    ),
    "newest offsets lower than those of the previous batch": (
        lambda spark: write(spark / "offsets" / "6", offsets({0: 60, 1: 99})),
        "offsets/6 ends before offsets/5 does, in partition 1",
    ),
    "newest offsets without a partition": (
        lambda spark: write(spark / "offsets" / "6", offsets({0: 60})),
        "offsets/6 ends before offsets/5 does, in partition 1",
    ),
    "offsets of the previous batch flipped": (lambda spark: flip(spark / "offsets" / "5"), "offsets/5 does not match"),
    "offsets of the previous batch missing": (lambda spark: remove(spark / "offsets" / "5"), "offsets/5 is missing"),
    "newest offsets missing": (lambda spark: remove(spark / "offsets" / "6"), "offsets/6 is missing, although batch 6"),
    "all offsets missing": (lambda spark: shutil.rmtree(spark / "offsets"), "offsets/6 is missing, although batch 6"),
    "newest offsets are a folder": (
        lambda spark: (remove(spark / "offsets" / "6"), (spark / "offsets" / "6").mkdir()),
        "offsets/6 cannot be read",
    ),
    "newest commit empty": (lambda spark: write(spark / "commits" / "6", ""), "commits/6 is empty"),
    "newest commit flipped": (lambda spark: flip(spark / "commits" / "6"), "commits/6 does not match its checksum"),
    "newest commit cut short": (lambda spark: write(spark / "commits" / "6", "v1"), "commits/6 is truncated"),
    "two commits missing": (
        lambda spark: remove(spark / "commits" / "5", spark / "commits" / "6"),
        "commits/5 is missing: the last batch in offsets is 6, but the last batch in commits is 4",
    ),
    "all commits missing": (
        lambda spark: shutil.rmtree(spark / "commits"),
        "commits/5 is missing: the last batch in offsets is 6, but commits has no batch",
    ),
    "metadata missing": (lambda spark: remove(spark / "metadata"), "metadata is missing"),
    "metadata empty": (lambda spark: write(spark / "metadata", ""), "metadata is empty"),
    "metadata flipped": (lambda spark: flip(spark / "metadata"), "metadata does not match its checksum"),
    "metadata without a query id": (lambda spark: write(spark / "metadata", "[]"), "metadata has no query id"),
    "offsets and commits missing": (
        lambda spark: (shutil.rmtree(spark / "offsets"), shutil.rmtree(spark / "commits")),
        r"state/0/./\d\.\w+ is of batch \d, but the offset log has no batch",
    ),
    "newest offsets and commit missing": (
        lambda spark: remove(spark / "offsets" / "6", spark / "commits" / "6"),
        r"state/0/./7\.changelog is of batch 6, but the offset log ends with batch 5",
    ),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_named_with_its_file(spark: Path, damage: Callable[[Path], None], words: str) -> None:
    """The error begins with the file and describes its damage."""
    damage(spark)
    with pytest.raises(DamagedError, match=words) as found:
        check_log(spark)
    assert str(found.value).startswith(f"{spark}/")


def test_file_that_may_not_be_read_is_no_damage(spark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without read permission raises PermissionError, not DamagedError."""

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(PermissionError):
        check_log(spark)
