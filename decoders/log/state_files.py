"""Readers of the small files beside segments: log directory checkpoints and `partition.metadata`.

Every reader returns the content of the file or a `LogError`, and raises only OSError.

Source: org.apache.kafka.server.common.CheckpointFile, org.apache.kafka.storage.internals.log.PartitionMetadataFile;
KIP-101, KIP-516.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from decoders.log.errors import LogError, LogFault
from decoders.log.files import read_small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Entry = TypeVar("Entry")


class PartitionOffset(NamedTuple):
    """One line of a checkpoint of a log directory; the meaning of the offset depends on the file."""

    topic: str
    partition: int
    offset: int


class PartitionMetadata(NamedTuple):
    """The topic id of a partition directory, as 16 bytes."""

    version: int
    topic_id: bytes


def read_partition_offsets(path: Path) -> tuple[PartitionOffset, ...] | LogError:
    """Read a checkpoint of a log directory, `topic partition offset` per line.

    These are `replication-offset-checkpoint` (high watermarks, some seconds old, so a lower bound) and the checkpoints
    of recovery points, log start offsets and the cleaner.
    """
    return _checkpoint(path, lambda words: PartitionOffset(words[0], int(words[1]), int(words[2])), 3)


def read_partition_metadata(path: Path) -> PartitionMetadata | LogError:
    """Read a `partition.metadata`: the lines `version: 0` and `topic_id: <22 characters>`."""
    fields = dict(line.split(": ", 1) for line in _lines(path) if ": " in line)
    try:
        version = int(fields["version"])
        topic_id = base64.b64decode(fields["topic_id"] + "==", altchars=b"-_", validate=True)
    except (KeyError, ValueError, binascii.Error):
        return _bad(path, 0, "the version or the topic id is missing or malformed")
    if version != 0 or len(topic_id) != 16:
        return _bad(path, 0, f"version {version} with a topic id of {len(topic_id)} bytes")
    return PartitionMetadata(version, topic_id)


def _checkpoint(path: Path, parse: Callable[[list[str]], Entry], words: int) -> tuple[Entry, ...] | LogError:
    """Read Kafka's CheckpointFile: a version line, a count line, then `count` lines of `words` words each."""
    lines = list(_lines(path))
    rows = [line.split() for line in lines[2:] if line]
    try:
        version, count = int(lines[0]), int(lines[1])
        entries = tuple(parse(row) for row in rows if len(row) == words)
    except (ValueError, IndexError):
        return _bad(path, 0, "a number of the checkpoint is missing or malformed")
    if version != 0:
        return _bad(path, 0, f"unknown version {version} of a checkpoint")
    if not len(entries) == len(rows) == count:
        return _bad(path, 0, f"{count} entries expected, {len(entries)} of {words} words found in {len(rows)} lines")
    return entries


def _lines(path: Path) -> Iterator[str]:
    return iter(read_small(path).decode("utf-8", "replace").splitlines())


def _bad(path: Path, position: int, detail: str) -> LogError:
    return LogError(LogFault.BAD_STATE_FILE, str(path), position, None, detail)
