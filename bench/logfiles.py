"""Measures the reading of log files and fetch responses: offset commits, by batch size and codec, as columns.

`python -m bench.logfiles [RECORDS]` prints MB/s of the file and of its uncompressed batches, records/s, and records/s
of the same batches as a fetch response, in CPU seconds of one core (wall time on an idle machine). The files are in the
page cache, so the reader is measured and not the disk.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from decoders.log.columns import partition_columns
from decoders.log.fetched import FetchedBatches
from decoders.log.partition import PartitionLog
from sandbox.kafka import log_writer as write

if TYPE_CHECKING:
    from decoders.log.errors import Damaged
    from decoders.log.frames import LogBatch

ROUNDS: Final = 3
RESPONSE: Final = 8 << 20
CODECS: Final = {"none": write.NONE, "zstd": write.ZSTD}


def commit(offset: int) -> write.Rec:
    """Return the record of a commit, as brokers write it: 2,000 groups, twelve partitions."""
    group, topic = b"group-%05d" % (offset % 2_000), b"orders.events.v1"
    key = struct.pack(">hh", 1, len(group)) + group + struct.pack(">h", len(topic)) + topic
    value = struct.pack(">hqihq", 3, offset * 7, 5, 0, 1_700_000_000_000 + offset)
    return write.Rec(0, 0, key + struct.pack(">i", offset % 12), value)


def write_log(path: Path, codec: int, per_batch: int, records: int) -> int:
    """Write a segment, and return the uncompressed size of its batches in bytes."""
    expanded = 0
    with (path / f"{0:020}.log").open("wb") as log:
        for base in range(0, records, per_batch):
            commits = [commit(base + n) for n in range(per_batch)]
            batch = [write.Rec(n, n // 10, each.key, each.value) for n, each in enumerate(commits)]
            log.write(write.batch(base, batch, codec, base_timestamp=1_700_000_000_000 + base))
            expanded += 61 + sum(len(write.record(each)) for each in batch)
    return expanded


def read(path: Path) -> tuple[float, int]:
    """Read a partition as columns, and return the CPU seconds and the number of rows."""
    began = time.process_time()
    log = PartitionLog.open(path)
    assert isinstance(log, PartitionLog)
    with log:
        rows = sum(len(piece) for piece in partition_columns(log))
    assert not log.errors
    return time.process_time() - began, rows


def read_response(path: Path) -> tuple[float, int]:
    """Read the first RESPONSE bytes of a segment as a fetch response; return the CPU seconds and the number of rows."""
    raw = next(path.iterdir()).read_bytes()[:RESPONSE]
    began = time.process_time()
    fetched = FetchedBatches.read(raw)
    rows = sum(len(piece.offset) for piece in fetched.columns(0, fetched.next_offset, _fail))
    return time.process_time() - began, rows


def _fail(batch: LogBatch, fault: Damaged) -> None:
    raise AssertionError(f"batch {batch.base_offset}: {fault.detail}")


def main() -> None:
    """Print the table."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    print(
        f"{'codec':6}{'records/batch':>14}{'file MB':>9}{'MB/s':>7}{'expanded MB/s':>15}{'records/s':>12}"
        f"{'in a response':>15}"
    )
    for codec, number in CODECS.items():
        for per_batch in (1, 10, 383):
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "__consumer_offsets-0"
                path.mkdir()
                expanded = write_log(path, number, per_batch, records)
                seconds, rows = min(read(path) for _ in range(ROUNDS))
                fetched_seconds, fetched_rows = min(read_response(path) for _ in range(ROUNDS))
                size = sum(file.stat().st_size for file in path.iterdir()) / 1e6
            print(
                f"{codec:6}{per_batch:14}{size:9.1f}{size / seconds:7.0f}"
                f"{expanded / 1e6 / seconds:15.0f}{rows / seconds:12,.0f}{fetched_rows / fetched_seconds:15,.0f}"
            )


if __name__ == "__main__":
    main()
