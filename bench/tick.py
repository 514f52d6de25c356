"""`python -m bench.tick`: the cost of each step of a tick of many groups, and the driver's memory, as a table.

Every group has its membership record and a commit for each of its partitions. The job's own fold and reduce build the
state, without Spark, in another process; the driver state is seeded with it as at a restart. Then more groups commit
before each tick.
"""

import argparse
import dataclasses
import gc
import hashlib
import itertools
import json
import multiprocessing
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from bench import report
from bench.encoding import TOPIC_ID
from bench.job import SLOT_SECONDS, Job, commit_round, initial_records
from bench.processes import parse_stat
from bench.traffic import Traffic
from exporters.selection.series import SeriesSelector
from exporters.text.exposition import ExpositionFormat, PublishedSnapshot
from stream.cluster.partition_offsets import ENDS
from stream.groups.codec import pack, unpack_change, unpack_state
from stream.groups.driver_state import DriverState
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.predict import predict
from stream.groups.membership.unassigned import UnassignedTracker
from stream.process_memory import release_memory
from stream.tick.context import ClusterContext, DerivedState, TickFacts, count_unassigned
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import nothing_hidden
from stream.tick.snapshot.build import build_evaluated
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.evaluated_tick import TickDetails

_Result = TypeVar("_Result")
TICKS: Final = 3
_TICK_SECONDS: Final = 10
_DAY_MS: Final = 86_400_000


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step of a tick. CPU is that of all threads of the process, because the machine may be busy."""

    what: str
    seconds: float
    cpu: float


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


def make(traffic: Traffic, shards: int, committing: int, slots: int, folder: Path) -> None:
    """Write the state after commits in this many slots, and the changes of `TICKS` more batches, to a folder."""
    job = Job(traffic, shards)
    later = (commit_round(traffic, traffic.groups, number * SLOT_SECONDS) for number in range(1, slots))
    for chunk in itertools.chain(initial_records(traffic), later):
        for _ in job.read(chunk):
            pass
    (folder / "states").write_bytes(pickle.dumps(job.states))
    rounds = [
        [(shard, pack(change)) for shard, change in job.read(commit_round(traffic, committing, number + 1))]
        for number in range(slots * SLOT_SECONDS, slots * SLOT_SECONDS + TICKS)
    ]
    (folder / "rounds").write_bytes(pickle.dumps(rounds))


def measure(traffic: Traffic, shards: int, committing: int, slots: int) -> dict[str, Any]:
    """Build the state in another process, then seed a driver state with it here, and tick."""
    with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch:
        folder = Path(scratch)
        given = traffic, shards, committing, slots, folder
        maker = multiprocessing.get_context("spawn").Process(target=make, args=given)
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

    def __init__(self, traffic: Traffic, selector: SeriesSelector | None = None) -> None:
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
        self._selector = selector
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

    def tick(self, changes: list[tuple[int, bytes]]) -> PublishedSnapshot:
        """Apply a batch, and publish a snapshot, which is returned."""
        published = self._publish(changes)
        self._timed("release memory", release_memory)
        self._record_resident("published")
        return published

    def _publish(self, changes: list[tuple[int, bytes]]) -> PublishedSnapshot:
        self._timed(
            "apply", lambda: [self._driver_state.apply(shard, unpack_change(change)) for shard, change in changes]
        )
        state = self._timed("columns", self._driver_state.columns)
        self._now += _TICK_SECONDS
        derived = self._timed("context", lambda: self._derive(TickFacts(state, self._ends, self._now, self._context)))
        evaluated = self._timed("evaluate", lambda: self._evaluator.evaluate(derived))
        made = self._timed("snapshot", lambda: build_evaluated(evaluated))
        previous = None if self._published is None else self._published.exposition
        published = self._timed("render", lambda: PublishedSnapshot.build(made, self._selector, previous))
        self._published, self._details = published, evaluated.details
        self._timed("pack", self._details.pack)
        return published

    def _derive(self, facts: TickFacts) -> DerivedState:
        """Return the derived state as a tick does, without lookups."""
        unassigned = count_unassigned(self._unassigned, facts.state, facts.cluster)
        expiry = predict(facts.state, facts.cluster.retention)
        return DerivedState(facts, nothing_hidden(facts.state), expiry, unassigned)

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


def steps_table(found: dict[str, Any]) -> str:
    """Return the table of the steps: the first tick, and the median of the later ones."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for step in found["steps"]:
        by_name.setdefault(step["what"], []).append(step)
    cells = [
        (
            what,
            f"{statistics.median(step['cpu'] for step in steps[1:] or steps):.2f}",
            f"{statistics.median(step['seconds'] for step in steps[1:] or steps):.2f}",
            f"{steps[0]['cpu']:.2f}",
        )
        for what, steps in by_name.items()
    ]
    return report.table(("in one process", "CPU s", "seconds", "CPU s at first"), cells)


def sizes_table(found: dict[str, Any], keys: int) -> str:
    """Return the table of sizes in MB, and per group partition."""
    rows = [
        ("state, packed", found["state_bytes"]),
        ("/metrics, identity", found["plain_bytes"]),
        ("/metrics, gzip", found["gzip_bytes"]),
        *((f"resident, {what}", size) for what, size in found["resident"].items()),
    ]
    cells = [(what, f"{size / 2**20:,.1f}", f"{size / keys:,.0f}") for what, size in rows]
    return report.table(("sizes", "MB", "bytes per partition"), cells)


def main() -> None:
    """Measure, print the tables, and write the figures as JSON if asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.tick", description=__doc__)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=20, help="partitions with a commit per group")
    parser.add_argument("--shards", type=int, default=256)
    parser.add_argument("--committing", type=int, default=2000, help="groups that commit before each tick")
    parser.add_argument("--slots", type=int, default=10, help="slots with commits per partition; 10 are a full window")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON to this file")
    given = parser.parse_args()
    each = given.partitions
    traffic = Traffic(records=given.groups * (each + 1), groups=given.groups, partitions_per_group=each)
    found = measure(traffic, given.shards, min(given.committing, given.groups), given.slots)
    if given.out:
        given.out.write_text(json.dumps(found))
    print(f"{report.machine()}; {traffic.groups:,} groups of {each} partitions; {found['series']:,} series\n")
    print(f"{steps_table(found)}\n\n{sizes_table(found, traffic.keys)}")


if __name__ == "__main__":
    main()
