"""The columns of `HealthInputs` that come from lookups: topic configs, log tails and open transactions. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from stream.health.columns import NOT_KNOWN, Flags, Ints
from stream.health.inputs import KEPT_FOREVER, OpenTransaction
from stream.tick.context import LookupResults
from stream.tick.inputs.rows import InputRows


def lookup_columns(rows: InputRows, results: LookupResults) -> dict[str, Any]:
    """Return these columns by name."""
    topics, known = rows.topics, results.retention or {}
    columns = {
        "tails": None if results.tails is None else results.tails.numbered(topics),
        "transactions": _oldest_transactions(topics, results.transactions),
    }
    if results.retention is None:
        return columns
    kept = {name: KEPT_FOREVER if known[name] < 0 else known[name] for name in results.any_size & known.keys()}
    return columns | {
        "retention": _retention(topics, results.retention)[rows.topic],
        "kept": _retention(topics, kept)[rows.topic],
        "gapless": _among(topics, results.gapless)[rows.topic],
    }


def _retention(topics: Sequence[str], retention: Mapping[str, int]) -> Ints:
    return np.array([retention.get(name, NOT_KNOWN) for name in topics] or [NOT_KNOWN], np.int64)


def _among(topics: Sequence[str], chosen: Collection[str]) -> Flags:
    return np.array([name in chosen for name in topics] or [False], np.bool_)


def _oldest_transactions(
    topics: Sequence[str], tables: Mapping[str, pa.Table]
) -> dict[tuple[int, int], OpenTransaction]:
    """Return the first open transaction of each partition, which blocks its last stable offset."""
    oldest: dict[tuple[int, int], OpenTransaction] = {}
    for number, name in enumerate(topics):
        if name in tables:
            for partition, transaction in _open_transactions(tables[name]):
                oldest.setdefault((number, partition), transaction)
    return oldest


def _open_transactions(table: pa.Table) -> Iterator[tuple[int, OpenTransaction]]:
    """Yield (partition, open transaction); a row without a start offset only says that there was no answer."""
    started = table.filter(table.column("start_offset").is_valid())
    since = started.column("start_time").cast(pa.int64()).to_pylist()
    names = ("partition", "producer_id", "transactional_id", "hanging")
    columns = (started.column(name).to_pylist() for name in names)
    for partition, producer, name, hanging, time in zip(*columns, since, strict=True):
        yield partition, OpenTransaction(producer, name, time, hanging)
