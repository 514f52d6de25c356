"""CommitRuns: the columns equal a record-by-record evaluation, for any split of the records into batches."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.run_table import join_runs
from tests.support.commits import KEEP, Commit, expected, histories, read_run, run_of

STORIES = {
    "one commit": [Commit(1, 10, 100)],
    "offsets rise": [Commit(1, 10, 100), Commit(2, 11, 110), Commit(3, 15, 120)],
    "the same offset repeated: progress is at its first commit": [
        Commit(1, 10, 100),
        Commit(2, 11, 110),
        Commit(3, 11, 120),
        Commit(4, 11, 130),
    ],
    "return to an earlier offset: progress of its own": [Commit(1, 5, 1), Commit(2, 6, 2), Commit(3, 5, 3)],
    "two rewinds: the last one is kept": [Commit(1, 9, 1), Commit(2, 4, 2), Commit(3, 7, 3), Commit(4, 6, 4)],
    "deleted and committed again: the run starts again": [Commit(1, 9, 1), Commit(2, None, 2), Commit(3, 4, 3)],
    "deleted at the end": [Commit(1, 9, 1), Commit(2, None, 2)],
    "deleted twice": [Commit(1, None, 1), Commit(2, None, 2)],
    "more slots than are kept": [Commit(n, n, 10 * n) for n in range(1, 8)],
    "decreasing commit times": [Commit(1, 1, 60), Commit(2, 2, 40), Commit(3, 3, 61), Commit(4, 4, 5)],
}


def test_a_run_equals_a_commit_by_commit_evaluation() -> None:
    """Each example folds to the numbers that are computed commit by commit."""
    found = {story: read_run(run_of(b"k", history)) for story, history in STORIES.items()}
    assert found == {story: expected(history) for story, history in STORIES.items()}


@given(history=histories().filter(bool), cuts=st.lists(st.integers(0, 30), max_size=5))
def test_the_summary_of_a_whole_is_the_merge_of_any_split(history: list[Commit], cuts: list[int]) -> None:
    """The joined run is the same for all batch borders, and equals the commit-by-commit evaluation."""
    borders = [0, *sorted(min(cut, len(history)) for cut in cuts), len(history)]
    pieces = [history[a:b] for a, b in itertools.pairwise(borders) if a < b]
    joined = join_runs([run_of(b"k", piece) for piece in pieces], KEEP)
    assert read_run(joined) == expected(history)
    assert joined.metadata[0].as_py() == str(history[-1].position).encode(), "details are those of the last record"


@given(histories(most=8).filter(bool), histories(most=8).filter(bool), histories(most=8).filter(bool))
def test_merge_is_associative(a: list[Commit], b: list[Commit], c: list[Commit]) -> None:
    """The merge satisfies (a b) c = a (b c), also with tombstones at the borders."""
    shift = [a, [Commit(x.position + 100, x.offset, x.time) for x in b]]
    shift.append([Commit(x.position + 200, x.offset, x.time) for x in c])
    first, second, third = (run_of(b"k", part) for part in shift)
    left = join_runs([join_runs([first, second], KEEP), third], KEEP)
    right = join_runs([first, join_runs([second, third], KEEP)], KEEP)
    assert read_run(left) == read_run(right)


@given(st.dictionaries(st.sampled_from([b"a", b"b", b"c", b"d"]), histories(most=10).filter(bool), min_size=1))
def test_keys_are_independent(world: dict[bytes, list[Commit]]) -> None:
    """Each run in a table of many keys folds as it does alone."""
    pieces = [run_of(key, [commit]) for key, history in world.items() for commit in history]
    joined = join_runs(pieces, KEEP)
    assert {key: read_run(joined, row) for row, key in enumerate(joined.keys.to_pylist())} == {
        key: expected(history) for key, history in world.items()
    }
