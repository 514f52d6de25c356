"""Builds the table of the read model with one row per group and topic: sums of partitions, and the worst verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from exporters.readmodel import TOPICS
from stream.tick.snapshot.groups import RowSums
from stream.tick.verdicts.columns import greatest_time_lag, words

if TYPE_CHECKING:
    from stream.health.features.window import Window
    from stream.tick.inputs.rows import InputRows
    from stream.tick.verdicts.evaluated_tick import EvaluatedTick


def topics_table(rows: InputRows, window: Window, evaluated: EvaluatedTick | None) -> pa.Table:
    """Return the table of the topics of each group, in the order of the rows (schema TOPICS)."""
    is_first = (np.diff(rows.group, prepend=-1) != 0) | (np.diff(rows.topic, prepend=-1) != 0)
    first = np.flatnonzero(is_first)
    owner = np.cumsum(is_first) - 1
    sums = RowSums.from_rows(owner, len(first), window, rows.committed)
    columns: dict[str, Any] = {
        "group": words(rows.group[first], rows.groups),
        "topic": words(rows.topic[first], rows.topics),
        "partitions": pa.array(sums.partitions, pa.int32()),
        "lag_sum": pa.array(sums.lag, mask=sums.known == 0),
        "lag_max": pa.array(sums.greatest_lag, mask=sums.known == 0),
        "partitions_lag_unknown": pa.array(sums.rows - sums.known, pa.int32()),
    }
    if evaluated is not None:
        columns |= greatest_time_lag(evaluated, owner, len(first))
        columns["verdict"] = words(
            evaluated.evaluation.worst_by_owner(owner, len(first)), evaluated.evaluation.verdict_names
        )
    arrays = [columns[field.name] if field.name in columns else pa.nulls(len(first), field.type) for field in TOPICS]
    return pa.table(arrays, schema=TOPICS)
