"""Builds the table of the read model that only the metrics under the names of other exporters need."""

from typing import Final

import numpy as np
import pyarrow as pa

from exporters.readmodel import BURROW_COMMIT, COMPATIBILITY, NAME
from stream.health.burrow.rules import INTERVALS, NONE, BurrowStatus
from stream.health.burrow.status_tracker import BurrowStatuses
from stream.tick.inputs.assignment import PartitionAssignment
from stream.tick.inputs.rows import InputRows
from stream.tick.verdicts.columns import words
from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_STATUS_NAMES: Final = tuple(status.name for status in BurrowStatus)


def compatibility_table(
    evaluated: EvaluatedTick, *, hide_members: bool = False, with_windows: bool = False
) -> pa.Table:
    """Return a row per row of PARTITIONS, in the same order (schema COMPATIBILITY).

    With `hide_members` the names of the owners are null.
    `with_windows` adds the commits of Burrow's windows, which take 240 bytes per row.
    """
    rows, members = evaluated.inputs.rows, evaluated.inputs.assignment
    partition_counts = evaluated.derived.facts.cluster.partition_counts
    counts = [partition_counts.get(topic) for topic in rows.topics]
    columns = {
        "group": words(rows.group, rows.groups),
        "topic": words(rows.topic, rows.topics),
        "partition": pa.array(rows.partition),
        "owner": _owner_numbers(members).cast(pa.int32()),
        **({} if hide_members else _owner_names(members)),
        **_statuses(evaluated.burrow, rows),
        **(_windows(evaluated.burrow) if with_windows else {}),
        "topic_partitions": pa.array(counts, pa.int32()).take(pa.array(rows.topic)),
    }
    columns |= {field.name: pa.nulls(len(rows), field.type) for field in COMPATIBILITY if field.name not in columns}
    return pa.table([columns[field.name] for field in COMPATIBILITY], schema=COMPATIBILITY)


def _owner_numbers(members: PartitionAssignment) -> pa.Array:
    return pa.array(members.owner, mask=members.owner < 0)


def _owner_names(members: PartitionAssignment) -> dict[str, pa.Array]:
    number = _owner_numbers(members)
    values = {
        "member_id": [client.member_id for client in members.clients],
        "client_id": [client.client_id for client in members.clients],
        "client_host": [client.client_host for client in members.clients],
    }
    return {
        name: pa.array(of_clients, pa.string()).dictionary_encode().take(number).cast(NAME)
        for name, of_clients in values.items()
    }


def _statuses(burrow: BurrowStatuses | None, rows: InputRows) -> dict[str, pa.Array]:
    if burrow is None:
        return {}
    not_found = burrow.status == BurrowStatus.NOTFOUND
    return {
        "burrow_status": words(burrow.status, _STATUS_NAMES, not_found),
        "burrow_complete": pa.array(burrow.complete, mask=not_found | ~rows.committed),
    }


def _windows(burrow: BurrowStatuses | None) -> dict[str, pa.Array]:
    if burrow is None:
        return {}
    rings = burrow.rings
    filled = np.arange(INTERVALS) < rings.count[:, None]
    lag = rings.lag[filled]
    columns = [rings.offset[filled], rings.timestamp[filled], pa.array(lag, mask=lag == NONE)]
    commits = pa.StructArray.from_arrays([pa.array(column) for column in columns], fields=list(BURROW_COMMIT))
    starts = np.concatenate(([0], np.cumsum(rings.count))).astype(np.int32)
    return {"burrow_window": pa.ListArray.from_arrays(pa.array(starts), commits)}
