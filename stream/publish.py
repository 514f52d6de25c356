"""The tick: read the fleet, then ask for the ends, build a snapshot, render it, swap one reference.

In this order, so that an end is never older than a commit. While Kafka is away the last snapshot stays.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog

from exporters.choice import EVERYTHING, Choice, Chooser
from exporters.exposition import Published
from exporters.readmodel import OFFSETS_PARTITIONS
from stream import snapshot
from stream.cluster.errors import ClusterError
from stream.cluster.offsets_topic import NAME
from stream.cluster.watermarks import read_ends
from stream.group_detail import group_detail
from stream.groups.fleet import Fleet
from stream.groups.ownership import Ownerships
from stream.ledger import Ledger
from stream.memory import give_back
from stream.surroundings import NOWHERE, Context
from stream.vitals import CATCHING_UP

if TYPE_CHECKING:
    from exporters.readmodel import GroupDetail
    from stream.cluster.client import Cluster
    from stream.groups.fleet import FleetColumns
    from stream.groups.shard import Shard
    from stream.survey import Survey
    from stream.vitals import Vitals

_log = structlog.get_logger(__name__)


class Publisher:
    """Holds the fleet and what is published of it; changes come from one thread, ticks from another."""

    def __init__(self, vitals: Vitals, dead_grace: float = 3600.0, choice: Choice = EVERYTHING) -> None:
        self._vitals = vitals
        self._chooser = Chooser(choice)
        self._dead_grace = dead_grace
        self._ledger = Ledger()
        self._ownerships = Ownerships()
        self._shown: tuple[FleetColumns, Context] | None = None
        self._lock = threading.Lock()
        self._fleet = Fleet()
        self._published: Published | None = None

    def current(self) -> Published | None:
        """Give what readers see; None before the first snapshot."""
        return self._published

    def details(self, group: str) -> GroupDetail | None:
        """Give members and history of a group as of the snapshot that is shown; None where it is not in that."""
        shown = self._shown
        if shown is None:
            return None
        fleet, context = shown
        found = fleet.memberships.get(group), fleet.lives.get(group)
        if found == (None, None):
            return None
        with self._lock:
            members = self._fleet.detail(group, context.around.topic_names)
        return group_detail(group, found, members, fleet.topics_of(group), context)

    def seed(self, states: list[tuple[int, Shard]]) -> None:
        """Begin with what the state store kept; nothing in it is news."""
        with self._lock:
            for shard, state in states:
                self._fleet.seed(shard, state)

    def apply(self, changes: list[tuple[int, Shard]]) -> None:
        """Take in what a batch changed, all of it at once."""
        catching_up = self._vitals.phase == CATCHING_UP
        with self._lock:
            for shard, change in changes:
                self._ledger.take(self._fleet.apply(shard, change), catching_up=catching_up)

    def clear(self) -> None:
        """Show nothing any more: what was shown turned out not to be true."""
        self._published = self._shown = None

    def tick(self, cluster: Cluster, survey: Survey | None = None, *, current: bool = False) -> pa.Table | None:
        """Publish a new snapshot and give the ends it was made with; None if the cluster does not answer.

        Then the old snapshot stays. `current` says that all is read that was there at the tick before.
        """
        with self._lock:
            self._fleet.drop_dead(int((time.time() - self._dead_grace) * 1000))
            fleet = self._fleet.columns()
        topics = {NAME, *fleet.topic.dictionary.to_pylist()}
        try:
            ends = read_ends(cluster, topics)
        except ClusterError as error:
            self._note(str(error))
            return None
        self._note(None)
        taken_at = time.time()
        self._vitals.offsets_partitions = offsets_partitions(ends, self._vitals)
        asked = topics | self._ledger.topics_in_question(fleet)
        around = NOWHERE if survey is None else survey.look(fleet, asked, taken_at)
        context = Context.of(fleet, around, self._ownerships, self._ledger.judge_endings(fleet, around))
        self._vitals.retention = around.retention
        self._vitals.accounts = self._ledger.judge_predictions(fleet, context, taken_at, current=current)
        self._publish(fleet, ends, taken_at, context)
        return ends

    def _publish(self, fleet: FleetColumns, ends: pa.Table, taken_at: float, context: Context) -> None:
        published = Published.of(snapshot.build(fleet, ends, taken_at, context), self._chooser)
        self._published, self._shown = published, (fleet, context)
        self._vitals.series, self._vitals.series_dropped = published.exposition.series, self._chooser.dropped
        self._vitals.snapshot_taken_at = taken_at
        give_back()

    def _note(self, trouble: str | None) -> None:
        """Say it once when Kafka goes away, and once when it is back."""
        if trouble is not None and self._vitals.trouble is None:
            _log.warning("kafka does not answer", cause=trouble)
        elif trouble is None and self._vitals.trouble is not None:
            _log.info("kafka answers again")
        self._vitals.trouble = trouble


def offsets_partitions(ends: pa.Table, vitals: Vitals) -> pa.Table:
    """Hold the reader's positions against the ends of the offsets topic (schema OFFSETS_PARTITIONS)."""
    is_mine = pc.equal(ends.column("topic").cast(pa.string()), NAME)
    mine = ends.filter(pc.and_(is_mine, pc.greater_equal(ends.column("partition"), 0)))
    positions = vitals.progress.positions if vitals.progress else {}
    partition = mine.column("partition").to_pylist()
    position = pa.array([positions.get(number) for number in partition], pa.int64())
    high, stable = mine.column("high_watermark"), mine.column("last_stable_offset")
    return pa.table(
        [
            pa.array(partition, pa.int32()),
            position,
            high,
            stable,
            pc.max_element_wise(pc.subtract(stable, position), pa.scalar(np.int64(0)), skip_nulls=False),
            pc.max_element_wise(pc.subtract(high, stable), pa.scalar(np.int64(0)), skip_nulls=False),
        ],
        schema=OFFSETS_PARTITIONS,
    )
