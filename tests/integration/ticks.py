"""Runs the steps of a tick against a real broker, without Spark and without waiting.

The log is read as the job reads it, committed records only. Ticks are ten seconds apart by the clock that they are
given, and follow each other at once.
"""

import time
from collections.abc import Mapping
from typing import Final

import numpy as np
from confluent_kafka import Producer

from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.groups.driver_state import DriverState, GroupColumns
from stream.groups.membership.members import Member
from stream.health.evaluator import EvaluationResult, Evaluator
from stream.health.verdict import VERDICTS, Verdict
from stream.tick.context import LookupResults, TickFacts
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import HiddenCommits
from stream.tick.lookups.scheduler import LookupScheduler
from tests.integration.folded_log import FoldedLog
from tests.stream.tick.health_inputs import health_inputs
from tests.support.processes import LIMIT

TICK: Final = 10.0


class Monitor:
    """Reads the offsets topic and runs the steps of a tick."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.lookups = LookupScheduler(cluster)
        self.evaluator = Evaluator()
        self.now = time.time()
        self._log = FoldedLog(cluster)
        self._driver_state = DriverState()
        self.hidden: HiddenCommits
        self.results: LookupResults

    def read(self) -> GroupColumns:
        """Read new records up to the last stable offsets, and return the state."""
        for partition, change in self._log.read():
            self._driver_state.apply(partition, change)
        return self._driver_state.columns()

    def members(self, group: str, names: Mapping[bytes, str]) -> tuple[Member, ...]:
        """Return the members of a group; `names` are those of topics by id."""
        return self._driver_state.members(group, names)

    def tick(self) -> EvaluationResult:
        """Run a tick ten seconds after the last one, and return its evaluation."""
        self.now += TICK
        state = self.read()
        self.lookups.hidden.read()
        topics = {NAME, *state.topic.dictionary.to_pylist()} | self.lookups.hidden.topics
        ends = read_ends(self.cluster, topics)
        self.ends = EndsIndex(ends)
        self.results = self.lookups.look_up(self.ends, self.now)
        facts = TickFacts(state, self.ends, self.now, lookups=self.results)
        self.hidden = self.lookups.hidden.apply(state, facts)
        self.inputs = health_inputs(self.hidden.state, ends, self.now, lookups=self.results)
        self.result = self.evaluator.evaluate(self.inputs)
        self.lookups.schedule(self.result.window)
        return self.result

    def row(self, group: str, topic: str, partition: int = 0) -> int:
        """Return the row of a group's partition in the evaluation."""
        inputs = self.inputs
        (row,) = np.flatnonzero(
            (inputs.group == list(inputs.groups.names).index(group))
            & (inputs.topic == list(inputs.topics).index(topic))
            & (inputs.partition == partition)
        )
        return int(row)

    def lag(self, group: str, topic: str) -> int:
        return int(self.result.window.lag[self.row(group, topic)])

    def verdict(self, group: str, topic: str) -> Verdict:
        return VERDICTS[int(self.result.verdict[self.row(group, topic)])]


def write(producer: Producer, topic: str, count: int) -> None:
    producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, str(number), partition=0)
    assert producer.flush(LIMIT) == 0
