"""The overlay: each hidden commit is in its own row, and all other rows are unchanged."""

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.run_table import Runs
from stream.groups.commits.runs import columns_of
from stream.groups.driver_state import GroupColumns
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.overlay import Overlay
from tests.support.commits import KEEP
from tests.support.driver_states import ShardReader, delta_of, ends_of
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value

Key = tuple[str, str, int]
KEYS = st.tuples(st.sampled_from("abc"), st.sampled_from("tuv"), st.integers(0, 2))


def hidden_runs(offsets: dict[Key, int]) -> Runs:
    records = [
        (5_000, commit_key(*key), commit_value(offset, 5_000, leader_epoch=3)) for key, offset in offsets.items()
    ]
    return delta_of(records, 1_000).runs


def ends(keys: Iterable[Key]) -> EndsIndex:
    return EndsIndex(ends_of([(topic, partition, 99, 99, 0, None) for topic, partition in {key[1:] for key in keys}]))


def offsets_of(state: GroupColumns) -> dict[Key, int]:
    rows = zip(state.group.to_pylist(), state.topic.to_pylist(), state.partition.tolist(), strict=True)
    return dict(zip(rows, state.runs.spans.last_offset.tolist(), strict=True))


@examples(30)
@given(st.dictionaries(KEYS, st.integers(0, 9), min_size=1), st.dictionaries(KEYS, st.integers(10, 19), min_size=1))
def test_each_commit_is_in_its_own_row(log: dict[Key, int], more: dict[Key, int]) -> None:
    """The rows may have any order; names, ranks and keys of the rows agree, and slots stay with their rows."""
    shard = ShardReader()
    shard.read([(commit_key(*key), commit_value(offset, 1_000)) for key, offset in log.items()], time=1_000)
    state = shard.driver_state.columns()
    before = [column.copy() for column in columns_of(state.runs.spans)]
    overlaid, flags = Overlay(KEEP).add(state, hidden_runs(more), ends(more))

    assert offsets_of(overlaid) == log | more
    assert {key for key, flag in zip(offsets_of(overlaid), flags.tolist(), strict=True) if flag} == set(more)
    assert overlaid.runs.keys.to_pylist() == [commit_key(*key) for key in offsets_of(overlaid)]
    assert overlaid.runs.leader_epoch.tolist() == [3 if key in more else -1 for key in offsets_of(overlaid)]
    ranked = [
        (overlaid.row_order.groups[group], overlaid.row_order.topics[topic], partition)
        for group, topic, partition in zip(
            *(
                column.tolist()
                for column in (overlaid.row_order.group, overlaid.row_order.topic, overlaid.row_order.partition)
            ),
            strict=True,
        )
    ]
    assert ranked == sorted(log | more)
    newest = dict(zip(overlaid.runs.slots.row.tolist(), overlaid.runs.slots.offset.tolist(), strict=True))
    assert [newest[row] for row in range(len(overlaid.runs))] == overlaid.runs.spans.last_offset.tolist()
    assert (np.diff(overlaid.runs.slots.row) >= 0).all()
    for column, kept in zip(columns_of(state.runs.spans), before, strict=True):
        assert np.array_equal(column, kept), "the given driver state is not changed"


def test_a_run_that_the_job_has_read_in_part_is_added_to_the_earlier_row() -> None:
    """Each commit of the run is counted once; without the earlier row, the row of the log is shown."""
    key = ("a", "t", 0)
    records = [(offset, commit_key(*key), commit_value(offset, offset)) for offset in (1, 2, 3)]
    shard, overlay = ShardReader(), Overlay(KEEP)

    def add() -> tuple[int, int, bool]:
        state, is_hidden = overlay.add(shard.driver_state.columns(), delta_of(records[1:], 1).runs, ends([key]))
        spans = state.runs.spans
        return int(spans.last_offset[0]), int(spans.commits[0]), bool(is_hidden[0])

    shard.apply(delta_of(records[:1], 0))
    assert add() == (3, 3, True)
    shard.apply(delta_of(records[1:2], 1))
    assert [add(), add()] == [(3, 3, True)] * 2
    overlay.clear()
    assert add() == (2, 2, False)
    shard.apply(delta_of(records[2:], 2))
    assert add() == (3, 3, False)
