"""The schemas of the tables about the monitor itself, which its status holds."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from exporters.catalogue import selection, verdicts
from exporters.catalogue.table import NAME, TIMESTAMP

OFFSETS_PARTITIONS: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # The next offset that the job will read; all records before it are in the state.
        ("position", pa.int64()),
        ("high_watermark", pa.int64()),
        ("last_stable_offset", pa.int64()),
        # Offsets between the position and the last stable offset: readable, but not read yet.
        ("distance", pa.int64()),
        # high watermark - last stable offset: records hidden behind an open transaction.
        ("stable_gap", pa.int64()),
        # Since when the last stable offset has its value, below the high watermark; null if there is no gap.
        ("stable_gap_since", TIMESTAMP),
    ]
)
"""One row per partition of `__consumer_offsets`."""

OFFSETS_HELD_BACK: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # When the transaction began; if unknown, when the gap was first seen.
        ("since", TIMESTAMP),
        # The producer of the oldest open transaction; null if unknown.
        ("producer_id", pa.int64()),
        ("transactional_id", NAME),
        # True if its transaction coordinator does not know it, so that it will never end (KIP-664); null if unknown.
        ("hanging", pa.bool_()),
        # Offsets behind the last stable offset that the last read did not reach; null before the first read.
        ("unread", pa.int64()),
    ]
)
"""One row per partition of `__consumer_offsets` that an open transaction has blocked for longer than usual."""

RECORDS_READ: Final = pa.schema([("record_type", NAME), ("tracking", NAME), ("records", pa.int64())])
"""Records read since the process started, by type. `tracking` is `tracked`, `known` (not tracked yet) or `unknown`."""

DEATHS: Final = pa.schema([("cause", NAME), ("groups", pa.int64())])
"""Groups that died since the process was ready, by cause. Deaths replayed by the initial catch-up are not counted."""

VERDICT_CHANGES: Final = verdicts.VERDICT_CHANGES.schema

OFFSETS_UNAVAILABLE: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # Why its end is not known, as `no_leader`; and since when.
        ("reason", NAME),
        ("since", TIMESTAMP),
        # Groups whose commits it stores. They can neither commit nor be evaluated.
        ("groups", pa.int64()),
    ]
)
"""One row per partition of `__consumer_offsets` without a known end offset."""

OFFSETS_UNAVAILABLE_GROUPS: Final = pa.schema([("offsets_partition", pa.int32()), ("group", NAME)])
"""The first ten groups, by name, of each row of OFFSETS_UNAVAILABLE."""

UNREADABLE_TAILS: Final = verdicts.UNREADABLE_TAILS.schema

EXPIRY_CHECKS: Final = pa.schema([("outcome", NAME), ("offsets", pa.int64())])
"""Predicted offset expiries compared with the tombstones, since the process was ready: `kept` (the tombstone came in
time), `early` (shortly before), `deleted` (long before: an administrator deleted the offset), `late`, `missing` (no
tombstone long after: the broker does not expire offsets, or the log cleaner or the reader has stopped)."""

HTTP_REFUSALS: Final = pa.schema([("reason", NAME), ("refusals", pa.int64())])
"""Connections and requests that the HTTP server refused or closed since the process started, by reason."""

DESCRIPTORS: Final = pa.schema([("role", NAME), ("open", pa.int64()), ("limit", pa.int64())])
"""Open file descriptors and their limit, per role, of the role's process that is nearest to its limit."""

PROCESSES: Final = pa.schema(
    [("role", NAME), ("processes", pa.int64()), ("memory", pa.int64()), ("cpu_seconds", pa.float64())]
)
"""Running processes per role, their proportional set size in bytes (null: not known), and the CPU time that all
processes of the role have used since the monitor started."""

FILE_FAILURES: Final = pa.schema([("file", NAME), ("failures", pa.int64())])
"""Failed writes since the process started, by the kind of file."""

SERIES_DROPPED: Final = selection.SERIES_DROPPED.schema

INTERNAL_ERRORS: Final = pa.schema([("part", NAME), ("errors", pa.int64())])
"""Internal errors of lagwarden since the process started, by the part that failed: `group` (evaluation of a group),
`ending` (cause of the end of a group or an offset), `answer` (an HTTP response)."""

WEBHOOK_FAILURES: Final = pa.schema([("reason", NAME), ("failures", pa.int64())])
"""Failed requests to the webhook since the process started, by reason; every reason has a row. Empty without a
webhook."""

WEBHOOK_DROPS: Final = pa.schema([("reason", NAME), ("events", pa.int64())])
"""Events dropped before the webhook accepted them, by reason; every reason has a row. Empty without a webhook."""

OTLP_FAILURES: Final = pa.schema([("reason", NAME), ("failures", pa.int64())])
"""Failed requests of the export by OTLP, by reason."""

DECODE_ERRORS: Final = pa.schema([("record_type", NAME), ("version", NAME), ("reason", NAME), ("records", pa.int64())])
"""Records that could not be decoded since the process started, by record type, version of the value and reason."""

OFFSETS_SKIPPED: Final = pa.schema([("reason", NAME), ("offsets", pa.int64())])
"""Offsets of the offsets topic that were passed without being read since the process started, by reason."""
