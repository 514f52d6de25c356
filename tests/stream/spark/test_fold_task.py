"""The fold of a task without Spark: Arrow batches in; packed deltas, decode statistics and progress reports out."""

from __future__ import annotations

import functools
import itertools
import json
import socket
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import unpack_delta
from stream.groups.decode_stats import DecodeStats
from stream.groups.placement import Placement
from stream.groups.reduce import reduce
from stream.groups.shard import empty_state
from stream.spark import fold_task, task_progress
from stream.spark.fold_task import FoldTask
from tests.support.commits import KEEP, SLOT_MS, read_run
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

if TYPE_CHECKING:
    from stream.groups.shard import ShardDelta


def batch_of(records: list[tuple[int, int, bytes | None, bytes | None]]) -> pa.RecordBatch:
    """Return records (partition, offset, key, value) as Spark passes them to a worker."""
    partition, offset, key, value = zip(*records, strict=True) if records else ((), (), (), ())
    return pa.record_batch(
        {
            "partition": pa.array(partition, pa.int32()),
            "offset": pa.array(offset, pa.int64()),
            "timestamp": pa.array([1_000_000] * len(records), pa.timestamp("us", tz="UTC")),
            "key": pa.array(key, pa.binary()),
            "value": pa.array(value, pa.binary()),
        }
    )


RECORDS = [(0, at, commit_key("g", "t", at % 3), commit_value(at, at)) for at in range(40)]


@functools.cache
def whole() -> ShardDelta:
    """Return the delta of all records in one batch."""
    (out,) = FoldTask(Placement(1, 1), SLOT_MS, KEEP, None)(iter([batch_of(RECORDS)]))
    return unpack_delta(out.column("delta")[0].as_py())


@examples(60)
@given(cuts=st.lists(st.integers(0, 40), max_size=5), rows=st.sampled_from([1, 7, 65_536]))
def test_the_sizes_of_batches_do_not_matter(cuts: list[int], rows: int) -> None:
    """However Spark cuts a task's records, one delta per shard comes out, and the same one."""
    borders = [0, *sorted(cuts), len(RECORDS)]
    batches = [batch_of(RECORDS[a:b]) for a, b in itertools.pairwise(borders)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_task, "_FOLD_ROWS", rows)
        (out,) = FoldTask(Placement(1, 1), SLOT_MS, KEEP, None)(iter(batches))
    delta = unpack_delta(out.column("delta")[0].as_py())
    assert [read_run(delta.runs, row) for row in range(3)] == [read_run(whole().runs, row) for row in range(3)]
    assert DecodeStats.from_json(out.column("tally")[0].as_py()).records == {1: 40}


def test_a_task_without_records_gives_nothing() -> None:
    """An empty share of the topic makes no delta and no tally."""
    assert list(FoldTask(Placement(1, 1), SLOT_MS, KEEP, None)(iter([batch_of([])]))) == []
    assert list(FoldTask(Placement(1, 1), SLOT_MS, KEEP, None)(iter([]))) == []


def test_the_tally_stands_once() -> None:
    """A task that touches many shards counts its records once, beside the first delta."""
    records = [(n, 5, commit_key("g", "t", 0), commit_value(1, 1)) for n in range(4)]
    outs = list(FoldTask(Placement(4, 1), SLOT_MS, KEEP, None)(iter([batch_of(records)])))
    assert [out.column("shard")[0].as_py() for out in outs] == [0, 1, 2, 3]
    assert [out.column("tally")[0].is_valid for out in outs] == [True, False, False, False]
    state, _ = reduce(empty_state(), [unpack_delta(outs[0].column("delta")[0].as_py())], KEEP)
    assert state.position == 5


def test_records_of_no_group_are_counted_too() -> None:
    """A task that met nothing but garbage touches no shard's state, and its tally arrives all the same."""
    garbage = batch_of([(1, 7, b"\xff\xff", b"x"), (1, 8, b"", None)])
    (out,) = FoldTask(Placement(4, 16), SLOT_MS, KEEP, None)(iter([garbage]))
    tally = DecodeStats.from_json(out.column("tally")[0].as_py())
    assert (tally.records, tally.faults.total()) == ({None: 2}, 2)
    state, change = reduce(empty_state(), [unpack_delta(out.column("delta")[0].as_py())], KEEP)
    assert (state.position, len(change.runs), len(change.records)) == (empty_state().position, 0, 0)


def test_a_task_reports_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an address the task reports the next position of each partition that it reads."""
    monkeypatch.setattr(task_progress, "SEND_INTERVAL", 0.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        fold = FoldTask(Placement(2, 1), SLOT_MS, KEEP, receiver.getsockname())
        list(fold(iter([batch_of([*RECORDS, (1, 9, None, None)])])))
        assert json.loads(receiver.recv(1000)) == {"0": 40, "1": 10}
