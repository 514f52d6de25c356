"""A path that a person gives, opened as whatever it is: a capture file, or a directory with log files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.offline.capture import CaptureFile
from stream.offline.folder import LogFolder
from stream.offline.paths import is_directory
from stream.offline.rows import OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from stream.offline.rows import RowSource


def open_source(path: Path, topics: Collection[str] = (OFFSETS_TOPIC,), *, stop_at_open: bool = False) -> RowSource:
    """Open the records of some topics at a path; `stop_at_open` is of log directories. Raises Refusal."""
    return LogFolder(path, topics, stop_at_open=stop_at_open) if is_directory(path) else CaptureFile(path)
