"""Compares what lagwarden shows with a second opinion.

Offsets and lags are compared with those of Kafka's own tool, partition by partition, and verdicts with those that the
table of the demo's groups expects.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from sandbox.demo.groups import DemoGroup
from sandbox.kafka import tools
from sandbox.kafka.tools import GroupOffset
from stream.cli.api_client import InstanceClient
from stream.cli.group_source import Answer
from stream.cli.render.tables import TableColumn, TextTable, plain_lines

LIMIT: Final = 60.0
"""Seconds in which lagwarden must have read all commits from before a pause, or must have all verdicts."""

PartitionKey = tuple[str, str, int]
"""Group, topic, partition."""
OffsetAndLag = tuple[int | None, int | None]
"""The committed offset and the lag; None where nothing is shown."""


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
    """One partition of one group as both show it."""

    place: PartitionKey
    official: OffsetAndLag
    shown: OffsetAndLag

    @property
    def agrees(self) -> bool:
        """True when both show the same values, or both none."""
        return self.official == self.shown


Compared = TypeVar("Compared", VerdictComparison, PartitionComparison)


def compare(official: Sequence[GroupOffset], shown: Mapping[PartitionKey, OffsetAndLag]) -> list[PartitionComparison]:
    """Return every partition that either of them shows, in name order."""
    listed: dict[PartitionKey, OffsetAndLag] = {
        (row.group, row.topic, row.partition): (row.current_offset, row.lag)
        for row in official
        # The tool also lists owned partitions without a commit.
        if row.topic is not None and row.partition is not None and row.current_offset is not None
    }
    nothing = (None, None)
    return [
        PartitionComparison(place, listed.get(place, nothing), shown.get(place, nothing))
        for place in sorted(listed.keys() | shown.keys())
    ]


def compare_until_agreed(bootstrap: str, client: InstanceClient) -> list[PartitionComparison]:
    """Compare lagwarden, which may be some seconds behind, with a cluster without traffic; returns the last comparison.

    The official tool runs only once: call this while traffic is paused.
    """
    official = tools.describe_groups(bootstrap)
    return _until_agreed(lambda: compare(official, dict(_offsets(client))))


def _offsets(client: InstanceClient) -> Iterator[tuple[PartitionKey, OffsetAndLag]]:
    """Yield the partitions with a committed offset of all groups of an instance."""
    for each in client.groups()["groups"]:
        for row in (client.group(each["group"]) or {"by_partition": ()})["by_partition"]:
            if row["committed_offset"] is not None:
                yield (each["group"], row["topic"], row["partition"]), (row["committed_offset"], row["lag"])


def compare_verdicts(rows: Sequence[DemoGroup], shown: Sequence[Answer]) -> list[VerdictComparison]:
    """Return every group of the table with the verdict that lagwarden shows; `shown` are the groups of its API."""
    verdicts = {group["group"]: group["verdict"] for group in shown}
    return [VerdictComparison(row.name, row.verdicts, verdicts.get(row.name)) for row in rows]


def compare_verdicts_until_agreed(rows: Sequence[DemoGroup], client: InstanceClient) -> list[VerdictComparison]:
    """Compare verdicts while traffic flows, once all of them can be known; returns the last comparison."""
    return _until_agreed(lambda: compare_verdicts(rows, client.groups()["groups"]))


def _until_agreed(compared: Callable[[], list[Compared]]) -> list[Compared]:
    """Compare until all agree or the limit has passed, and return the last comparison."""
    deadline = time.monotonic() + LIMIT
    while True:
        found = compared()
        if all(each.agrees for each in found) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def comparison_lines(rows: Sequence[PartitionComparison]) -> str:
    """Return a comparison as plain lines, one per partition, with differences marked."""
    heads = ("group", "topic", "partition", "offset: kafka", "lag", "offset: lagwarden", "lag", "")
    cells = [
        [
            *map(str, row.place),
            *("-" if value is None else str(value) for value in (*row.official, *row.shown)),
            "" if row.agrees else "<- differs",
        ]
        for row in rows
    ]
    return "\n".join(plain_lines(TextTable(list(map(TableColumn, heads)), cells)))
