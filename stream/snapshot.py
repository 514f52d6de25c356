"""(fleet, ends of the partitions, now) -> Snapshot: the read model of one moment, sorted and complete."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import NAME, PARTITIONS, UNKNOWN_LAGS, Snapshot
from stream.groups.ownership import Ownerships
from stream.groups.runs import TOPIC_ID
from stream.health import beyond
from stream.health import lag as lags
from stream.health.beyond import Origins
from stream.health.lag import Ends, Lag
from stream.snapshot_groups import Sums, groups_table, moments, transitions_table
from stream.surroundings import NOWHERE, Context, Surroundings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.groups.fleet import FleetColumns

_NO_ID: Final = bytes(16)


def build(
    fleet: FleetColumns,
    ends: pa.Table,
    taken_at: float,
    context: Context | None = None,
) -> Snapshot:
    """Join what the groups committed with the ends (schema `stream.cluster.watermarks.ENDS`) read after that.

    Without a context nothing is known around the groups.
    """
    context = context or Context.of(fleet, NOWHERE, Ownerships())
    ranks, order = fleet.ranks, fleet.ranks.order
    group, topic, partition = ranks.group, ranks.topic, ranks.partition
    groups, topics = ranks.groups, ranks.topics
    spans = fleet.runs.spans
    columns = _end_columns(ends, topics)
    origins = Origins(
        leader_epoch=fleet.runs.leader_epoch[order],
        topic_id=beyond.topic_ids(fleet.runs.topic_id.take(pa.array(order))),
        current_topic_id=_current_ids(topics, context.around)[topic],
    )
    found, verdict = _lags(spans.last_offset[order], lags.place(topic, partition), columns.ends, origins)
    reasons = _reasons(found, topic, columns, verdict)
    taken = pa.array(found.row, mask=found.row < 0)
    partitions = pa.table(
        [
            _names(group, groups),
            _names(topic, topics),
            pa.array(partition),
            pa.array(spans.last_offset[order]),
            moments(spans.last_time[order]),
            moments(spans.reached_time[order]),
            *(columns.table.column(name).take(taken) for name in ("high_watermark", "last_stable_offset")),
            columns.table.column("log_start_offset").take(taken),
            pa.array(found.lag, mask=~found.known),
            reasons,
            moments(context.expiry.offset[order]),
        ],
        schema=PARTITIONS,
    )
    return Snapshot(
        taken_at=taken_at,
        partitions=partitions,
        groups=groups_table(groups, Sums.of(group, len(groups), found, spans.last_time[order]), fleet, context),
        unknown_lags=_unknown(group, groups, found, reasons),
        transitions=transitions_table(fleet.lives),
    )


def _lags(
    committed: NDArray[np.int64], places: NDArray[np.int64], ends: Ends, origins: Origins
) -> tuple[Lag, NDArray[np.int8]]:
    """Give the lags, and for each commit what is wrong with it (`stream.health.beyond`): such a lag is not known."""
    found = lags.lag(committed, places, ends)
    verdict = beyond.judge(committed, found, ends, origins)
    return dataclasses.replace(found, known=found.known & ~beyond.is_unknown(verdict)), verdict


def _current_ids(topics: list[str], around: Surroundings) -> NDArray[np.uint64]:
    """Give the id that each topic has now, in the form of `beyond.topic_ids`; zeros where it is not known."""
    return beyond.topic_ids(pa.array([around.topic_ids.get(name, _NO_ID) for name in topics] or [_NO_ID], TOPIC_ID))


class _EndColumns:
    """The ends of one poll, numbered by the topics of the fleet."""

    def __init__(self, ends: Ends, table: pa.Table, topic_error: NDArray[Any], errors: NDArray[Any]) -> None:
        self.ends = ends
        self.table = table
        self.topic_error = topic_error
        """Per topic of the fleet: why it could not be described, None if it was."""
        self.errors = errors
        """Per row of the table: why an end of it is not known, None if all are."""


def _end_columns(ends: pa.Table, topics: list[str]) -> _EndColumns:
    numbers = {name: number for number, name in enumerate(topics)}
    encoded = ends.column("topic").combine_chunks()
    of_dictionary = np.array([numbers.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
    topic = of_dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
    partition = ends.column("partition").to_numpy()
    errors = np.array(ends.column("error").cast(pa.string()).to_pylist(), object)
    topic_error = np.full(len(topics), lags.NOT_ASKED, object)
    topic_error[topic[topic >= 0]] = None
    undescribed = (partition < 0) & (topic >= 0)
    topic_error[topic[undescribed]] = errors[undescribed]
    rows = np.flatnonzero((partition >= 0) & (topic >= 0))
    places = lags.place(topic[rows], partition[rows])
    rows = rows[np.argsort(places, kind="stable")]
    table = ends.take(pa.array(rows))
    known = (
        pc.and_(table.column("high_watermark").is_valid(), table.column("log_start_offset").is_valid())
        .to_numpy()
        .astype(np.bool_)
    )
    numbers_of = {name: table.column(name).fill_null(0).to_numpy() for name in ("high_watermark", "log_start_offset")}
    columns = Ends(np.sort(places), numbers_of["high_watermark"], numbers_of["log_start_offset"], known)
    return _EndColumns(columns, table, topic_error, errors[rows])


def _reasons(found: Lag, topic: NDArray[np.int64], columns: _EndColumns, verdict: NDArray[np.int8]) -> pa.Array:
    """Say for each row without a lag why."""
    reasons = np.full(len(topic), None, object)
    unknown = np.flatnonzero(~found.known)
    for row in unknown.tolist():
        if verdict[row]:
            reasons[row] = beyond.WORDS[verdict[row]]
        elif found.row[row] >= 0:
            reasons[row] = columns.errors[found.row[row]]
        else:
            reasons[row] = columns.topic_error[topic[row]] or lags.UNKNOWN_PARTITION
    return pa.array(reasons, pa.string()).dictionary_encode().cast(NAME)


def _unknown(group: NDArray[np.int64], groups: list[str], found: Lag, reasons: pa.Array) -> pa.Table:
    table = pa.table({"group": _names(group, groups), "reason": reasons}).filter(pa.array(~found.known))
    counted = (
        table.cast(pa.schema([("group", pa.string()), ("reason", pa.string())]))
        .group_by(["group", "reason"])
        .aggregate([([], "count_all")])
        .sort_by([("group", "ascending"), ("reason", "ascending")])
    )
    return pa.table(
        [
            counted.column("group").combine_chunks().dictionary_encode().cast(NAME),
            counted.column("reason").combine_chunks().dictionary_encode().cast(NAME),
            counted.column("count_all").cast(pa.int32()),
        ],
        schema=UNKNOWN_LAGS,
    )


def _names(numbers: NDArray[np.int64], names: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(names, pa.string()))
