"""What a tick of the monitor does, without Spark and without waiting: for tests of what it asks a real broker.

The log is read as the job reads it, committed records only. Ticks are ten seconds apart by the clock that they are
given, and follow each other at once.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from sandbox.waiting import LIMIT
from stream.cluster.fetch_records import read_records, unread_ranges
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.groups.driver_state import DriverState
from stream.groups.fold import Fold, RecordColumns
from stream.groups.placement import Placement
from stream.groups.reduce import StateLimits, reduce
from stream.groups.shard import empty_state
from stream.health.evaluator import Evaluator
from stream.health.verdict import VERDICTS, Verdict
from stream.tick.context import UNKNOWN_CLUSTER
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.scheduler import LookupScheduler
from tests.stream.tick.health_inputs import health_inputs
from tests.support.commits import KEEP, SLOT_MS
from tests.support.producers import patient_producer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import Producer

    from sandbox.kafka.broker import Broker
    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.members import Member
    from stream.health.evaluator import EvaluationResult
    from stream.tick.context import LookupResults
    from stream.tick.hidden_commits.model import BlockedOffsetsPartition, HiddenCommits

PARTITIONS: Final = 4
TICK: Final = 10.0


class Monitor:
    """Reads the offsets topic and does what a tick does."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.lookups = LookupScheduler(cluster)
        self.judge = Evaluator()
        self.now = time.time()
        self._states = {partition: empty_state() for partition in range(PARTITIONS)}
        self._fleet = DriverState()
        self._read_to: dict[int, int] = {}
        self.hidden: HiddenCommits
        self.results: LookupResults

    def read(self) -> GroupColumns:
        """Read the log on, up to its last stable offsets."""
        for fetched in read_records(self.cluster, NAME, unread_ranges(self.cluster, NAME, self._read_to)):
            self._read_to[fetched.partition] = fetched.position - 1
            if fetched.records:
                self._take(fetched.partition, fetched.records)
        return self._fleet.columns()

    def _take(self, partition: int, records: list[Any]) -> None:
        fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
        fold.add(
            RecordColumns(
                np.zeros(len(records), np.int32),
                np.array([record.offset for record in records], np.int64),
                np.array([record.timestamp for record in records], np.int64),
                pa.array([record.key for record in records], pa.binary()),
                pa.array([record.value for record in records], pa.binary()),
            )
        )
        ((_, delta),) = fold.drain()
        self._states[partition], change = reduce(self._states[partition], [delta], StateLimits(KEEP))
        self._fleet.apply(partition, change)

    def members(self, group: str, names: Mapping[bytes, str]) -> tuple[Member, ...]:
        """Return the members of a group; `names` are those of topics by id."""
        return self._fleet.members(group, names)

    def tick(self) -> EvaluationResult:
        """Do what the tick does, ten seconds later."""
        self.now += TICK
        fleet = self.read()
        self.lookups.fetch_hidden_commits(fleet, self.now)
        topics = {NAME, *fleet.topic.dictionary.to_pylist()} | self.lookups.topics
        ends = read_ends(self.cluster, topics)
        self.hidden = self.lookups.apply_hidden_commits(fleet, EndsIndex(ends), self.now)
        self.results = self.lookups.look_up(self.hidden.state, EndsIndex(ends), self.now)
        context = dataclasses.replace(UNKNOWN_CLUSTER, lookups=self.results)
        self.seen = health_inputs(self.hidden.state, ends, self.now, context)
        self.judged = self.judge.evaluate(self.seen)
        self.lookups.schedule(self.judged.window)
        return self.judged

    def row(self, group: str, topic: str, partition: int = 0) -> int:
        """Give the row of a group's partition, as it was judged."""
        seen = self.seen
        (row,) = np.flatnonzero(
            (seen.group == list(seen.groups.names).index(group))
            & (seen.topic == list(seen.topics).index(topic))
            & (seen.partition == partition)
        )
        return int(row)

    def lag(self, group: str, topic: str) -> int:
        """Give the lag that is shown."""
        return int(self.judged.window.lag[self.row(group, topic)])

    def verdict(self, group: str, topic: str) -> Verdict:
        """Give the verdict that is shown."""
        return VERDICTS[int(self.judged.verdict[self.row(group, topic)])]

    def shown(self, group: str) -> dict[tuple[str, int], tuple[int, bool]]:
        """Give a group's commits by place: the offset, and whether it was asked for."""
        fleet = self.hidden.state
        rows = zip(
            fleet.group.to_pylist(),
            fleet.topic.to_pylist(),
            fleet.partition.tolist(),
            fleet.runs.spans.last_offset.tolist(),
            self.hidden.fetched.tolist(),
            strict=True,
        )
        return {(topic, p): (offset, asked) for name, topic, p, offset, asked in rows if name == group}

    def culprit(self) -> BlockedOffsetsPartition | None:
        """Give who holds the offsets topic back, if anybody does."""
        return next(iter(self.lookups.blocked_partitions), None)


def transactional(broker: Broker, name: str) -> Producer:
    """Return a producer that is ready to begin a transaction."""
    return patient_producer(broker.bootstrap, name)


def write(producer: Producer, topic: str, count: int) -> None:
    """Write records in a transaction that is begun by it."""
    producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, str(number), partition=0)
    assert producer.flush(LIMIT) == 0
