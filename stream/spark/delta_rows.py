"""The deltas of a fold as rows for Spark: one per touched shard, packed.

Deltas that were folded before the query starts lie in Arrow files: the same rows, with what each delta changes in an
empty state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from stream.groups.codec import pack
from stream.groups.fold import Fold
from stream.groups.shard import ShardDelta, empty_delta

if TYPE_CHECKING:
    from stream.groups.placement import Placement

_SCHEMA: Final = pa.schema([("shard", pa.int32()), ("delta", pa.binary()), ("tally", pa.string())])
FOLDED_SCHEMA: Final = _SCHEMA.append(pa.field("change", pa.binary()))
"""Schema of the files, which have one row per record batch."""


def delta_rows(fold: Fold, placement: Placement) -> Iterator[pa.RecordBatch]:
    """Yield one row per shard and reset the fold; the first row carries the decode statistics."""
    tally: str | None = fold.stats.to_json()
    for shard, delta in fold.drain():
        yield _row(shard, delta, tally)
        tally = None
    if tally is not None and fold.stats:
        # Records without a group, mostly malformed ones, change no shard; their statistics need a row all the same.
        yield _row(placement.shard(0, ""), empty_delta(), tally)


def folded_rows(path: str) -> list[pa.RecordBatch] | None:
    """Return the rows of a file of folded deltas; None if it is not there, or not complete."""
    try:
        with pa.ipc.open_file(path) as file:
            if file.schema != FOLDED_SCHEMA:
                return None
            return [file.get_batch(number).select(_SCHEMA.names) for number in range(file.num_record_batches)]
    except (OSError, pa.ArrowException):
        return None


def _row(shard: int, delta: ShardDelta, tally: str | None) -> pa.RecordBatch:
    return pa.record_batch([[shard], [pack(delta)], [tally]], schema=_SCHEMA)
