"""Holds back the news that the verdict of a group is unknown, because a short gap of knowledge is no change. Pure.

A restart, a broker that is away for a moment, or a poll of share groups that failed leave a verdict unknown until the
next answer. The receiver of `stopped` must not take that for an end of the fault, nor its return for a new one.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import Snapshot

GAP_SECONDS: Final = 300.0
"""The time for which a verdict must be unknown, without a break, before that is an event."""
UNKNOWN: Final = "unknown"


class KnowledgeGaps:
    """The groups with an unknown verdict, and since when; times are those of the snapshots."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def update(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the groups whose verdict is unknown in this snapshot, but not for long."""
        groups = snapshot.groups
        is_unknown = pc.equal(groups.column("verdict").cast(pa.string()), UNKNOWN).fill_null(False)
        now = snapshot.taken_at
        names = groups.column("group").filter(is_unknown).to_pylist()
        self._since = {name: self._since.get(name, now) for name in names}
        return frozenset(name for name, since in self._since.items() if now - since < GAP_SECONDS)
