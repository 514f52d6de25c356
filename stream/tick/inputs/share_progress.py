"""Converts the facts about share groups of a poll of the cluster to the input of health, once per poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from exporters.cluster.model import SHARE_GROUPS_FACT
from stream.health.share.progress import SharePartitionProgress, ShareProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporters.cluster.model import ClusterFacts


class ShareProgressReader:
    """Returns the progress of the last poll; the same object until the next one. Used by the tick thread."""

    def __init__(self, facts: Callable[[], ClusterFacts | None]) -> None:
        self._facts = facts
        self._source: ClusterFacts | None = None
        self._progress: ShareProgress | None = None

    def current(self) -> ShareProgress | None:
        """Return the progress of share groups; None before the first poll, and if the facts were discarded."""
        facts = self._facts()
        if facts is not self._source:
            self._source, self._progress = facts, None if facts is None else share_progress(facts)
        return self._progress


def share_progress(facts: ClusterFacts) -> ShareProgress:
    """Return the progress of the share groups whose partitions all are in the facts, and the topics of the others."""
    read_at = facts.share_read_time
    taken_at = int(facts.taken_at * 1000) if read_at is None else read_at
    reasons = facts.unknown_facts.filter(pc.equal(facts.unknown_facts["fact"].cast(pa.string()), SHARE_GROUPS_FACT))
    if len(reasons):
        return ShareProgress(taken_at, {}, unknown_reason=str(reasons["reason"][0]))
    names = ("group", *SharePartitionProgress._fields)
    columns = [facts.share_partitions[name].to_pylist() for name in names]
    groups: dict[str, list[SharePartitionProgress]] = {}
    for group, *values in zip(*columns, strict=True):
        groups.setdefault(group, []).append(SharePartitionProgress(*values))
    partitions = dict(zip(*(facts.share_groups[name].to_pylist() for name in ("group", "partitions")), strict=True))
    complete = {name: tuple(rows) for name, rows in groups.items() if len(rows) == partitions.get(name)}
    incomplete = {name: frozenset(each.topic for each in rows) for name, rows in groups.items() if name not in complete}
    return ShareProgress(taken_at, complete, incomplete=incomplete)
