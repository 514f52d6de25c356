"""`kafka-dump-log` over several files: selects the decoder, checks the files, and collects errors.

`decoders.log.dump` makes the output. A file that cannot be dumped does not affect the other files.
"""

from __future__ import annotations

import enum
import stat
from typing import TYPE_CHECKING, Final

from decoders.log.dump import decoders as dumpdecoders
from decoders.log.dump.items import item_json, item_text
from decoders.log.dump.output import Dump, DumpOptions, as_text
from decoders.log.files import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from decoders.log.dump.items import DumpItem
    from decoders.log.dump.output import Decode

__all__ = ["Decoder", "DumpOptions", "LogDump", "decode_with"]

_GAPS: Final = "Non-consecutive offsets in "


class Decoder(enum.Enum):
    """The decoder of keys and values, named after the option of Kafka's tool."""

    TEXT = "--print-data-log"
    OFFSETS = "--offsets-decoder"
    TRANSACTIONS = "--transaction-log-decoder"
    SHARE_STATE = "--share-group-state-decoder"


_DECODES: Final[Mapping[Decoder, Decode]] = {
    Decoder.TEXT: as_text,
    Decoder.OFFSETS: dumpdecoders.offsets,
    Decoder.TRANSACTIONS: dumpdecoders.transaction_log,
    Decoder.SHARE_STATE: dumpdecoders.share_group_state,
}


def decode_with(decoder: Decoder) -> Decode:
    """Return the function that formats keys and values with this decoder."""
    return _DECODES[decoder]


class LogDump:
    """One dump: `lines` or `objects` for standard output, then `complaints` for standard error.

    `damaged` is True if a complaint is about more than gaps between offsets, which compaction leaves.
    """

    def __init__(self, options: DumpOptions) -> None:
        self.complaints: list[str] = []
        self.damaged = False
        self._options = options

    def lines(self, paths: Sequence[Path]) -> Iterator[str]:
        """Yield the output of the tool for each file in turn."""
        return (item_text(item) for _, item in self._items(paths))

    def objects(self, paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
        """Yield the items of each file in turn as JSON objects, as `item_json` describes them."""
        decoded = self._options.decode not in {None, as_text}
        return (item_json(item, str(path), decoded=decoded) for path, item in self._items(paths) if item.kind != "file")

    def _items(self, paths: Sequence[Path]) -> Iterator[tuple[Path, DumpItem]]:
        for path in paths:
            if problem := _problem_of(path):
                self._complain([f"{path}: {problem}"])
                continue
            dump = Dump(self._options)
            try:
                for item in dump.items([path]):
                    yield path, item
            except OSError as error:
                dump.complaints.append(f"{error.filename or path}: {error.strerror}")
            self._complain(dump.complaints)

    def _complain(self, complaints: list[str]) -> None:
        self.complaints += complaints
        self.damaged = self.damaged or any(not line.startswith((_GAPS, "  ")) for line in complaints)


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
