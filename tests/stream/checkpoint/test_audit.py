"""Spark's own log in a checkpoint: a consistent log is accepted, and each kind of damage is named with its file."""

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from stream.checkpoint.audit import check_log
from stream.checkpoint.files import DamagedError

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


Change = Callable[[Path], object]
"""Changes the log in a folder."""


def flip(name: str, at: int = -3) -> Change:
    """Return a change that flips one bit."""

    def change(spark: Path) -> None:
        content = bytearray((spark / name).read_bytes())
        content[at] ^= 0x01
        (spark / name).write_bytes(content)

    return change


def remove(*names: str) -> Change:
    """Return a change that deletes files with their checksums, or folders, as people and restored backups do."""

    def change(spark: Path) -> None:
        for path in (spark / name for name in names):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
                path.with_name(f".{path.name}.crc").unlink()

    return change


def put(name: str, text: str, *, checksum: bool = True) -> Change:
    """Return a change that writes a file."""
    return lambda spark: write(spark / name, text, checksum=checksum)


def old_batches_cleared_away(spark: Path) -> None:
    """Leave the commit of the newest batch only, and the offsets of all batches but the first."""
    commits = [f"commits/{path.name}" for path in (spark / "commits").glob("[0-9]*") if path.name != str(NEWEST)]
    remove("offsets/2", *commits)(spark)


def no_batch_ended(spark: Path) -> None:
    """Leave the first batch in progress."""
    remove("offsets", "commits", "state")(spark)
    write(spark / "offsets" / "0", offsets({0: 1}))
    write(spark / "state" / "0" / "0" / "1.changelog", "changes")


SOUND: Final[dict[str, Change]] = {
    "as Spark left it": lambda _: None,
    "the newest batch has not ended": remove("commits/6"),
    "old batches are cleared away": old_batches_cleared_away,
    "a write was cut off before its rename": lambda spark: (spark / "offsets" / ".7.ab.tmp").write_text("v1"),
    "killed between the renames of a file and of its checksums": lambda spark: (spark / "offsets" / ".6.crc").rename(
        spark / "offsets" / "..6.ab.tmp.crc"
    ),
    "no checksums": lambda spark: [path.unlink() for path in spark.rglob(".*.crc")],
    "a checksum file that Hadoop ignores": lambda spark: (spark / "offsets" / f".{NEWEST}.crc").write_text(""),
    "nothing there at all": shutil.rmtree,
    "the first batch is in progress": no_batch_ended,
}


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_a_consistent_log_is_accepted(spark: Path, change: Change) -> None:
    """Files that Spark leaves after a normal stop or a kill are no damage, even if no batch has ended yet."""
    change(spark)
    check_log(spark)


def no_text(spark: Path) -> None:
    """Replace the newest offsets by bytes that are no text."""
    remove("offsets/6")(spark)
    (spark / "offsets" / "6").write_bytes(b"\xff\xfe")


def cut_checksum(spark: Path) -> None:
    """Cut the checksums of the newest offsets to their header."""
    (spark / "offsets" / ".6.crc").write_bytes(b"crc\0\0\0\2\0")


def no_checksum(spark: Path) -> None:
    """Remove the checksums of the newest offsets."""
    (spark / "offsets" / ".6.crc").unlink()


def folder_of_offsets(spark: Path) -> None:
    """Replace the newest offsets by a folder."""
    remove("offsets/6")(spark)
    (spark / "offsets" / "6").mkdir()


CUT: Final = put("offsets/6", offsets({0: 60, 1: 120})[:-4], checksum=False)
COMMITS_END: Final = "commits/5 is missing: the last batch in offsets is 6, but "
DAMAGE: Final[dict[str, tuple[Change, str]]] = {
    "newest offsets empty": (put("offsets/6", ""), "offsets/6 is empty"),
    "newest offsets flipped": (flip("offsets/6"), r"offsets/6 does not match its checksum"),
    "flipped beyond the first checksum": (flip("offsets/6", 600), r"offsets/6 does not match its checksum in \.6\.crc"),
    "newest offsets cut short": (put("offsets/6", 'v1\n{"batchWatermarkMs":0}'), "offsets/6 has no positions"),
    "newest offsets cut within a line": (CUT, "offsets/6 does not match"),
    "checksum cut to its header": (cut_checksum, "offsets/6 does not match its checksum"),
    "no checksum, though others have one": (no_checksum, r"offsets/6 has no checksum in \.6\.crc"),
    "newest offsets of zeros": (put("offsets/6", "\0" * 700), "offsets/6 does not begin with a version"),
    "newest offsets that are no text": (no_text, "offsets/6 is not UTF-8 text"),
    "newest offsets without JSON": (put("offsets/6", "v1\n{\n{}"), "offsets/6 is not JSON"),
    "newest offsets of another topic": (put("offsets/6", 'v1\n{}\n{"t":{"0":5}}'), "offsets/6 has no positions"),
    "newest offsets with a text for a number": (
        put("offsets/6", 'v1\n{}\n{"__consumer_offsets":{"0":"5"}}'),
        "offsets/6 has no positions",
    ),
    "newest offsets lower than those of the previous batch": (
        put("offsets/6", offsets({0: 60, 1: 99})),
        "offsets/6 ends before offsets/5 does, in partition 1",
    ),
    "newest offsets without a partition": (
        put("offsets/6", offsets({0: 60})),
        "offsets/6 ends before offsets/5 does, in partition 1",
    ),
    "offsets of the previous batch flipped": (flip("offsets/5"), "offsets/5 does not match"),
    "offsets of the previous batch missing": (remove("offsets/5"), "offsets/5 is missing"),
    "newest offsets missing": (remove("offsets/6"), "offsets/6 is missing, although batch 6"),
    "all offsets missing": (remove("offsets"), "offsets/6 is missing, although batch 6"),
    "newest offsets are a folder": (folder_of_offsets, "offsets/6 is not a regular file"),
    "newest commit empty": (put("commits/6", ""), "commits/6 is empty"),
    "newest commit flipped": (flip("commits/6"), "commits/6 does not match its checksum"),
    "newest commit cut short": (put("commits/6", "v1"), "commits/6 is truncated"),
    "two commits missing": (remove("commits/5", "commits/6"), f"{COMMITS_END}the last batch in commits is 4"),
    "all commits missing": (remove("commits"), f"{COMMITS_END}commits has no batch"),
    "metadata missing": (remove("metadata"), "metadata is missing"),
    "metadata empty": (put("metadata", ""), "metadata is empty"),
    "metadata flipped": (flip("metadata"), "metadata does not match its checksum"),
    "metadata without a query id": (put("metadata", "[]"), "metadata has no query id"),
    "offsets and commits missing": (
        remove("offsets", "commits"),
        r"state/0/./\d\.\w+ is of batch \d, but the offset log has no batch",
    ),
    "newest offsets and commit missing": (
        remove("offsets/6", "commits/6"),
        r"state/0/./7\.changelog is of batch 6, but the offset log ends with batch 5",
    ),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_named_with_its_file(spark: Path, damage: Change, words: str) -> None:
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


def test_the_second_batch_is_compared_with_the_first(tmp_path: Path) -> None:
    """Offsets of batch 1 below those of batch 0 are damage."""
    write(tmp_path / "metadata", '{"id":"76612f7d-7ae1-4bc0-85aa-1818fff0a30a"}')
    for number, end in enumerate((20, 10)):
        write(tmp_path / "offsets" / str(number), offsets({0: end}))
        write(tmp_path / "commits" / str(number), "v1\n{}")
    with pytest.raises(DamagedError, match="offsets/1 ends before offsets/0 does, in partition 0"):
        check_log(tmp_path)
