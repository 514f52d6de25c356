"""Compares what lagwarden shows with a second opinion.

Offsets and lags are compared with those of Kafka's own tool, partition by partition, and verdicts with those that the
table of the demo's groups expects.
"""

import dataclasses
import time
from collections.abc import Sequence
from typing import Final

from sandbox.demo.groups import DemoGroup
from sandbox.demo.scrape import PartitionKey, Scrape, scrape
from sandbox.kafka import tools
from sandbox.kafka.tools import GroupOffset

LIMIT: Final = 60.0
"""Seconds in which lagwarden must have read all commits from before a pause."""


VERDICT_LIMIT: Final = 60.0
"""Seconds in which every group must have its verdict, once all of them can be known."""


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictComparison:
    """The verdict of one group as expected and as shown; None where none is shown."""

    group: str
    expected: tuple[str, ...]
    shown: str | None

    @property
    def agrees(self) -> bool:
        """True when one of the expected verdicts is shown."""
        return self.shown in self.expected


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


def compare_verdicts(rows: Sequence[DemoGroup], shown: Scrape) -> list[VerdictComparison]:
    """Return every group of the table with the verdict that lagwarden shows."""
    verdicts = {line.group: line.verdict for line in shown.group_lines()}
    return [VerdictComparison(row.name, row.verdicts, verdicts.get(row.name)) for row in rows]


def compare_verdicts_until_agreed(
    rows: Sequence[DemoGroup], address: str, limit: float = VERDICT_LIMIT
) -> list[VerdictComparison]:
    """Compare verdicts while traffic flows, until all agree or the limit has passed; returns the last comparison."""
    deadline = time.monotonic() + limit
    while True:
        found = compare_verdicts(rows, scrape(address))
        if all(each.agrees for each in found) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)
