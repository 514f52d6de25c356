"""`kafka-dump-log` over several segments: checks the files, and collects errors.

`decoders.log.dump` makes the output. A file that cannot be dumped does not affect the other files.
"""

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from decoders.log.dump import (
    GAPS,
    Decode,
    Dump,
    DumpItem,
    as_text,
    item_json,
    item_text,
    offsets,
    share_group_state,
    transaction_log,
)
from decoders.log.files import kind_of

DECODERS: Final[Mapping[str, Decode]] = {
    "--print-data-log": as_text,
    "--offsets-decoder": offsets,
    "--transaction-log-decoder": transaction_log,
    "--share-group-state-decoder": share_group_state,
}
"""The formats of keys and values by the option of Kafka's tool."""


class LogDump:
    """One dump: `lines` or `objects` for standard output, then `complaints` for standard error.

    `damaged` is True if a complaint is about more than gaps between offsets, which compaction leaves.
    """

    def __init__(self, decode: Decode | None, *, deep: bool) -> None:
        """Dump files with these arguments of `Dump`."""
        self.complaints: list[str] = []
        self.damaged = False
        self._decode = decode
        self._deep = deep

    def lines(self, paths: Sequence[Path]) -> Iterator[str]:
        """Yield the output of the tool for each file in turn."""
        return (item_text(item) for _, item in self._items(paths))

    def objects(self, paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
        """Yield the items of each file in turn as JSON objects, as `item_json` describes them."""
        decoded = self._decode not in {None, as_text}
        return (item_json(item, str(path), decoded=decoded) for path, item in self._items(paths) if item.kind != "file")

    def _items(self, paths: Sequence[Path]) -> Iterator[tuple[Path, DumpItem]]:
        for path in paths:
            if problem := _problem_of(path):
                self._complain([f"{path}: {problem}"])
                continue
            dump = Dump(path, self._decode, deep=self._deep)
            try:
                for item in dump.items():
                    yield path, item
            except OSError as error:
                dump.complaints.append(f"{error.filename or path}: {error.strerror}")
            self._complain(dump.complaints)

    def _complain(self, complaints: list[str]) -> None:
        self.complaints += complaints
        self.damaged = self.damaged or any(not line.startswith((GAPS, "  ")) for line in complaints)


def _problem_of(path: Path) -> str | None:
    """Return why a path cannot be dumped, or None."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "no such file"
    except OSError as error:
        return error.strerror or str(error)
    kind = kind_of(mode)
    if kind is not None:
        return "is a directory: name the files in it" if stat.S_ISDIR(mode) else f"is {kind}, not a regular file"
    if path.suffix != ".log" or not path.stem.isdecimal():
        return "is no segment, such as 00000000000000000000.log; kafka-dump-log prints indexes and snapshots"
    return None
