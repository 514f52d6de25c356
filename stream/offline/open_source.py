"""Opens a path as a source of rows: a capture file or a log directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.errors import imports_of_extra
from stream.offline.folder import LogFolder
from stream.offline.paths import is_directory
from stream.offline.rows import OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from stream.offline.rows import RowSource


def open_source(path: Path, topics: Collection[str] = (OFFSETS_TOPIC,), *, stop_at_open: bool = False) -> RowSource:
    """Return the source for a path. `topics` and `stop_at_open` apply to log directories. Raises Refusal."""
    if is_directory(path):
        return LogFolder(path, topics, stop_at_open=stop_at_open)
    with imports_of_extra("captures", "reading a capture"):
        from stream.offline.capture import CaptureFile  # noqa: PLC0415 -- an extra
    return CaptureFile(path)
