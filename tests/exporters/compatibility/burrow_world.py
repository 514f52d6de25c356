"""The group of the recorded responses of Burrow (`golden/other_exporters/burrow_api.json`) as a snapshot."""

from typing import Any

from exporters.compatibility.burrow_responses import BurrowCluster
from exporters.readmodel import Snapshot
from tests.exporters.compatibility.other_world import compatible_snapshot

EU = BurrowCluster("eu", ("broker-1:9092",), 10)
_OWNER = {"owner": 0, "member_id": "m", "client_id": "billing-1", "client_host": "/10.0.0.1"}


def commit(offset: int, second: int, lag: int | None) -> dict[str, int | None]:
    return {"offset": offset, "timestamp": 1_700_000_000_000 + 1000 * second, "lag": lag}


def place(
    group: str, topic: str, partition: int, committed: int | None, end: int | None, **more: Any
) -> dict[str, Any]:
    """Return a partition of a group with the columns of PARTITIONS and COMPATIBILITY."""
    where = {"group": group, "topic": topic, "partition": partition}
    return {**where, "committed_offset": committed, "high_watermark": end, **more}


def world(rows: list[dict[str, Any]] | None = None) -> Snapshot:
    """Return a snapshot with these partitions, by default those of the recorded responses."""
    if rows is None:
        full = [commit(1600 + at, at, 20) for at in range(10)]
        logs = [commit(30, 8, 0), commit(40, 9, 60)]
        rows = [
            place("billing", "logs", 1, 40, 100, burrow_status="OK", burrow_window=logs),
            place("billing", "orders", 0, 1609, 2000, burrow_status="STOP", burrow_window=full, **_OWNER),
            place("billing", "orders", 1, None, 7, burrow_window=[], **_OWNER),
            place("idle", "logs", 1, 100, 100, burrow_status="OK", burrow_window=[commit(100, 0, 0)]),
            # Only assigned: Burrow does not know this group.
            place("new", "orders", 0, None, 2000, burrow_window=[]),
        ]
    return compatible_snapshot(rows)
