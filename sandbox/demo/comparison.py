"""Compares the offsets and lags that lagwarden shows with those of Kafka's own tool, partition by partition."""

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
"""Seconds in which lagwarden must have read all commits from before a pause."""


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionComparison:
    """One partition of one group as both show it; None where one of them shows nothing."""

    group: str
    topic: str
    partition: int
    official_offset: int | None
    official_lag: int | None
    shown_offset: int | None
    shown_lag: int | None

    @property
    def agrees(self) -> bool:
        """True when both show the same values, or both none."""
        return (self.official_offset, self.official_lag) == (self.shown_offset, self.shown_lag)


def compare(official: Sequence[GroupOffset], shown: Scrape) -> list[PartitionComparison]:
    """Return every partition that either of them shows, in name order."""
    offsets = shown.by_partition("lagwarden_partition_committed_offset")
    lags = shown.by_partition("lagwarden_partition_lag")
    listed: dict[PartitionKey, GroupOffset] = {
        (row.group, row.topic, row.partition): row
        for row in official
        # The tool also lists owned partitions without a commit.
        if row.topic is not None and row.partition is not None and row.current_offset is not None
    }
    return [
        PartitionComparison(
            *key,
            official_offset=listed[key].current_offset if key in listed else None,
            official_lag=listed[key].lag if key in listed else None,
            shown_offset=offsets.get(key),
            shown_lag=lags.get(key),
        )
        for key in sorted(listed.keys() | offsets.keys() | lags.keys())
    ]


def compare_until_agreed(bootstrap: str, address: str, limit: float = LIMIT) -> list[PartitionComparison]:
    """Compare lagwarden, which may be some seconds behind, with a cluster without traffic; returns the last comparison.

    The official tool runs only once: call this while traffic is paused.
    """
    official = tools.describe_groups(bootstrap)
    deadline = time.monotonic() + limit
    while True:
        rows = compare(official, scrape(address))
        if all(row.agrees for row in rows) or time.monotonic() > deadline:
            return rows
        time.sleep(0.5)
