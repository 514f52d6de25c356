"""Writes many groups to the topic, and compares a sample of a monitor's answers with the oracle.

The exposition would have millions of lines, so the series budget leaves most of them out: groups and partitions are
counted over all groups of the API, and for a sample of groups its whole answer is compared.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from bench.encoding import member_count
from bench.many_groups.groups_topic import commit_round, initial_records
from bench.oracle import initial_state
from bench.topic import Writer

if TYPE_CHECKING:
    import numpy as np

    from bench.many_groups.monitor import Monitor
    from bench.traffic import Chunk, Traffic

SAMPLE: Final = 100


class ExpectedAnswers:
    """The expected answers of the API for all groups, from the state of the oracle."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._state = initial_state(traffic)

    def apply(self, chunk: Chunk) -> None:
        """Apply the records of a chunk."""
        self._state.apply(chunk)

    def group(self, number: int) -> dict[str, Any]:
        """Return the expected fields of a group."""
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
        """Return the expected fields of each partition of a group."""
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

    def differences(self, number: int, answer: dict[str, Any]) -> list[str]:
        """Return a line for each field of a group that differs; additional fields are ignored."""
        wrong = [
            f"{name} is {answer.get(name)!r} and not {value!r}"
            for name, value in self.group(number).items()
            if answer.get(name) != value
        ]
        partitions = self.partitions(number)
        shown = [{name: row.get(name) for name in partitions[0]} for row in answer.get("by_partition", ())]
        if shown != partitions:
            wrong.append("partitions differ")
        return [f"{self._traffic.group(number)}: {line}" for line in wrong]


class WrittenGroups:
    """Many groups in the offsets topic of a broker: all written at first, then committing in rounds."""

    def __init__(self, traffic: Traffic, bootstrap: str) -> None:
        self.traffic = traffic
        self.bootstrap = bootstrap
        self._expected = ExpectedAnswers(traffic)
        self._writer = Writer(bootstrap, traffic)
        self._rounds = 0
        for chunk in initial_records(traffic):
            self._write(chunk)

    def commit(self, groups: int) -> int:
        """Write commits of the next `groups` groups, and return the number of records."""
        self._rounds += 1
        return self._write(commit_round(self.traffic, groups, self._rounds))

    def differences(self, monitor: Monitor) -> list[str]:
        """Return a line for each difference of a monitor's answers; empty when they agree."""
        counts = monitor.partitions_by_group()
        found = []
        if len(counts) != self.traffic.groups or sum(counts.values()) != self.traffic.keys:
            found.append(f"{len(counts)} groups of {sum(counts.values())} partitions in the API")
        for number in range(0, self.traffic.groups, max(1, self.traffic.groups // SAMPLE)):
            found += self._expected.differences(number, monitor.group(self.traffic.group(number)))
        return found

    def _write(self, chunk: Chunk) -> int:
        self._writer.write(chunk)
        self._expected.apply(chunk)
        return len(chunk)


def _moment(milliseconds: np.int64) -> str:
    at = dt.datetime.fromtimestamp(int(milliseconds) / 1000, dt.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
