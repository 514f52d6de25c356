"""Checks the files of Spark's log and of its state store in a checkpoint before a query loads them. Reads files only.

Spark writes `offsets/N` before batch N runs and `commits/N` after it has ended; batch N writes version N + 1 of the
state. So the newest offset is the newest commit or the one after it, and the state has no later version. Spark
continues an inconsistent log without an error, from a wrong position.

A version of the state is its newest snapshot (`V.zip`, which lists files in `SSTs/`) and every changelog after it, per
state partition. Spark reports a damaged file with an error that does not name it, or not at all: it reads a state
partition without files as empty, and a file with a damaged block as if it ended there.
"""

import io
import itertools
import json
import re
import zipfile
import zlib
from typing import Any, Final

from stream.checkpoint.files import CheckpointPath, DamagedError, check_sums, listed, sums_of, whole
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.cluster.offsets_topic import NAME

_VERSION: Final = re.compile(r"v\d+")


def check_log(spark: CheckpointPath) -> None:
    """Check the files of Spark's log that the next start of the query reads. Raises DamagedError and OSError."""
    spark = listed(spark)
    offsets, commits = batches(spark / "offsets"), batches(spark / "commits")
    newest, committed = max(offsets, default=-1), max(commits, default=-1)
    if offsets or commits or (spark / "metadata").exists():
        read_id = _json(spark / "metadata", whole(spark / "metadata"))
        if not isinstance(read_id, dict) or not isinstance(read_id.get("id"), str):
            raise DamagedError(spark / "metadata", "has no query id")
    _check_order(spark, newest, committed)
    _check_state_versions(spark, newest)
    if committed >= 0:
        path = spark / "commits" / str(committed)
        lines = _lines(path)
        if len(lines) < 2 or not isinstance(_json(path, lines[1]), dict):
            raise DamagedError(path, "is truncated")
    # At a start Spark reads the newest two: the start and the end offsets of the newest batch.
    read = [read_offsets(spark / "offsets" / str(number)).positions for number in (newest - 1, newest) if number >= 0]
    for previous, current in itertools.pairwise(read):
        behind = [partition for partition, offset in previous.items() if current.get(partition, -1) < offset]
        if behind:
            problem = f"ends before offsets/{newest - 1} does, in partition {behind[0]} of {NAME}"
            raise DamagedError(spark / "offsets" / str(newest), problem)


def batches(folder: CheckpointPath) -> list[int]:
    """Return the numbers of the batches that have a file in a folder of Spark's log."""
    return [int(entry.name) for entry in folder.glob("[0-9]*") if entry.name.isdigit()]


def read_offsets(path: CheckpointPath) -> SourceOffsets:
    """Read `offsets/N`: the offsets at the end of batch N. Raises DamagedError."""
    lines = _lines(path)
    try:
        read = SourceOffsets.of_text(lines[2] if len(lines) == 3 else None)
    except (ValueError, TypeError, AttributeError):
        read = SourceOffsets({})
    numbers = [*read.positions.values(), *read.epochs.values()]
    if not read.positions or not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise DamagedError(path, f"has no positions of {NAME}")
    return read


def _check_order(spark: CheckpointPath, newest: int, committed: int) -> None:
    if newest < committed:
        raise DamagedError(spark / "offsets" / str(committed), f"is missing, although batch {committed} has ended")
    if newest > committed + 1:
        ended = "commits has no batch" if committed < 0 else f"the last batch in commits is {committed}"
        problem = f"is missing: the last batch in offsets is {newest}, but {ended}"
        raise DamagedError(spark / "commits" / str(newest - 1), problem)


def _check_state_versions(spark: CheckpointPath, newest: int) -> None:
    """Raise DamagedError if the state has a batch that the log does not have; Spark would mix it with later state."""
    for path in (spark / "state").glob("*/[0-9]*/[0-9]*"):
        version = path.name.partition(".")[0].partition("_")[0]
        if version.isdigit() and int(version) > newest + 1:
            known = "has no batch" if newest < 0 else f"ends with batch {newest}"
            raise DamagedError(path, f"is of batch {int(version) - 1}, but the offset log {known}")


def _lines(path: CheckpointPath) -> list[str]:
    """Return the lines of a file of Spark's log: a version, then one JSON document per line."""
    lines = whole(path).splitlines()
    if not lines or not _VERSION.fullmatch(lines[0]):
        raise DamagedError(path, "is empty" if not lines else "does not begin with a version")
    for line in lines[1:]:
        _json(path, line)
    return lines


def _json(path: CheckpointPath, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DamagedError(path, "is empty" if not text else f"is not JSON ({error})") from error


_UNREADABLE: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError)


def check_state(spark: CheckpointPath, version: int) -> None:
    """Check all files of a version of the state. Raises DamagedError and OSError.

    The query has one stateful operator, number 0, with one state store.
    """
    folder = listed(spark / "state" / "0")
    schemas = _files(folder / "_stateSchema")
    for path in schemas:
        check_sums(path)
    for partition in range(_partitions(folder / "_metadata")):
        _check_partition(folder / str(partition), version)


def _partitions(folder: CheckpointPath) -> int:
    """Return the number of state partitions from the operator's metadata."""
    newest = _files(folder)[-1]
    lines = whole(newest).splitlines()
    try:
        return int(json.loads(lines[1])["stateStoreInfo"][0]["numPartitions"])
    except _UNREADABLE as error:
        raise DamagedError(newest, "is empty" if not lines else "has no number of partitions") from error


def _files(folder: CheckpointPath) -> list[CheckpointPath]:
    found = sorted(path for path in folder.rglob("[!.]*") if path.is_file())
    if not found:
        raise DamagedError(folder, "is missing" if not folder.exists() else "is empty")
    return found


def _check_partition(folder: CheckpointPath, version: int) -> None:
    names = (path.name.removesuffix(".zip") for path in folder.glob("[0-9]*.zip"))
    snapshots = [int(name) for name in names if name.isdigit()]
    snapshot = max((each for each in snapshots if each <= version), default=0)
    files = [folder / f"{number}.changelog" for number in range(snapshot + 1, version + 1)]
    if snapshot:
        files += [folder / f"{snapshot}.zip", *_listed_in(folder / f"{snapshot}.zip")]
    checked_by_sums = any(not isinstance(path, ObjectPath) and sums_of(path).exists() for path in files)
    for path in files:
        check_sums(path)
        if checked_by_sums and not isinstance(path, ObjectPath) and not sums_of(path).exists():
            raise DamagedError(path, "has no checksums, although other files of the version have")


def _listed_in(snapshot: CheckpointPath) -> list[CheckpointPath]:
    """Return the files that a snapshot lists in addition to its own."""
    check_sums(snapshot)
    content = io.BytesIO(snapshot.read_bytes()) if isinstance(snapshot, ObjectPath) else snapshot
    try:
        with zipfile.ZipFile(content) as archive:
            _, _, text = archive.read("metadata").decode().partition("\n")
        return [snapshot.parent / "SSTs" / each["dfsSstFileName"] for each in json.loads(text)["sstFiles"]]
    except (*_UNREADABLE, OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DamagedError(snapshot, f"is not a state snapshot ({error})") from error
