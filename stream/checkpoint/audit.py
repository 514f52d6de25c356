"""Checks, before a query starts, that the files of Spark's log in a checkpoint are complete and consistent.

Spark writes `offsets/N` before batch N runs and `commits/N` after it has ended; batch N writes version N + 1 of the
state. So the newest offset is the newest commit or the one after it, and the state has no later version. Spark
continues an inconsistent log without an error, from a wrong position. The state itself is checked by
`stream.checkpoint.state_files`. Reads files only; starts no JVM.
"""

import itertools
import json
import re
from typing import Any, Final

from stream.checkpoint.files import CheckpointPath, DamagedError, listed, whole
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.cluster.offsets_topic import NAME

_VERSION: Final = re.compile(r"v\d+")


def check_log(spark: CheckpointPath) -> None:
    """Check the files of Spark's log that the next start of the query reads. Raises DamagedError and OSError."""
    spark = listed(spark)
    offsets, commits = batches(spark / "offsets"), batches(spark / "commits")
    newest, committed = max(offsets, default=-1), max(commits, default=-1)
    if offsets or commits or (spark / "metadata").exists():
        _check_id(spark / "metadata")
    _check_order(spark, newest, committed)
    _check_state_versions(spark, newest)
    if committed >= 0:
        _check_commit(spark / "commits" / str(committed))
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


def _check_id(path: CheckpointPath) -> None:
    read = _json(path, whole(path))
    if not isinstance(read, dict) or not isinstance(read.get("id"), str):
        raise DamagedError(path, "has no query id")


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


def _check_commit(path: CheckpointPath) -> None:
    lines = _lines(path)
    if len(lines) < 2 or not isinstance(_json(path, lines[1]), dict):
        raise DamagedError(path, "is truncated")


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
