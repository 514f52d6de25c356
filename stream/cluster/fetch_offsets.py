"""Committed offsets as the coordinators themselves answer for them: what the log cannot tell while it is held back.

An open transaction on a partition of `__consumer_offsets` keeps every commit behind it from a reader of committed
records, though the coordinator has them. So the groups of that partition are asked for here until it ends. Offsets are
asked for as they are, not only stable ones: a pending transactional commit does not count yet. Errors are values.
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
        # Null in the one row of a group that could not be asked.
        ("topic", NAME),
        ("partition", pa.int32()),
        ("committed_offset", pa.int64()),
        # Of the last record read; null where the client did not say.
        ("leader_epoch", pa.int32()),
        # A Reason where the offset is not known, else null.
        ("error", NAME),
    ]
)
"""One row per (group, topic, partition) with a committed offset, sorted."""

MOST_GROUPS: Final = 5_000
"""How many groups one call asks for; the others come back as not asked."""

_GROUPS_AT_ONCE: Final = 100
_MOVED: Final = frozenset(
    {ErrorReason.COORDINATOR_CHANGED, ErrorReason.NO_COORDINATOR, ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT}
)

_Row = tuple[str, str | None, int | None, int | None, int | None, ErrorReason | None]


def fetch_offsets(cluster: Cluster, coordinators: Coordinators, groups: Sequence[str]) -> pa.Table:
    """Fetch all committed offsets of the first MOST_GROUPS of these groups, each known to exist: GROUP_OFFSETS.

    A group without offsets has no row. Raises nothing. A coordinator that moved is looked up anew by the next call.
    """
    wanted = list(dict.fromkeys(groups))
    rows: list[_Row] = [_unknown(group, ErrorReason.NOT_ASKED) for group in wanted[MOST_GROUPS:]]
    found = coordinators.find(wanted[:MOST_GROUPS])
    rows += [_unknown(group, node) for group, node in found.items() if isinstance(node, ErrorReason)]
    asked = list(by_node(found, _GROUPS_AT_ONCE))
    answers = cluster.call_all([(node, admin_requests.offset_fetch(some)) for node, some in asked])
    for (node, some), answer in zip(asked, answers, strict=True):
        rows += _fetched_by_old(cluster, node, some) if isinstance(answer, Unsupported) else _fetched(some, answer)
    coordinators.forget(group for group, *_, error in rows if error in _MOVED)
    return _table(rows)


def _fetched(groups: Collection[str], answer: Any) -> Iterator[_Row]:
    if isinstance(answer, ClusterError):
        yield from (_unknown(group, reasons.of_failure(answer)) for group in groups)
        return
    for told in answer.groups:
        yield from _offsets(told.group_id, told)
    missing = set(groups) - {told.group_id for told in answer.groups}
    yield from (_unknown(group, ErrorReason.OTHER) for group in missing)


def _fetched_by_old(cluster: Cluster, node: int, groups: list[str]) -> Iterator[_Row]:
    """Ask a broker that takes one group at a time."""
    answers = cluster.call_all([(node, admin_requests.offset_fetch_of_one(group)) for group in groups])
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, ClusterError):
            yield _unknown(group, reasons.of_failure(answer))
        else:
            yield from _offsets(group, answer)


def _offsets(group: str, told: Any) -> Iterator[_Row]:
    refused = reasons.of_code(told.error_code)
    if refused is not None:
        yield _unknown(group, refused)
        return
    for topic in told.topics:
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
