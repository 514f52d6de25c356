"""A fleet in the topic, and what a monitor must say of it: a sample of groups is held against the oracle.

A text of millions of lines is not compared line by line: groups and partitions are counted over all, and for some
groups everything that is told of them is compared.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from bench.encoding import member_count
from bench.many_groups.groups_topic import beginnings, commits_of
from bench.oracle import nothing_yet
from bench.topic import Writer

if TYPE_CHECKING:
    import numpy as np

    from bench.many_groups.monitor import Monitor
    from bench.traffic import Chunk, Traffic

SAMPLE: Final = 100
_PARTITIONS: Final = "lagwarden_group_partitions"


class Wanted:
    """What must be known of a fleet: the oracle's numbers, in the words of the API."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._state = nothing_yet(traffic)

    def apply(self, chunk: Chunk) -> None:
        """Take in what was written."""
        self._state.apply(chunk)

    def group(self, number: int) -> dict[str, Any]:
        """Give what must be told of a group."""
        return {
            "kind": "classic",
            "state": "Stable",
            "generation": int(self._state.generation[number]),
            "members": member_count(number),
            "members_idle": 0,
            "partitions": self._traffic.partitions_per_group,
            "partitions_unowned": 0,
            "topics_unsubscribed": 0,
            "lag_sum": sum(row["lag"] for row in self.partitions(number)),
        }

    def partitions(self, number: int) -> list[dict[str, Any]]:
        """Give what must be told of each of its partitions."""
        traffic, each = self._traffic, self._traffic.partitions_per_group
        return [
            {
                "topic": traffic.topic(number),
                "partition": partition,
                "committed_offset": int(self._state.offset[row]),
                "commit_time": _moment(self._state.time[row]),
                "lag": traffic.log_end - int(self._state.offset[row]),
            }
            for partition, row in enumerate(range(number * each, (number + 1) * each))
        ]

    def differences(self, number: int, told: dict[str, Any]) -> list[str]:
        """Give a line for each thing that is told otherwise of a group; more may be told."""
        wrong = [
            f"{name} is {told.get(name)!r} and not {value!r}"
            for name, value in self.group(number).items()
            if told.get(name) != value
        ]
        partitions = self.partitions(number)
        shown = [{name: row.get(name) for name in partitions[0]} for row in told.get("by_partition", ())]
        if shown != partitions:
            wrong.append("partitions differ")
        return [f"{self._traffic.group(number)}: {line}" for line in wrong]


class Fleet:
    """A fleet in the topic of a broker: written at once, then committing as told."""

    def __init__(self, traffic: Traffic, bootstrap: str) -> None:
        self.traffic = traffic
        self.bootstrap = bootstrap
        self._wanted = Wanted(traffic)
        self._writer = Writer(bootstrap, traffic)
        self._rounds = 0
        for chunk in beginnings(traffic):
            self._write(chunk)

    def commit(self, groups: int) -> int:
        """Let the next groups commit; give how many records that was."""
        self._rounds += 1
        return self._write(commits_of(self.traffic, groups, self._rounds))

    def differences(self, monitor: Monitor) -> list[str]:
        """Give a line for each thing that a monitor says otherwise; none when all agrees."""
        counts = monitor.samples(_PARTITIONS)
        found = []
        if len(counts) != self.traffic.groups or sum(counts.values()) != self.traffic.keys:
            found.append(f"{len(counts)} groups of {sum(counts.values()):.0f} partitions in /metrics")
        for number in range(0, self.traffic.groups, max(1, self.traffic.groups // SAMPLE)):
            found += self._wanted.differences(number, monitor.group(self.traffic.group(number)))
        return found

    def _write(self, chunk: Chunk) -> int:
        self._writer.write(chunk)
        self._wanted.apply(chunk)
        return len(chunk)


def _moment(milliseconds: np.int64) -> str:
    at = dt.datetime.fromtimestamp(int(milliseconds) / 1000, dt.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
