"""The files that make up a version of the state: all of them are checked, and no others."""

import json
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from stream.checkpoint.audit import check_state
from stream.checkpoint.files import DamagedError, sums_of

VERSION: Final = 9


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    pieces = [zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512)]
    sums_of(path).write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"".join(pieces))
    return path


def snapshot(path: Path, *files: str) -> None:
    """Write a snapshot that lists files."""
    listed = {"sstFiles": [{"localFileName": name, "dfsSstFileName": name} for name in files]}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("MANIFEST-000005", "rocksdb")
        archive.writestr("metadata", f"v1\n{json.dumps(listed)}")
    write(path, path.read_bytes())


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """Return a state of two partitions: snapshots of versions 4 and 7, changelogs 5 to 10, both snapshots' files."""
    state = tmp_path / "state" / "0"
    write(state / "_metadata" / "v2" / "0", b'v2\n{"stateStoreInfo":[{"numPartitions":2}]}')
    write(state / "_stateSchema" / "default" / "0_57eb", b"schema")
    for folder in (state / "0", state / "1"):
        for version in range(5, VERSION + 2):
            write(folder / f"{version}.changelog", b"changes" * 200)
        for name in ("000008-a.sst", "000011-b.sst"):
            write(folder / "SSTs" / name, name.encode() * 300)
        snapshot(folder / "4.zip", "000008-a.sst")
        snapshot(folder / "7.zip", "000011-b.sst")
    return tmp_path


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


SOUND: Final[dict[str, Callable[[Path], object]]] = {
    "as Spark left it": lambda _: None,
    "an older snapshot is broken": lambda part: flip(part / "4.zip"),
    "a file of an older snapshot is gone": lambda part: (part / "SSTs" / "000008-a.sst").unlink(),
    "an older changelog is gone": lambda part: (part / "6.changelog").unlink(),
    "a later changelog, of a batch under way, is broken": lambda part: flip(part / "10.changelog"),
    "the newer snapshot is gone, all changelogs are there": lambda part: (part / "7.zip").unlink(),
    "no file has checksums": lambda part: [path.unlink() for path in part.rglob(".*.crc")],
}


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_files_that_this_version_does_not_need_are_not_checked(spark: Path, change: Callable[[Path], object]) -> None:
    """A state is accepted if a snapshot and all changelogs after it, up to the version, are undamaged."""
    change(spark / "state" / "0" / "1")
    check_state(spark, VERSION)


DAMAGE: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "changelog flipped": (lambda part: flip(part / "8.changelog"), "1/8.changelog does not match its checksum"),
    "changelog empty": (lambda part: (part / "9.changelog").write_bytes(b""), "1/9.changelog does not match"),
    "changelog missing": (lambda part: (part / "8.changelog").unlink(), "1/8.changelog is missing"),
    "changelog without checksums": (lambda part: sums_of(part / "9.changelog").unlink(), "9.changelog has no checksum"),
    "snapshot flipped": (lambda part: flip(part / "7.zip"), "1/7.zip does not match"),
    "snapshot is no archive": (lambda part: write(part / "7.zip", b"PK nothing"), "1/7.zip is not a state snapshot"),
    "both snapshots missing": (
        lambda part: ((part / "7.zip").unlink(), (part / "4.zip").unlink()),
        "1/1.changelog is missing",
    ),
    "file of the snapshot flipped": (lambda part: flip(part / "SSTs" / "000011-b.sst"), "000011-b.sst does not match"),
    "file of the snapshot missing": (lambda part: (part / "SSTs" / "000011-b.sst").unlink(), "000011-b.sst is missing"),
    "partition missing": (shutil.rmtree, "1/1.changelog is missing"),
    "metadata flipped": (lambda part: flip(part.parent / "_metadata" / "v2" / "0"), "v2/0 does not match"),
    "metadata empty": (lambda part: write(part.parent / "_metadata" / "v2" / "0", b""), "v2/0 is empty"),
    "metadata without partitions": (
        lambda part: write(part.parent / "_metadata" / "v2" / "0", b"v2\n{}"),
        "has no number of partitions",
    ),
    "metadata missing": (lambda part: shutil.rmtree(part.parent / "_metadata"), "_metadata is missing"),
    "schema missing": (lambda part: shutil.rmtree(part.parent / "_stateSchema"), "_stateSchema is missing"),
    "schema flipped": (lambda part: flip(part.parent / "_stateSchema" / "default" / "0_57eb"), "0_57eb does not match"),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_named_with_its_file(spark: Path, damage: Callable[[Path], object], words: str) -> None:
    """The error begins with the path and describes the damage."""
    damage(spark / "state" / "0" / "1")
    with pytest.raises(DamagedError) as found:
        check_state(spark, VERSION)
    assert words in str(found.value)
    assert str(found.value).startswith(str(spark))
