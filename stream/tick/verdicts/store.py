"""What is kept of verdicts beside the checkpoint, so that a restart changes none: one file, written whole or not.

A zip archive: `about.json` says what it is, `shown` has the bytes of the judge (`stream.health.hysteresis.pack`),
`changes.json` how the verdicts of groups changed, `rebalances.json` what was counted lately. A file that cannot be
read, or is of another format, is set aside with a line in the log: verdicts then begin anew, which costs minutes of
knowledge and nothing else. It belongs to the checkpoint it lies in, and is set aside with that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import operator
import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final

import structlog

from exporters.readmodel import VerdictChange
from stream.checkpoint import side_files
from stream.checkpoint.directory import VERDICTS
from stream.checkpoint.side_files import SideFiles

if TYPE_CHECKING:
    from pathlib import Path

    from stream.tick.inputs.rebalance_count import CountsByTime

_log = structlog.get_logger(__name__)
FORMAT: Final = 1
_FIELDS: Final = operator.attrgetter(*(field.name for field in dataclasses.fields(VerdictChange)))


@dataclasses.dataclass(frozen=True, slots=True)
class StoredVerdicts:
    """What outlives a process."""

    rules: str
    """Whose verdicts they are; those of other rules are no beginning, but their changes are history all the same."""
    shown: bytes | None = None
    changes: dict[str, list[VerdictChange]] = dataclasses.field(default_factory=dict)
    rebalances: dict[str, CountsByTime] = dataclasses.field(default_factory=dict)


class VerdictStore:
    """The file in the folder of a checkpoint, whose lock the holder has. Nothing here raises for what a disk does."""

    def __init__(self, folder: Path, files: SideFiles | None = None) -> None:
        """`files` counts the writes that fail."""
        self._path = folder / VERDICTS
        self._files = files or SideFiles()

    def read(self) -> StoredVerdicts | None:
        """Give what an earlier process kept; None if there is nothing that can be used."""
        try:
            return _read(self._path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            self._set_aside(error)
            return None

    def write(self, kept: StoredVerdicts) -> None:
        """Put this in the place of what was kept before."""
        with self._files.writing(side_files.VERDICTS, self._path):
            _write(self._path, kept)

    def _set_aside(self, error: Exception) -> None:
        aside = self._path.with_suffix(f"{self._path.suffix}.set-aside")
        _log.warning(
            "the kept verdicts cannot be used; they begin anew", file=str(self._path), why=str(error), kept=str(aside)
        )
        with self._files.writing(side_files.VERDICTS, aside):
            self._path.replace(aside)


def _read(path: Path) -> StoredVerdicts:
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("about.json"))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, this version reads format {FORMAT}")
        shown = archive.read("shown") if "shown" in archive.namelist() else None
        changes = _mapping(json.loads(archive.read("changes.json")))
        rebalances = _mapping(json.loads(archive.read("rebalances.json")))
    return StoredVerdicts(
        rules=str(about["rules"]),
        shown=shown,
        changes={group: [VerdictChange(*row) for row in rows] for group, rows in changes.items()},
        rebalances={group: [(int(time), int(count)) for time, count in rows] for group, rows in rebalances.items()},
    )


def _mapping(read: Any) -> dict[str, Any]:
    if not isinstance(read, dict):
        raise TypeError("not a table by group")
    return read


def _write(path: Path, kept: StoredVerdicts) -> None:
    draft = path.with_suffix(f"{path.suffix}.new")
    try:
        _write_draft(draft, kept)
        draft.replace(path)
    except OSError:
        # Half a file would keep on a full disk what others need.
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _write_draft(draft: Path, kept: StoredVerdicts) -> None:
    with draft.open("wb") as handle:
        with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("about.json", json.dumps({"format": FORMAT, "rules": kept.rules}))
            if kept.shown is not None:
                archive.writestr("shown", kept.shown)
            rows = {group: [_FIELDS(change) for change in each] for group, each in kept.changes.items()}
            archive.writestr("changes.json", _json(rows))
            archive.writestr("rebalances.json", _json(kept.rebalances))
        handle.flush()
        os.fsync(handle.fileno())


def _json(value: object) -> bytes:
    # Names of groups are repaired UTF-8 and may have lone surrogates all the same.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
