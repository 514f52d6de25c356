"""Committed offsets fetched from the coordinators, for commits that are hidden behind an open transaction.

An open transaction on a partition of `__consumer_offsets` hides every commit behind it from a `read_committed` reader,
although the coordinator has them. The offsets of that partition's groups are fetched here until the transaction ends.
The requests do not set `require_stable`: a pending transactional commit does not count yet. Errors are values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from stream.cluster.coordinators import by_node
from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from stream.cluster.coordinators import Coordinators
    from stream.cluster.transport.client import Cluster

NAME: Final = pa.dictionary(pa.int32(), pa.string())

GROUP_OFFSETS: Final = pa.schema(
    [
        ("group", NAME),
        # Null in the one row of a group whose offsets could not be fetched.
        ("topic", NAME),
        ("partition", pa.int32()),
        ("committed_offset", pa.int64()),
        # Of the last record read; null if the client did not send it.
        ("leader_epoch", pa.int32()),
        # An ErrorReason if the offset is unknown, else null.
        ("error", NAME),
    ]
)
"""One row per (group, topic, partition) with a committed offset, sorted."""

MOST_GROUPS: Final = 5_000
"""The number of groups that one call requests; the others are returned with NOT_ASKED."""

_GROUPS_AT_ONCE: Final = 100
_MOVED: Final = frozenset(
    {ErrorReason.COORDINATOR_CHANGED, ErrorReason.NO_COORDINATOR, ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT}
)

_Row = tuple[str, str | None, int | None, int | None, int | None, ErrorReason | None]


def fetch_offsets(cluster: Cluster, coordinators: Coordinators, groups: Sequence[str]) -> pa.Table:
    """Fetch all committed offsets of the first MOST_GROUPS of these groups, each known to exist: GROUP_OFFSETS.

    A group without offsets has no row. Raises nothing. The next call looks up a coordinator that has moved.
    """
    wanted = list(dict.fromkeys(groups))
    rows: list[_Row] = [_unknown(group, ErrorReason.NOT_ASKED) for group in wanted[MOST_GROUPS:]]
    found = coordinators.find(wanted[:MOST_GROUPS])
    rows += [_unknown(group, node) for group, node in found.items() if isinstance(node, ErrorReason)]
    batches = list(by_node(found, _GROUPS_AT_ONCE))
    answers = cluster.call_all([(node, admin_requests.offset_fetch(some)) for node, some in batches])
    for (node, some), answer in zip(batches, answers, strict=True):
        rows += _fetched_by_old(cluster, node, some) if isinstance(answer, Unsupported) else _fetched(some, answer)
    coordinators.forget(group for group, *_, error in rows if error in _MOVED)
    return _table(rows)


def _fetched(groups: Collection[str], answer: Any) -> Iterator[_Row]:
    if isinstance(answer, ClusterError):
        yield from (_unknown(group, reasons.of_failure(answer)) for group in groups)
        return
    for each in answer.groups:
        yield from _offsets(each.group_id, each)
    missing = set(groups) - {each.group_id for each in answer.groups}
    yield from (_unknown(group, ErrorReason.OTHER) for group in missing)


def _fetched_by_old(cluster: Cluster, node: int, groups: list[str]) -> Iterator[_Row]:
    """Fetch from a broker that takes one group per request (before 3.0)."""
    answers = cluster.call_all([(node, admin_requests.offset_fetch_of_one(group)) for group in groups])
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, ClusterError):
            yield _unknown(group, reasons.of_failure(answer))
        else:
            yield from _offsets(group, answer)


def _offsets(group: str, answer: Any) -> Iterator[_Row]:
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        yield _unknown(group, refused)
        return
    for topic in answer.topics:
        for p in topic.partitions:
            error = reasons.of_code(p.error_code)
            if error is not None:
                yield group, topic.name, p.partition_index, None, None, error
            elif p.committed_offset >= 0:
                epoch = p.committed_leader_epoch if p.committed_leader_epoch >= 0 else None
                yield group, topic.name, p.partition_index, p.committed_offset, epoch, None


def _unknown(group: str, reason: ErrorReason) -> _Row:
    return group, None, None, None, None, reason


def _table(rows: list[_Row]) -> pa.Table:
    rows.sort(key=lambda row: (row[0], row[1] or "", -1 if row[2] is None else row[2]))
    columns = list(zip(*rows, strict=True)) or [()] * len(GROUP_OFFSETS)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, GROUP_OFFSETS, strict=True)]
    return pa.table(arrays, schema=GROUP_OFFSETS)
