"""A path that a person gives, opened as whatever it is: a capture file, or a directory with log files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.offline.capture import CaptureFile
from stream.offline.folder import LogFolder

if TYPE_CHECKING:
    from pathlib import Path

    from stream.offline.rows import Source


def open_source(path: Path) -> Source:
    """Open the offsets topic's records at a path. Raises Refusal."""
    return LogFolder(path) if path.is_dir() else CaptureFile(path)
