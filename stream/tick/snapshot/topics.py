"""The part of the read model that has one row per group and topic: sums of its partitions, and their worst verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from exporters.readmodel import TOPICS
from stream.tick.snapshot.groups import RowSums
from stream.tick.verdicts.columns import words, worst_age

if TYPE_CHECKING:
    from stream.health.features.window import Window
    from stream.tick.inputs.rows import InputRows
    from stream.tick.verdicts.columns import EvaluatedTick


def topics_table(rows: InputRows, window: Window, diagnosed: EvaluatedTick | None) -> pa.Table:
    """Give the table of the topics of the groups, sorted as the rows are (schema TOPICS)."""
    new = (np.diff(rows.group, prepend=-1) != 0) | (np.diff(rows.topic, prepend=-1) != 0)
    first = np.flatnonzero(new)
    of = np.cumsum(new) - 1
    sums = RowSums.of(of, len(first), window, rows.committed)
    columns: dict[str, Any] = {
        "group": words(rows.group[first], rows.groups),
        "topic": words(rows.topic[first], rows.topics),
        "partitions": pa.array(sums.partitions, pa.int32()),
        "lag_sum": pa.array(sums.lag, mask=sums.known == 0),
        "lag_max": pa.array(sums.most, mask=sums.known == 0),
        "partitions_lag_unknown": pa.array(sums.rows - sums.known, pa.int32()),
    }
    if diagnosed is not None:
        columns |= worst_age(rows, diagnosed, of, len(first))
        columns["verdict"] = words(
            diagnosed.evaluation.worst_by_owner(of, len(first)), diagnosed.evaluation.verdict_names
        )
    arrays = [columns[field.name] if field.name in columns else pa.nulls(len(first), field.type) for field in TOPICS]
    return pa.table(arrays, schema=TOPICS)
