"""Small logs shared by several tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from decoders.log.dump import Decode, Dump, item_text
from decoders.log.partition import PartitionLog
from sandbox.kafka import log_writer as write

RECORDED: Final = Path(__file__).with_name("recorded")
"""Log directory of a real broker, created by `tests.decoders.log.recording`."""
RECORDED_SEGMENTS: Final = sorted(RECORDED.rglob("*.log"))


def simple_batches(count: int, first: int = 0) -> list[bytes]:
    """Return batches of one record each, with ascending offsets and equal sizes."""
    return [write.batch(first + n, [write.Rec(0, n, b"key", b"value")], write.NONE) for n in range(count)]


def partition(folder: Path, segments: dict[int, Sequence[bytes]], name: str = "__consumer_offsets-7") -> Path:
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    for base, batches in segments.items():
        (path / f"{base:020}.log").write_bytes(b"".join(batches))
    return path


def opened(path: Path, **arguments: int) -> PartitionLog:
    log = PartitionLog.open(path, **arguments)
    assert isinstance(log, PartitionLog), log
    return log


def dumped(files: list[Path], decode: Decode | None = None, *, deep: bool = False) -> tuple[list[str], list[str]]:
    """Return the lines of our dump as printed, at whose line feeds they are split, and the complaints."""
    dumps = [Dump(file, decode, deep=deep) for file in files]
    text = "".join(f"{item_text(item)}\n" for dump in dumps for item in dump.items())
    lines = text.encode().decode("utf-8", "replace").split("\n")[:-1]
    return lines, [complaint for dump in dumps for complaint in dump.complaints]
