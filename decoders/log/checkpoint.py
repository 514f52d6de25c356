"""KRaft snapshots: the `.checkpoint` files of `__cluster_metadata-0`, and `bootstrap.checkpoint` of the log directory.

A snapshot is a sequence of batches between a SNAPSHOT_HEADER and a SNAPSHOT_FOOTER; without the footer it is
incomplete. Its own offsets have no meaning: it replaces the log up to the offset in its name. The metadata decoders
decode the values.

Source: org.apache.kafka.snapshot.Snapshots, RecordsSnapshotReader, BootstrapDirectory; KIP-630.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Final

from decoders.log.codecs import DEFAULT_LIMIT
from decoders.log.control import ControlType, control_type, kraft_message
from decoders.log.errors import Damaged, LogError, LogFault
from decoders.log.segment import Segment

if TYPE_CHECKING:
    from pathlib import Path

BOOTSTRAP: Final = "bootstrap.checkpoint"
_NAME: Final = re.compile(r"(?P<end>\d{20})-(?P<epoch>\d{10})\.checkpoint")


@dataclasses.dataclass(frozen=True, slots=True)
class SnapshotId:
    """Identifies a snapshot, which replaces the log below `end_offset`.

    `epoch` is the leader epoch of the record before it.
    """

    end_offset: int
    epoch: int


@dataclasses.dataclass(frozen=True, slots=True)
class KraftSnapshot:
    """A complete snapshot: the values of its data records in order, and its control records by type.

    `id` is None for `bootstrap.checkpoint`, which replaces no part of the log.
    """

    path: Path
    id: SnapshotId | None
    values: tuple[bytes, ...]
    control: dict[ControlType, dict[str, Any]]


def snapshot_id(path: Path) -> SnapshotId | None:
    """Parse the name of a snapshot file; None for other names, such as unfinished `.part` and `.deleted` files."""
    name = _NAME.fullmatch(path.name)
    return SnapshotId(int(name["end"]), int(name["epoch"])) if name else None


def read_snapshot(path: Path, *, limit: int = DEFAULT_LIMIT) -> KraftSnapshot | LogError:
    """Read a whole snapshot file; each batch is decompressed to at most `limit` bytes. Raises OSError."""
    values: list[bytes] = []
    control: dict[ControlType, dict[str, Any]] = {}
    types: list[ControlType | None] = []
    with Segment(path, 0) as segment:
        cursor = segment.batches()
        for batch in cursor:
            try:
                for record in batch.records(limit):
                    if batch.is_control:
                        kind, _ = control_type(record.key)
                        control[kind] = kraft_message(record) or {}
                        types.append(kind)
                    else:
                        values.append(record.value or b"")
                        types.append(None)
            except Damaged as fault:
                return fault.located(str(path), batch.position, batch.base_offset)
    if error := cursor.error(last_segment=False):
        return error
    if types[:1] != [ControlType.SNAPSHOT_HEADER] or types[-1:] != [ControlType.SNAPSHOT_FOOTER]:
        detail = "the snapshot does not begin with a header and end with a footer"
        return LogError(LogFault.INCOMPLETE_SNAPSHOT, str(path), segment.size, None, detail)
    return KraftSnapshot(path, snapshot_id(path), tuple(values), control)
