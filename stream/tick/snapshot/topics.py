"""Builds the table of the read model with one row per group and topic: sums of partitions, and the worst verdict."""

from typing import Any

import numpy as np
import pyarrow as pa

from exporters.readmodel import TOPICS
from stream.health.columns import NOT_KNOWN, Ints, consecutive_pairs
from stream.health.features.window import Window
from stream.tick.inputs.rows import InputRows
from stream.tick.snapshot.groups import RowSums
from stream.tick.verdicts.columns import greatest_time_lag, words
from stream.tick.verdicts.evaluated_tick import EvaluatedTick


def topics_table(rows: InputRows, window: Window, member: Ints, evaluated: EvaluatedTick | None) -> pa.Table:
    """Return the table of the topics of each group, in the order of the rows (schema TOPICS).

    `member` is the number of the member that owns each row, `NO_OWNER` or `NOT_KNOWN`.
    """
    owner, first = consecutive_pairs(rows.group, rows.topic)
    sums = RowSums.from_rows(owner, len(first), window, rows.committed)
    columns: dict[str, Any] = {
        "group": words(rows.group[first], rows.groups),
        "topic": words(rows.topic[first], rows.topics),
        "partitions": pa.array(sums.partitions, pa.int32()),
        "lag_sum": pa.array(sums.lag, mask=sums.known == 0),
        "lag_max": pa.array(sums.greatest_lag, mask=sums.known == 0),
        "partitions_lag_unknown": pa.array(sums.rows - sums.known, pa.int32()),
        **_assigned(member, owner, len(first)),
    }
    if evaluated is not None:
        columns |= greatest_time_lag(evaluated, owner, len(first))
        columns["verdict"] = words(
            evaluated.evaluation.worst_by_owner(owner, len(first)), evaluated.evaluation.verdict_names
        )
    arrays = [columns[field.name] if field.name in columns else pa.nulls(len(first), field.type) for field in TOPICS]
    return pa.table(arrays, schema=TOPICS)


def _assigned(member: Ints, owner: Ints, owners: int) -> dict[str, pa.Array]:
    """Return the columns `members` and `partitions_assigned` by owner; null where the assignment is not known."""
    unknown = np.bincount(owner[member == NOT_KNOWN], minlength=owners) > 0
    owned = member >= 0
    # One integer per pair: `unique` of two columns compares bytes, four times as slow.
    pairs = np.unique(owner[owned].astype(np.int64) << 32 | member[owned])
    return {
        "members": pa.array(np.bincount(pairs >> 32, minlength=owners).astype(np.int32), mask=unknown),
        "partitions_assigned": pa.array(np.bincount(owner[owned], minlength=owners).astype(np.int32), mask=unknown),
    }
