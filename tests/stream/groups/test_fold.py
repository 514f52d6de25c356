"""The fold: any records, in any batches, give the results of the scalar interpreter, evaluated record by record."""

import collections
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import scalar
from decoders.columnar import decode_keys
from decoders.errors import DecodeError
from decoders.events import OffsetCommitted
from decoders.interpret import event_of
from stream.groups.codec import pack
from stream.groups.commits.run_table import Runs
from stream.groups.decode_stats import DecodeFault, DecodeStats
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from tests.support.commits import KEEP, SLOT_MS, Commit, expected, read_run
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value, group_key, group_value

Raw = tuple[int, bytes | None, bytes | None]
"""Offsets partition, key, value."""

NAMES = ["g", "groupé", "😀"]
KEYS = st.one_of(
    st.builds(commit_key, st.sampled_from(NAMES), st.sampled_from(["t", "ü"]), st.integers(0, 1)),
    st.builds(commit_key, st.sampled_from(NAMES), st.just("t"), st.just(0), record_type=st.just(0)),
    st.builds(group_key, st.sampled_from(NAMES)),
)
VALUES = st.one_of(
    st.none(),
    st.builds(commit_value, st.integers(0, 5), st.integers(0, 50), version=st.integers(0, 5)),
    st.builds(commit_value, st.integers(0, 5), st.integers(0, 50), version=st.just(4), topic_id=st.just(b"i" * 16)),
    st.builds(commit_value, st.integers(0, 5), st.integers(0, 50), version=st.just(4), metadata=st.just("m" * 200)),
    st.builds(group_value, st.integers(0, 3), st.lists(st.sampled_from(["m1", "m2"]), unique=True)),
)
BAD_UTF8 = b"\x00\x01\x00\x01\xff\x00\x01t\x00\x00\x00\x00"
TRUNCATED, UNKNOWN_TYPES = b"\x00\x01\x00\x01g\x00\x01", (b"\x00\x18whatever", b"\x00\x09\x00\x01g")
ODD = st.sampled_from([None, b"", b"\x00", TRUNCATED, *UNKNOWN_TYPES, BAD_UTF8, commit_key("g", "t", 0) + b"tail"])
LOGS = st.lists(st.tuples(st.integers(0, 1), st.one_of(KEYS, KEYS, ODD), VALUES | st.binary(max_size=12)), max_size=40)


def test_a_key_with_a_negative_partition_is_rejected_and_counted() -> None:
    """Neither a commit nor a tombstone of a negative partition reaches the delta; both are counted by reason."""
    log: list[Raw] = [
        (0, commit_key("g", "t", -255), commit_value(1, 1)),
        (0, commit_key("g", "t", -1, record_type=0), None),
        (0, commit_key("g", "t", 0), commit_value(1, 1)),
    ]
    fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
    fold.add(batch_of(log, 0))
    ((_, delta),) = fold.drain()
    assert decode_keys(delta.runs.keys).partition.tolist() == [0]
    assert fold.stats.faults == {DecodeFault(1, None, "out_of_range"): 1, DecodeFault(0, None, "out_of_range"): 1}


def batch_of(log: list[Raw], first: int) -> RecordColumns:
    return RecordColumns(
        np.array([partition for partition, _, _ in log], np.int32),
        np.arange(first, first + len(log)),
        np.arange(first, first + len(log)) * 7,
        pa.array([key for _, key, _ in log], pa.binary()),
        pa.array([value for _, _, value in log], pa.binary()),
    )


def fold_of(log: list[Raw], cuts: list[int], placement: Placement) -> Fold:
    """Return the fold of the log in these batches."""
    fold = Fold(placement, slot_ms=SLOT_MS, keep_slots=KEEP)
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    for begin, end in itertools.pairwise(borders):
        fold.add(batch_of(log[begin:end], begin))
    return fold


def folded(log: list[Raw], cuts: list[int], placement: Placement) -> tuple[dict[Any, Any], DecodeStats]:
    """Fold the log in these batches and return the runs by (offsets partition, group, topic, partition)."""
    fold = fold_of(log, cuts, placement)
    seen: dict[Any, Any] = {}
    for shard, delta in fold.drain():
        partition = shard // placement.sub_shards
        for names, run in named(delta.runs):
            assert placement.shard(partition, names[0]) == shard
            seen[(partition, *names)] = run
        for key, value in zip(delta.records.keys.to_pylist(), delta.records.values.to_pylist(), strict=True):
            seen.setdefault((partition, "records"), []).append((key, value))
    for kept in seen.values():
        if isinstance(kept, list):
            kept.sort(key=repr)
    return seen, fold.stats


def named(runs: Runs) -> list[tuple[tuple[str, str, int], dict[str, Any]]]:
    """Return each run with the names in its key."""
    read = decode_keys(runs.keys)
    names = zip(read.group.to_pylist(), read.topic.to_pylist(), read.partition.tolist(), strict=True)
    return [(name, read_run(runs, row)) for row, name in enumerate(names)]


def walked(log: list[Raw]) -> tuple[dict[Any, Any], DecodeStats]:
    """Return the expected result, computed record by record with the scalar interpreter."""
    histories: dict[Any, list[Commit]] = collections.defaultdict(list)
    records: dict[Any, Any] = {}
    tally = DecodeStats()
    for position, (partition, key, value) in enumerate(log):
        tally.records[int.from_bytes(key[:2], "big", signed=True) if key and len(key) > 1 else None] += 1
        read = scalar.decode(key, value)
        if isinstance(read, DecodeError):
            tally.faults[DecodeFault(read.type, read.version, read.reason.value)] += 1
            continue
        if read.type.number >= 2:
            records.setdefault((partition, "records"), []).append((key, value))
        else:
            event = event_of(read)
            commit = Commit(position, None, 7 * position)
            if isinstance(event, OffsetCommitted):
                commit = Commit(position, event.offset, event.commit_timestamp)
            histories[partition, *read.key.values()].append(commit)
    for kept in records.values():
        kept.sort(key=repr)
    return records | {place: expected(history) for place, history in histories.items()}, tally


@examples(120)
@given(log=LOGS, cuts=st.lists(st.integers(0, 40), max_size=4), sub_shards=st.sampled_from([1, 3]))
def test_the_fold_equals_a_record_by_record_evaluation(log: list[Raw], cuts: list[int], sub_shards: int) -> None:
    """Runs, records, counts and faults are equal for mixed kinds, versions and garbage."""
    seen, tally = folded(log, cuts, Placement(2, sub_shards))
    wanted, counts = walked(log)
    assert seen == wanted
    assert (tally.records, tally.faults) == (counts.records, counts.faults)


@examples(60)
@given(log=st.lists(st.tuples(st.just(0), KEYS, VALUES), max_size=3), later=st.lists(VALUES, max_size=12))
def test_runs_that_are_joined_early_give_the_same_deltas(log: list[Raw], later: list[bytes | None]) -> None:
    """Also the tombstones: a run that is joined has no trace of the commits before a tombstone."""
    log = log + [(0, commit_key("g", "t", 0), value) for value in later]
    cuts = list(range(len(log)))

    def deltas(most: int) -> list[tuple[int, bytes]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("stream.groups.fold.MAX_UNJOINED_RUNS", most)
            return [(shard, pack(delta)) for shard, delta in fold_of(log, cuts, Placement(2, 1)).drain()]

    assert deltas(0) == deltas(10_000)


def test_the_details_are_those_of_the_last_commit() -> None:
    """Leader epoch, metadata and topic id are decoded by the columnar or else by the scalar interpreter."""
    key = commit_key("g", "t", 0)
    for last in (
        commit_value(9, 1, version=4, metadata="now", leader_epoch=7, topic_id=b"x" * 16),
        commit_value(9, 1, version=4, metadata="m" * 300, leader_epoch=7, topic_id=b"x" * 16),
    ):
        fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
        fold.add(batch_of([(0, key, commit_value(1, 1, version=4, metadata="old")), (0, key, last)], 0))
        ((_, delta),) = fold.drain()
        read = scalar.decode(key, last)
        assert not isinstance(read, DecodeError)
        assert delta.runs.metadata[0].as_py().decode() == read.value["metadata"]
        assert delta.runs.topic_id[0].as_py() == b"x" * 16
        assert delta.runs.leader_epoch.tolist() == [7]
        assert delta.runs.expire_time.tolist() == [-1]


def test_a_name_that_grows_when_repaired_is_truncated() -> None:
    """The longest name of invalid bytes still gives a readable key."""
    key = b"\x00\x01\x7f\xff" + b"\xff" * 32767 + b"\x00\x01t\x00\x00\x00\x00"
    fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
    fold.add(batch_of([(0, key, commit_value(1, 1))], 0))
    ((_, delta),) = fold.drain()
    (((group, topic, _), _),) = named(delta.runs)
    assert (set(group), topic) == ({"\N{REPLACEMENT CHARACTER}"}, "t")


def test_decode_stats_round_trip_through_json() -> None:
    """Counts and samples are equal after the round trip, and can be added."""
    for count in (0, 1, 5):
        fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
        fold.add(batch_of([(0, b"\x00\x01junk", None), (0, None, b"v"), (0, group_key("g"), None)] * count, 0))
        back = DecodeStats.from_json(fold.stats.to_json())
        assert back == fold.stats
        total = DecodeStats()
        total.add(back)
        total.add(back)
        assert total.records == collections.Counter({1: 2 * count, None: 2 * count, 2: 2 * count})
        assert bool(total) is (count > 0)
