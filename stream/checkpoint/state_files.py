"""Checks the files of Spark's state store before a query loads them. Reads files only; starts no JVM.

A version of the state is its newest snapshot (`V.zip`, which lists files in `SSTs/`) and every changelog after it, per
state partition. Spark reports a damaged file with an error that does not name it, or not at all: it reads a state
partition without files as empty, and a file with a damaged block as if it ended there.
"""

import io
import json
import zipfile
import zlib
from typing import Final

from stream.checkpoint.files import CheckpointPath, DamagedError, check_sums, listed, sums_of, whole
from stream.checkpoint.objects.path import ObjectPath

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
    snapshots = [int(path.stem) for path in folder.glob("[0-9]*.zip") if path.stem.isdigit()]
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
