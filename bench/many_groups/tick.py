"""Measures a tick of very many groups in a separate process: the cost of each step, and the driver's memory.

The job's own fold and reduce build the state, without Spark; the driver state is seeded with it as at a restart.
Runs as `python -m bench.many_groups.tick`; writes its measurements as JSON to a file.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import hashlib
import json
import multiprocessing
import pickle
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from bench.encoding import TOPIC_ID, commit_keys, group_keys, values
from bench.many_groups.groups_topic import commit_round, initial_records, traffic_of
from bench.processes import parse_stat
from bench.traffic import Kind
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from stream.cluster.partition_offsets import ENDS
from stream.groups.codec import pack, unpack_change, unpack_state
from stream.groups.driver_state import DriverState
from stream.groups.expiry.predict import OffsetsRetention
from stream.groups.fold import Fold
from stream.groups.membership.unassigned import UnassignedTracker
from stream.groups.placement import Placement, partition_for
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import StateLimits, reduce
from stream.groups.shard import empty_state
from stream.process_memory import release_memory
from stream.tick.context import ClusterContext
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.model import nothing_hidden
from stream.tick.snapshot.build import build_evaluated
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.tick_details import TickDetails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from bench.traffic import Chunk, Traffic
    from stream.groups.driver_state import GroupColumns
    from stream.groups.shard import ShardChange
    from stream.tick.verdicts.evaluated_tick import EvaluatedTick

_Result = TypeVar("_Result")
_RULES: Final = StateLimits(keep_slots=10)
_SLOT_MS: Final = 30_000
TICKS: Final = 3
_TICK_SECONDS: Final = 10
_DAY_MS: Final = 86_400_000


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step of a tick. CPU is that of all threads of the process, because the machine may be busy."""

    what: str
    seconds: float
    cpu: float


class Job:
    """Folds and reduces like the job, shard by shard; the state is packed between batches."""

    def __init__(self, traffic: Traffic, shards: int) -> None:
        self._traffic = traffic
        self._placement = Placement.build(traffic.offsets_partitions, shards)
        self._keys = {True: _objects(group_keys(traffic)), False: _objects(commit_keys(traffic))}
        homes = [partition_for(traffic.group(group), traffic.offsets_partitions) for group in range(traffic.groups)]
        self._home = np.array(homes, np.int32)
        self._ends = np.zeros(traffic.offsets_partitions, np.int64)
        self.states: dict[int, bytes] = {}

    def read(self, chunk: Chunk) -> Iterator[tuple[int, ShardChange]]:
        """Read a chunk as one batch, and yield the change of each shard."""
        fold = Fold(self._placement, slot_ms=_SLOT_MS, keep_slots=_RULES.keep_slots)
        fold.add(self._batch(chunk))
        for shard, delta in fold.drain():
            kept = self.states.get(shard)
            state, change = reduce(empty_state() if kept is None else unpack_state(kept), [delta], _RULES)
            self.states[shard] = pack(state, compressed=True)
            yield shard, unpack_change(pack(change))

    def _batch(self, chunk: Chunk) -> RecordColumns:
        of_group = chunk.kind == Kind.MEMBERSHIP
        group = np.where(of_group, chunk.key, chunk.key // self._traffic.partitions_per_group)
        keys = np.where(of_group, self._keys[True][group], self._keys[False][np.where(of_group, 0, chunk.key)])
        home = self._home[group]
        order = np.argsort(home, kind="stable")
        encoded = _objects(values(self._traffic, chunk))
        counts = np.bincount(home, minlength=len(self._ends))
        starts = np.cumsum(counts) - counts
        position = self._ends[home[order]] + np.arange(len(order)) - starts[home[order]]
        self._ends += counts
        return RecordColumns(
            offsets_partition=home[order],
            position=position,
            time=chunk.time[order],
            keys=pa.array(keys[order].tolist(), pa.binary()),
            values=pa.array(encoded[order].tolist(), pa.binary()),
        )


def ends_of(traffic: Traffic) -> pa.Table:
    """Return the end offsets of the topics of the traffic (schema `partition_offsets.ENDS`)."""
    names, each = traffic.topic_names(), traffic.partitions_per_group
    rows = len(names) * each
    columns: dict[str, Any] = {
        "topic": pa.array(np.repeat(np.array(names, object), each)),
        "partition": np.tile(np.arange(each, dtype=np.int32), len(names)),
        **dict.fromkeys(("high_watermark", "last_stable_offset"), np.full(rows, traffic.log_end)),
        "log_start_offset": np.zeros(rows, np.int64),
    }
    arrays = [
        pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in ENDS
    ]
    return pa.table(arrays, schema=ENDS)


def make(traffic: Traffic, shards: int, committing: int, folder: Path) -> None:
    """Write the state after the initial records, and the changes of `TICKS` more batches, to a folder."""
    job = Job(traffic, shards)
    for chunk in initial_records(traffic):
        for _ in job.read(chunk):
            pass
    (folder / "states").write_bytes(pickle.dumps(job.states))
    rounds = [
        [(shard, pack(change)) for shard, change in job.read(commit_round(traffic, committing, number + 1))]
        for number in range(TICKS)
    ]
    (folder / "rounds").write_bytes(pickle.dumps(rounds))


def measure(traffic: Traffic, shards: int, committing: int) -> dict[str, Any]:
    """Build the state in another process, then seed a driver state with it here, and tick."""
    with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch:
        folder = Path(scratch)
        maker = multiprocessing.get_context("spawn").Process(target=make, args=(traffic, shards, committing, folder))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise RuntimeError(f"the state could not be made: exit code {maker.exitcode}")
        states, rounds = (pickle.loads((folder / name).read_bytes()) for name in ("states", "rounds"))  # noqa: S301 -- our own
    ticking = Ticking(traffic)
    ticking.seed(states)
    size = sum(map(len, states.values()))
    del states
    for changes in rounds:
        ticking.tick(changes)
    return {"state_bytes": size, **ticking.found()}


class Ticking:
    """The driver's part of the job: the driver state and the published snapshot."""

    def __init__(self, traffic: Traffic) -> None:
        self._ends = EndsIndex(ends_of(traffic))
        counts = dict.fromkeys(traffic.topic_names(), traffic.partitions_per_group)
        ids = dict.fromkeys(traffic.topic_names(), TOPIC_ID)
        retention = OffsetsRetention(7 * _DAY_MS, None, "broker")
        self._context = ClusterContext(retention, partition_counts=counts, topic_ids=ids)
        self._driver_state = DriverState()
        self._unassigned = UnassignedTracker()
        self._evaluator = VerdictEvaluator()
        self._now = time.time()
        self._steps: list[Step] = []
        self._resident: dict[str, int] = {}
        self._published: PublishedSnapshot | None = None
        self._details: TickDetails | None = None
        self._began = resident()

    def seed(self, states: dict[int, bytes]) -> None:
        """Seed the driver state, as after a restart."""

        def seed() -> None:
            for shard, packed in states.items():
                self._driver_state.seed(shard, unpack_state(packed))

        self._timed("seed", seed)
        self._record_resident("state")

    def tick(self, changes: list[tuple[int, bytes]]) -> None:
        """Apply a batch, and publish a snapshot."""
        self._publish(changes)
        self._timed("release memory", release_memory)
        self._record_resident("published")

    def _publish(self, changes: list[tuple[int, bytes]]) -> None:
        self._timed(
            "apply", lambda: [self._driver_state.apply(shard, unpack_change(change)) for shard, change in changes]
        )
        state = self._timed("columns", self._driver_state.columns)
        context = self._timed("context", lambda: self._context.for_groups(state, self._unassigned))
        self._now += _TICK_SECONDS
        evaluated = self._timed("evaluate", lambda: self._evaluate(state, context))
        made = self._timed("snapshot", lambda: build_evaluated(evaluated, context, self._now))
        self._published = self._timed("render", lambda: PublishedSnapshot.build(made))
        self._details = self._timed("pack", lambda: TickDetails.pack(evaluated))

    def _evaluate(self, state: GroupColumns, context: ClusterContext) -> EvaluatedTick:
        """Evaluate as a tick does, without lookups."""
        return self._evaluator.evaluate(nothing_hidden(state), self._ends, context, self._now)

    def found(self) -> dict[str, Any]:
        """Return every step, the resident memory of the driver, and the size of the exposition."""
        assert self._published is not None
        exposition = self._published.exposition
        parts = [piece for family in exposition.families for piece in family.texts(ExpositionFormat.TEXT)]
        return {
            "steps": [dataclasses.asdict(step) for step in self._steps],
            "resident": self._resident,
            "series": exposition.series,
            "plain_bytes": sum(piece.checksum.length for piece in parts),
            "gzip_bytes": sum(len(piece.deflated) for piece in parts),
            "digest": self.digest(),
        }

    def digest(self) -> str:
        """Return a digest of the published text, to compare runs of different versions."""
        assert self._published is not None
        text = hashlib.sha256()
        for part in self._published.exposition.plain(ExpositionFormat.TEXT):
            for each in (part,) if isinstance(part, bytes) else part:
                text.update(each)
        return text.hexdigest()[:16]

    def _timed(self, what: str, work: Callable[[], _Result]) -> _Result:
        began, used = time.perf_counter(), time.process_time()
        result = work()
        self._steps.append(Step(what, time.perf_counter() - began, time.process_time() - used))
        return result

    def _record_resident(self, what: str) -> None:
        gc.collect()
        self._resident[what] = resident() - self._began


def resident() -> int:
    """Return the resident bytes of this process."""
    return parse_stat(Path("/proc/self/stat").read_text()).resident_bytes


def _objects(items: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(items), object)
    column[:] = items
    return column


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, required=True)
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--shards", type=int, default=256)
    parser.add_argument("--committing", type=int, default=2000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    traffic = traffic_of(given.groups, given.partitions)
    given.out.write_text(json.dumps(measure(traffic, given.shards, min(given.committing, given.groups))))


if __name__ == "__main__":
    main()
