"""The counts of commits per group: each commit that was read after the catch-up counts once."""

import collections

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.counts import CommitCounts
from stream.groups.driver_state import DriverState
from tests.support.driver_states import Raw, ShardReader, delta_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

RECORDS: st.SearchStrategy[Raw] = st.tuples(
    st.builds(commit_key, st.sampled_from("abc"), st.just("t"), st.integers(0, 2)),
    st.one_of(st.none(), st.builds(commit_value, st.integers(0, 9), st.integers(0, 60))),
)


def reader() -> ShardReader:
    made = ShardReader()
    made.driver_state = DriverState(CommitCounts())
    return made


def counts(driver_state: DriverState) -> dict[str, int]:
    """Return the counts of the groups that exist."""
    return dict(driver_state.columns().commit_counts)


def commits(group: str, *offsets: int) -> list[Raw]:
    return [(commit_key(group, "t", 0), commit_value(offset, 1)) for offset in offsets]


@examples(60)
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=8), max_size=6))
def test_each_commit_counts_once(batches: list[list[Raw]]) -> None:
    """The count of a group leaves out commits that a tombstone of the same batch follows."""
    shard, expected = reader(), collections.Counter[str]()
    keys = {commit_key(group, "t", n): group for group in "abc" for n in range(3)}
    for batch in batches:
        # One commit of each group for another topic, so that no group ends.
        shard.read([*batch, *((commit_key(group, "alive", 0), commit_value(1, 1)) for group in "abc")])
        in_batch = collections.Counter[bytes]()
        for key, value in batch:
            assert key is not None
            in_batch[key] = 0 if value is None else in_batch[key] + 1
        for key, number in in_batch.items():
            expected[keys[key]] += number
        expected.update("abc")
    assert {name: number for name, number in counts(shard.driver_state).items() if number} == +expected


def test_records_of_the_catch_up_are_not_counted() -> None:
    """The stored state and records read during the catch-up are not counted. Known groups begin at 0."""
    shard = reader()
    shard.read(commits("g", 1, 2, 3))
    restarted = DriverState(CommitCounts())
    restarted.seed(0, shard.state)
    shard.read([*commits("g", 4, 5), *commits("new", 1)])
    restarted.apply(0, shard.change, catching_up=True)
    assert counts(restarted) == {"g": 0, "new": 0}
    shard.read([*commits("g", 6, 7), *commits("new", 2)])
    restarted.apply(0, shard.change)
    assert counts(restarted) == {"g": 2, "new": 1}


def test_a_change_that_is_applied_again_counts_once() -> None:
    """A batch that Spark delivers again, or an earlier batch, does not change the count."""
    shard = reader()
    changes = [shard.read(commits("g", 1, 2)), shard.read(commits("g", 3))]
    for change in reversed(changes):
        shard.driver_state.apply(0, change)
    assert counts(shard.driver_state) == {"g": 3}


def test_a_run_that_was_partly_seen_does_not_count() -> None:
    """A run that overlaps the state adds no commits, because the number of new ones is unknown. Later commits count."""
    shard = reader()
    shard.read([*commits("other", 1), *commits("g", 1, 2)])
    shard.apply(delta_of([(0, *record) for record in commits("g", 2, 3, 4)], 2))
    assert counts(shard.driver_state) == {"g": 2, "other": 1}
    shard.read(commits("g", 5))
    assert counts(shard.driver_state) == {"g": 3, "other": 1}


def test_the_count_of_a_removed_group_is_dropped() -> None:
    """The count of a group that is not requested is dropped. A group that returns begins at 0."""
    known = CommitCounts()
    known.add(pa.array(["a", "b"]).dictionary_encode(), np.array([1, 2]))
    assert known.of_groups(["b", "c"]) == {"b": 2, "c": 0}
    assert known.of_groups(["a", "b"]) == {"a": 0, "b": 2}
