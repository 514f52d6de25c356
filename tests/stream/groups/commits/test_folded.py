"""The commits of one batch, folded: runs and tombstones per offsets partition, and what is malformed."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from decoders.columnar import decode_keys
from stream.groups.commits.folded import DecodedCommits, FoldedCommits, decode_commits, fold_commits
from stream.groups.commits.run_table import DistinctKeys
from stream.groups.commits.runs import NEVER
from stream.groups.record_columns import RecordColumns
from tests.support.commits import KEEP, SLOT_MS, Commit, expected, read_run
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

A, B = commit_key("g", "a", 0), commit_key("g", "b", 0)
A_OF_TYPE_0 = commit_key("g", "a", 0, record_type=0)
TRUNCATED = commit_value(1, 1)[:-1]

Raw = tuple[int, bytes, bytes | None]
"""Offsets partition, key, value."""


def decoded(log: list[Raw]) -> DecodedCommits:
    """Return the decoded commits of a log whose records have the position `row` and the timestamp `1000 + row`."""
    keys = pa.array([key for _, key, _ in log], pa.binary()).dictionary_encode()
    records = RecordColumns(
        np.array([partition for partition, _, _ in log], np.int32),
        np.arange(len(log)),
        1_000 + np.arange(len(log)),
        keys.cast(pa.binary()),
        pa.array([value for _, _, value in log], pa.binary()),
    )
    distinct = DistinctKeys.build(keys.dictionary, decode_keys(keys.dictionary))
    return decode_commits(records, distinct, keys.indices.to_numpy())


def folded(log: list[Raw]) -> dict[int, FoldedCommits]:
    parts = list(fold_commits(decoded(log), slot_ms=SLOT_MS, keep_slots=KEEP))
    assert len({part.partition for part in parts}) == len(parts)
    return {part.partition: part for part in parts}


def tombstones(part: FoldedCommits) -> list[dict[str, Any]]:
    """Return the tombstones as rows, with the topic instead of the key."""
    topics = decode_keys(part.tombstones.keys).topic.to_pylist()
    names = [field.name for field in dataclasses.fields(part.tombstones) if field.name != "keys"]
    columns = [getattr(part.tombstones, name).tolist() for name in names]
    rows = zip(topics, *columns, strict=True)
    return [dict(zip(["topic", *names], row, strict=True)) for row in rows]


def tombstone(position: int, first: int = NEVER, first_time: int = NEVER, last_time: int = NEVER) -> dict[str, Any]:
    """Return the row of the tombstone of `A` at a position; with commits before it, none has an expire timestamp."""
    return {
        "topic": "a",
        "position": position,
        "time": 1_000 + position,
        "first_position": first,
        "first_time": first_time,
        "last_time": last_time,
        "expire_time": NEVER,
    }


COMMIT = commit_value(5, 50)
TOMBSTONES: dict[str, tuple[list[Raw], list[dict[str, Any]]]] = {
    "no tombstone, no row": ([(0, A, COMMIT)], []),
    "no commit of this batch is before the tombstone": ([(0, A, None)], [tombstone(0)]),
    "first and last commit of the stretch": (
        [(0, A, COMMIT), (0, A, commit_value(6, 60, version=1)), (0, A, None)],
        [tombstone(2, 0, 50, 60) | {"expire_time": -1}],
    ),
    "the second of two tombstones ends nothing": (
        [(0, A, COMMIT), (0, A, None), (0, A, None)],
        [tombstone(1, 0, 50, 50), tombstone(2)],
    ),
    "commits of another key do not count": ([(0, B, COMMIT), (0, A, None)], [tombstone(1)]),
}


def test_each_tombstone_has_the_commits_before_it() -> None:
    """A tombstone has the first and the last commit of its key since the tombstone before it."""
    found = {story: tombstones(folded(log)[0]) for story, (log, _) in TOMBSTONES.items()}
    assert found == {story: rows for story, (_, rows) in TOMBSTONES.items()}


def test_a_batch_of_several_partitions_is_folded_by_partition() -> None:
    """The same key in two offsets partitions has two runs, and each tombstone is in the partition of its record."""
    parts = folded(
        [(7, A, commit_value(1, 10)), (7, B, None), (9, A, commit_value(2, 20)), (9, A, commit_value(3, 30))]
    )
    assert {partition: part.runs.spans.commits.tolist() for partition, part in parts.items()} == {7: [1, 0], 9: [2]}
    assert {partition: len(part.tombstones) for partition, part in parts.items()} == {7: 1, 9: 0}


def test_both_types_of_commit_keys_are_one_run() -> None:
    """A broker loads keys of type 0 and 1 into the same entry."""
    (part,) = folded([(0, A_OF_TYPE_0, commit_value(1, 10, version=0)), (0, A, commit_value(2, 20))]).values()
    assert (part.runs.keys.to_pylist(), part.runs.spans.commits.tolist()) == ([A], [2])


def test_a_malformed_value_is_a_fault_and_in_no_run() -> None:
    """The sample names partition and position of the record; the other commits of the key are folded."""
    log: list[Raw] = [(3, A, commit_value(1, 10)), (3, A, TRUNCATED), (3, A, commit_value(2, 20))]
    (fault,) = decoded(log).faults
    assert (fault.offsets_partition, fault.position, fault.value) == (3, 1, TRUNCATED.hex())
    assert folded(log)[3].runs.spans.commits.tolist() == [2]


VALUES = st.none() | st.tuples(st.integers(0, 5), st.integers(0, 50), st.integers(0, 4))
"""None: a tombstone. Otherwise offset, commit timestamp and version of the value."""
RECORDS = st.tuples(st.integers(0, 2), st.sampled_from([A, B, A_OF_TYPE_0]), VALUES)


@examples(100)
@given(st.lists(RECORDS, min_size=1, max_size=25))
def test_runs_equal_the_histories_of_their_keys(records: list[tuple[int, bytes, tuple[int, int, int] | None]]) -> None:
    """Each run has the numbers of a record-by-record evaluation, and each tombstone has one row."""
    log: list[Raw] = []
    histories: dict[tuple[int, str], list[Commit]] = {}
    for row, (partition, key, value) in enumerate(records):
        offset, time, version = value or (None, 1_000 + row, None)
        log.append((partition, key, value and commit_value(offset, time, version=version)))
        histories.setdefault((partition, "b" if key == B else "a"), []).append(Commit(row, offset, time))
    parts = folded(log)
    runs = {
        (partition, topic): read_run(part.runs, row)
        for partition, part in parts.items()
        for row, topic in enumerate(decode_keys(part.runs.keys).topic.to_pylist())
    }
    assert runs == {place: expected(history) for place, history in histories.items()}
    of_log = sorted((partition, row) for row, (partition, _, value) in enumerate(log) if value is None)
    assert of_log == sorted(
        (partition, position) for partition, part in parts.items() for position in part.tombstones.position.tolist()
    )


def test_details_of_commits_that_only_the_slow_decoder_reads() -> None:
    """The metadata and leader epoch of a commit with a tag that Kafka does not know yet are read."""
    value = commit_value(7, 9, version=4, metadata="note", leader_epoch=3)[:-1] + b"\x01\x09\x01\x00"
    commits = decoded([(0, A, value)])
    details = commits.details(np.array([0]))
    assert commits.by_scalar
    assert (details["metadata"].to_pylist(), details["leader_epoch"].tolist()) == ([b"note"], [3])
