"""Measures the decoding of records by both interpreters, in records per CPU second of one core.

`python -m bench.decode [RECORDS]`: the benchmark's own traffic (value versions 1, 3 and 4, offset and group tombstones
left out), in Arrow batches as a task sees them. The best of several rounds counts, because other load only adds time.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bench.encoding import commit_keys, group_keys, values
from bench.report import table
from bench.traffic import Kind, Traffic, chunks
from decoders import scalar
from decoders.columnar import decode_commit_values, decode_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS: Final = 5
BATCH: Final = 65_536
SCALAR_ROWS: Final = 50_000


def best(work: Callable[[], object]) -> float:
    """Return the lowest CPU seconds of several rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def rows(records: int) -> list[tuple[str, int, float]]:
    """Return the measurements: description, number of records, CPU seconds."""
    traffic = Traffic(records)
    chunk = next(chunks(traffic))
    encoded = values(traffic, chunk)
    commits = [value for value, kind in zip(encoded, chunk.kind, strict=True) if kind == Kind.COMMIT]
    groups = [value for value, kind in zip(encoded, chunk.kind, strict=True) if kind == Kind.MEMBERSHIP]
    keys = commit_keys(traffic)
    value_batches = [pa.array(commits[at : at + BATCH], pa.binary()) for at in range(0, len(commits), BATCH)]
    distinct = pa.array(keys, pa.binary())
    group_key = group_keys(traffic)[0]

    def decode_values() -> None:
        for batch in value_batches:
            decode_commit_values(batch)

    def decode_each(key: bytes, some: Sequence[bytes | None], only: frozenset[str] | None = None) -> None:
        for value in some:
            scalar.decode(key, value, only)

    few = commits[:SCALAR_ROWS]
    return [
        ("columnar: values of offset commits", len(commits), best(decode_values)),
        ("columnar: distinct keys", len(distinct), best(lambda: decode_keys(distinct))),
        ("scalar: offset commits, key and value", len(few), best(lambda: decode_each(keys[0], few))),
        ("scalar: group metadata of 500 bytes", len(groups), best(lambda: decode_each(group_key, groups))),
        ("... validated only", len(groups), best(lambda: decode_each(group_key, groups, scalar.NO_FIELDS))),
    ]


def main() -> None:
    """Print the table."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    measured = [(what, f"{count:,}", f"{count / seconds:,.0f}") for what, count, seconds in rows(records)]
    print(table(("one core", "records", "records/s"), measured))


if __name__ == "__main__":
    main()
