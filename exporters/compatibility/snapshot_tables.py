"""Derives the tables of the other exporters' metrics from a snapshot, by the rules of each exporter.

An unknown value is null, also where an exporter writes 0, -1 or NaN for it. A value that an exporter writes for a known
fact is kept: kafka_exporter's -1 says that the group has no commit for the partition.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from exporters.compatibility.other_exporter import OtherSource
from exporters.readmodel import NAME, Snapshot
from exporters.text.samples import one_array

UNKNOWN_MEMBER: Final = "unknown"
"""The label of kafka-lag-exporter where no member owns the partition (Domain.GroupTopicPartition)."""
BURROW_CODES: Final = ("NOTFOUND", "OK", "WARN", "ERR", "STOP", "STALL", "REWIND")
"""Burrow's statuses by number (protocol.StatusConstant)."""
_ERR: Final = BURROW_CODES.index("ERR")
_STABLE: Final = "Stable"
_ADDED: Final = "added"
_USED: Final = (
    *("group", "topic", "partition", "committed_offset", "high_watermark", "time_lag", "topic_partitions"),
    *("owner", "member_id", "client_id", "client_host", "burrow_status", "burrow_complete"),
)
"""The columns of PARTITIONS and COMPATIBILITY that have a meaning for an exporter."""


def other_snapshot(shown: Snapshot, apart: Snapshot, cluster: str, *, every_partition: bool = False) -> Snapshot:
    """Return `shown` with the tables of the other exporters, derived from `apart`, in which no group is folded.

    `cluster` is the value of the labels `cluster` and `cluster_name`. With `every_partition` a group that has a commit
    for a topic has a row for each partition of the topic, as kafka_exporter needs it. Raises ValueError if
    COMPATIBILITY has rows, but not those of PARTITIONS.
    """
    partitions = _partitions(apart, cluster, every_partition=every_partition)
    columns = {
        OtherSource.PARTITIONS: partitions,
        OtherSource.GROUP_TOPICS: _group_topics(partitions),
        OtherSource.GROUPS: _groups(apart.groups, partitions, cluster),
        OtherSource.LOG_ENDS: _log_ends(apart.log_ends, cluster),
        OtherSource.TOPICS: _topics(apart),
    }
    return dataclasses.replace(shown, derived={source.table: pa.table(made) for source, made in columns.items()})


def _partitions(snapshot: Snapshot, cluster: str, *, every_partition: bool) -> dict[str, Any]:
    table = _with_compatibility(snapshot).select(_USED)
    table = table.append_column(_ADDED, pa.repeat(False, len(table)))
    if every_partition:
        table = _with_every_partition(table)
    group, topic, partition = (_array(table, name) for name in ("group", "topic", "partition"))
    committed, end = _array(table, "committed_offset"), _array(table, "high_watermark")
    # A negative offset was written by a client and means nothing; the lag is unknown.
    difference = pc.if_else(pc.less(committed, 0), None, pc.subtract(end, committed))
    without_commit = pc.and_(pc.is_null(committed), _has_commit_for_topic(group, topic, committed))
    # The end of an added partition was not asked for, because nothing but -1 depends on it.
    has_end = pc.or_(pc.is_valid(end), _array(table, _ADDED))
    status = pc.index_in(_array(table, "burrow_status").cast(pa.string()), value_set=pa.array(BURROW_CODES))
    status = status.cast(pa.int64())
    complete = _array(table, "burrow_complete").fill_null(False)
    return {
        **_group_labels(group, cluster),
        **_aliases(topic, "topic", "topic_name"),
        **_aliases(partition, "partition", "partition_id"),
        "member_host": _array(table, "client_host").fill_null(UNKNOWN_MEMBER),
        "consumer_id": _array(table, "member_id").fill_null(UNKNOWN_MEMBER),
        "client_id": _array(table, "client_id").fill_null(UNKNOWN_MEMBER),
        "owner": _array(table, "owner"),
        "committed_offset": committed,
        # -1 without a commit, if the group has one for another partition of the topic (kafka_exporter).
        "committed_or_minus_one": pc.if_else(without_commit, -1, committed),
        "end_minus_committed": pc.if_else(pc.and_(without_commit, has_end), -1, difference),
        "known_difference": difference,
        "end_minus_committed_or_zero": pc.max_element_wise(difference, pa.scalar(0, pa.int64()), skip_nulls=False),
        "high_watermark": end,
        "time_lag": _array(table, "time_lag"),
        # Burrow's number of the status, and burrow_exporter's, which is greater by one.
        "burrow_status": status,
        "burrow_exporter_status": pc.add(status, 1),
        # Null unless every slot of Burrow's window is filled.
        "burrow_complete_status": pc.if_else(complete, status, None),
        "burrow_complete_offset": pc.if_else(complete, committed, None),
    }


def _with_compatibility(snapshot: Snapshot) -> pa.Table:
    """Return PARTITIONS with the columns of COMPATIBILITY, which are null if that has no rows."""
    table, more = snapshot.partitions, snapshot.compatibility
    if len(more) not in {0, len(table)}:
        raise ValueError(f"COMPATIBILITY has {len(more)} rows and PARTITIONS has {len(table)}")
    for field in more.schema:
        if field.name not in table.column_names:
            column = more.column(field.name) if len(more) else pa.nulls(len(table), field.type)
            table = table.append_column(field, column)
    return table


def _with_every_partition(table: pa.Table) -> pa.Table:
    """Return the rows with one more for each missing partition of a topic for which the group has a commit.

    The column `added` tells them; only group, topic, partition and `topic_partitions` of an added row are not null. The
    order stays, and the partitions of a group and topic are in theirs.
    """
    group, topic, committed = (_array(table, name) for name in ("group", "topic", "committed_offset"))
    partition = _array(table, "partition").to_numpy()
    count = _array(table, "topic_partitions").fill_null(0).to_numpy()
    pairs, first, pair = np.unique(_pairs(group, topic), return_index=True, return_inverse=True)
    has_commit = _has_commit_for_topic(group, topic, committed).to_numpy(zero_copy_only=False)
    wanted = np.where(has_commit[first], count[first], 0)
    missing = np.flatnonzero(wanted > np.bincount(pair[partition < count], minlength=len(pairs)))
    if not len(missing):
        return table
    size = wanted[missing]
    added_pair = np.repeat(missing, size)
    added_partition = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    is_new = np.isin(added_pair << 32 | added_partition, pair << 32 | partition, invert=True)
    added_pair, added_partition = added_pair[is_new], added_partition[is_new]
    at = pa.array(first[added_pair])
    kept = {"partition": pa.array(added_partition, pa.int32()), _ADDED: pa.repeat(True, len(at))}
    kept |= {name: _array(table, name).take(at) for name in ("group", "topic", "topic_partitions")}
    added = [kept.get(field.name, pa.nulls(len(at), field.type)) for field in table.schema]
    both = pa.concat_tables([table, pa.table(added, schema=table.schema)]).unify_dictionaries()
    order = np.lexsort((np.append(partition, added_partition), first[np.append(pair, added_pair)]))
    return both.take(order)


def _pairs(group: pa.Array, topic: pa.Array) -> NDArray[np.int64]:
    """Return a number per row that is the same for the same group and topic."""
    numbers: NDArray[np.int64] = (group.indices.to_numpy().astype(np.int64) << 32) | topic.indices.to_numpy()
    return numbers


def _has_commit_for_topic(group: pa.Array, topic: pa.Array, committed: pa.Array) -> pa.Array:
    """Return per row whether the group has a commit for any partition of the topic."""
    _, pair = np.unique(_pairs(group, topic), return_inverse=True)
    commits = np.bincount(pair[committed.is_valid().to_numpy(zero_copy_only=False)], minlength=len(group))
    return pa.array(commits[pair] > 0)


def _group_topics(partitions: Mapping[str, Any]) -> dict[str, Any]:
    committed, difference = partitions["committed_offset"], partitions["known_difference"]
    found = _aggregated(
        {name: partitions[name] for name in ("group", "topic")},
        committed_or_minus_one_sum=(partitions["committed_or_minus_one"], "sum"),
        end_minus_committed_sum=(difference, "sum"),
        committed_sum=(pc.if_else(pc.is_valid(difference), committed, None), "sum"),
        lag_sum=(partitions["end_minus_committed_or_zero"], "sum"),
        members=(partitions["owner"], "count_distinct"),
        assigned_partitions=(partitions["owner"], "count"),
    )
    group, cluster = _encoded(found["group"]), partitions["cluster"]
    return {
        **found,
        **_group_labels(group, cluster.dictionary[0].as_py() if len(cluster) else ""),
        **_aliases(_encoded(found["topic"]), "topic", "topic_name"),
        "members": _positive(found["members"]),
        "assigned_partitions": _positive(found["assigned_partitions"]),
    }


def _groups(groups: pa.Table, partitions: Mapping[str, Any], cluster: str) -> dict[str, Any]:
    lag, status = partitions["end_minus_committed_or_zero"], partitions["burrow_status"]
    of_partitions = _aggregated(
        {"group": partitions["group"]},
        lag_sum=(lag, "sum"),
        lag_max=(lag, "max"),
        time_lag_max=(partitions["time_lag"], "max"),
        burrow_status=(pc.min_element_wise(status, pa.scalar(_ERR, pa.int64()), skip_nulls=False), "max"),
    )
    group, state = _array(groups, "group"), _array(groups, "state")
    at = pc.index_in(group.cast(pa.string()), value_set=of_partitions.pop("group"))
    found = {name: column.take(at) for name, column in of_partitions.items()}
    return {
        **{name: _array(groups, name) for name in ("protocol", "protocol_type", "members", "commits")},
        **found,
        **_group_labels(group, cluster),
        "state": state,
        # Which broker coordinates the group is not in the snapshot.
        "coordinator_id": pa.nulls(len(groups), NAME),
        "idle_members": _positive(_array(groups, "members_idle")),
        "is_stable": pc.equal(state.cast(pa.string()), _STABLE),
        "burrow_exporter_status": pc.add(found["burrow_status"], 1),
    }


def _log_ends(ends: pa.Table, cluster: str) -> dict[str, Any]:
    return {
        **_aliases(_array(ends, "topic"), "topic", "topic_name"),
        **_aliases(_array(ends, "partition"), "partition", "partition_id"),
        **_aliases(_constant(cluster, len(ends)), "cluster", "cluster_name"),
        "high_watermark": _array(ends, "high_watermark"),
        "log_start_offset": _array(ends, "log_start_offset"),
    }


def _topics(snapshot: Snapshot) -> dict[str, Any]:
    ends, more = snapshot.log_ends, snapshot.compatibility
    offsets = {name: _array(ends, name) for name in ("high_watermark", "log_start_offset")}
    found = _aggregated(
        {"topic": _array(ends, "topic")},
        rows=(_array(ends, "partition"), "count"),
        **{f"{name}_sum": (column, "sum") for name, column in offsets.items()},
        **{f"{name}_known": (column, "count") for name, column in offsets.items()},
    )
    partitions = _aggregated({"topic": _array(more, "topic")}, partitions=(_array(more, "topic_partitions"), "max"))
    of_topic = partitions["partitions"].take(pc.index_in(found["topic"], value_set=partitions["topic"]))
    has_all = pc.equal(found["rows"], of_topic).fill_null(False)
    sums: dict[str, Any] = {"topic_name": _encoded(found["topic"])}
    for name in offsets:
        is_known = pc.and_(has_all, pc.equal(found[f"{name}_known"], found["rows"]))
        sums[f"{name}_sum"] = pc.if_else(is_known, found[f"{name}_sum"], None)
    return sums


def _aggregated(keys: Mapping[str, pa.Array], **columns: tuple[pa.Array, str]) -> dict[str, pa.Array]:
    """Return columns, each by its function, grouped by keys and sorted by them; keys are text."""
    texts = {name: key.cast(pa.string()) for name, key in keys.items()}
    table = pa.table({**texts, **{name: column for name, (column, _) in columns.items()}})
    functions = [(name, how) for name, (_, how) in columns.items()]
    grouped = table.group_by(list(keys), use_threads=False).aggregate(functions)
    grouped = grouped.sort_by([(key, "ascending") for key in keys])
    names = {**{key: key for key in keys}, **{name: f"{name}_{how}" for name, how in functions}}
    return {name: grouped.column(column).combine_chunks() for name, column in names.items()}


def _group_labels(group: pa.Array, cluster: str) -> dict[str, pa.Array]:
    return {
        **_aliases(group, "consumergroup", "group", "group_id", "consumer_group"),
        **_aliases(_constant(cluster, len(group)), "cluster", "cluster_name"),
    }


def _aliases(column: pa.Array, *names: str) -> dict[str, pa.Array]:
    return dict.fromkeys(names, column)


def _constant(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([text], pa.string()))


def _positive(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.greater(column, 0), column, None)


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    return column.dictionary_encode().cast(NAME)


def _array(table: pa.Table, name: str) -> pa.Array:
    return one_array(table.column(name))
