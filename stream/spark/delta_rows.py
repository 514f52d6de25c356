"""The deltas of a fold as rows for Spark: one per touched shard, packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from stream.groups.codec import pack
from stream.groups.shard import empty_delta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.groups.fold import Fold
    from stream.groups.placement import Placement
    from stream.groups.shard import ShardDelta

_SCHEMA: Final = pa.schema([("shard", pa.int32()), ("delta", pa.binary()), ("tally", pa.string())])


def delta_rows(fold: Fold, placement: Placement) -> Iterator[pa.RecordBatch]:
    """Yield one row per shard and reset the fold; the first row carries the decode statistics."""
    tally: str | None = fold.stats.to_json()
    for shard, delta in fold.drain():
        yield _row(shard, delta, tally)
        tally = None
    if tally is not None and fold.stats:
        # Records without a group, mostly malformed ones, change no shard; their statistics need a row all the same.
        yield _row(placement.shard(0, ""), empty_delta(), tally)


def _row(shard: int, delta: ShardDelta, tally: str | None) -> pa.RecordBatch:
    return pa.record_batch([[shard], [pack(delta)], [tally]], schema=_SCHEMA)
