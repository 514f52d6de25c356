"""Comparing what lagwarden shows with what Kafka's own tool says: partition by partition, number by number."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final

from sandbox.demo.scrape import PartitionKey, Scrape, scrape
from sandbox.kafka import tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.kafka.tools import GroupOffset

LIMIT: Final = 60.0
"""Seconds in which lagwarden must have seen all that was committed before a pause."""


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionComparison:
    """One partition of one group, seen by both; None where the one or the other shows nothing."""

    group: str
    topic: str
    partition: int
    official_offset: int | None
    official_lag: int | None
    shown_offset: int | None
    shown_lag: int | None

    @property
    def agrees(self) -> bool:
        """Tell whether both show the same, or both nothing."""
        return (self.official_offset, self.official_lag) == (self.shown_offset, self.shown_lag)


def compare(official: Sequence[GroupOffset], shown: Scrape) -> list[PartitionComparison]:
    """Put both side by side, every partition that either of them knows, in name order."""
    offsets = shown.by_partition("lagwarden_partition_committed_offset")
    lags = shown.by_partition("lagwarden_partition_lag")
    told: dict[PartitionKey, GroupOffset] = {
        (row.group, row.topic, row.partition): row
        for row in official
        # The tool also lists partitions that a member owns and has committed nothing for.
        if row.topic is not None and row.partition is not None and row.current_offset is not None
    }
    return [
        PartitionComparison(
            *key,
            official_offset=told[key].current_offset if key in told else None,
            official_lag=told[key].lag if key in told else None,
            shown_offset=offsets.get(key),
            shown_lag=lags.get(key),
        )
        for key in sorted(told.keys() | offsets.keys() | lags.keys())
    ]


def compare_until_agreed(bootstrap: str, address: str, limit: float = LIMIT) -> list[PartitionComparison]:
    """Compare a cluster at rest with lagwarden, which may be some seconds behind; give the last comparison.

    The official tool is asked once: call this while traffic is paused.
    """
    official = tools.describe_groups(bootstrap)
    deadline = time.monotonic() + limit
    while True:
        rows = compare(official, scrape(address))
        if all(row.agrees for row in rows) or time.monotonic() > deadline:
            return rows
        time.sleep(0.5)
