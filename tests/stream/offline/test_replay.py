"""Replay: the state that the job reaches, for every split into batches and for compacted logs."""

from collections.abc import Iterable
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import pack, unpack_state
from stream.groups.driver_state import DriverState
from stream.groups.shard import ShardState
from stream.offline.capture import CaptureFile
from stream.offline.replay import Replay
from stream.offline.rows import LogRow
from tests.stream.offline.captures import RECORDED, commit, generation
from tests.support.group_histories import histories_in, line
from tests.support.hypothesis_profiles import examples
from tests.support.replayed_groups import ReplayedGroup, current_state, replayed_groups

GROUPS = ("a", "b")


def replayed(rows: Iterable[LogRow], rows_per_batch: int = 1000) -> dict[str, ReplayedGroup]:
    replay = Replay()
    replay.read(rows, rows_per_batch)
    return replayed_groups(replay)


def compacted(rows: Iterable[LogRow], keep_tombstones: bool) -> list[LogRow]:  # noqa: FBT001 -- drawn by hypothesis
    """Return the last row of each key, as the log cleaner keeps them; it also removes old tombstones."""
    last = {(each.place, each.key): each for each in rows}
    kept = [each for each in last.values() if keep_tombstones or each.value is not None]
    return sorted(kept, key=lambda each: (each.place, each.offset))


@st.composite
def histories(draw: st.DrawFn) -> list[LogRow]:
    rows: list[LogRow] = []
    for at in range(draw(st.integers(0, 40))):
        group = draw(st.sampled_from(GROUPS))
        place = GROUPS.index(group)
        if draw(st.booleans()):
            offset = draw(st.none() | st.integers(0, 50))
            rows.append(commit(at, offset, group=group, number=draw(st.integers(0, 1)), partition=place))
        else:
            members = draw(st.lists(st.sampled_from(["m1", "m2"]), unique=True))
            rows.append(generation(at, at, members, group=group, partition=place))
    return rows


@examples(30)
@given(histories(), st.booleans())
def test_compacted_log_leads_to_the_same_state(rows: list[LogRow], keep_tombstones: bool) -> None:  # noqa: FBT001
    """Last commits and memberships of the full and the compacted log are equal."""
    assert current_state(replayed(compacted(rows, keep_tombstones))) == current_state(replayed(rows))


@examples(20)
@given(histories(), st.integers(1, 10))
def test_batch_size_does_not_matter(rows: list[LogRow], rows_per_batch: int) -> None:
    """Every number is the same for every split of the rows into batches."""
    assert replayed(rows, rows_per_batch) == replayed(rows)


def test_recorded_traffic_leads_to_the_recorded_groups() -> None:
    """Groups of every kind are read; commits of aborted transactions do not count; the deleted group is dead."""
    replay = Replay()
    replay.read(CaptureFile(RECORDED).rows())
    groups = {name: group for name, group in replayed_groups(replay).items() if not group.is_dead}
    kinds = {name: group.membership.kind if group.membership else None for name, group in groups.items()}
    assert kinds == {
        "classic-group": "classic",
        "consumer-group": "consumer",
        "share-group": "share",
        "simple-group": None,
        "static-group": "classic",
        "streams-group": "streams",
        "transactional-group": "classic",
    }
    assert [each.offset for each in groups["transactional-group"].offsets.values()] == [105, 5]
    simple = groups["simple-group"].offsets
    assert {place: (each.offset, each.rewinds) for place, each in simple.items()} == {("payments", 0): (12, 1)}
    assert not replay.decode_stats.faults


TRANSITIONS: Final = {
    # As in the capture, record by record. The first member joins a group that has just been created.
    "classic-group": ["created", "rebalanced +1", "rebalanced +1", "emptied -2"],
    # One member restarted with its static id (no rebalance), then the other instance took over and timed out.
    "static-group": ["created", "rebalanced +1", "rebalanced +1 -1", "emptied -1"],
    # The second member leaves 4 ms before the first: no assignment for one member was computed.
    "consumer-group": ["created", "rebalanced +1", "rebalanced +1", "emptied -2"],
    # The first assignment is empty because the share state of the topics is being initialized.
    "share-group": ["created", "rebalanced +1", "rebalanced", "emptied -1"],
    # The first assignment is empty until the internal topics of the topology exist.
    "streams-group": ["created", "rebalanced +1", "rebalanced", "emptied -1"],
    "transactional-group": ["created", "rebalanced +1", "emptied -1"],
    "simple-group": ["created", "forgotten simple/Empty offsets=1"],
    "deleted-group": ["created", "rebalanced +1", "emptied -1", "dead classic/Empty offsets=1"],
}


def test_recorded_traffic_has_the_expected_transitions() -> None:
    """Real records of every kind of group lead to these transitions and no others, in one batch or one by one."""
    rows = list(CaptureFile(RECORDED).rows())
    groups = replayed(rows)
    transitions = {
        name: [line(each).partition(" ")[2] for each in group.history.transitions] for name, group in groups.items()
    }
    assert transitions == TRANSITIONS
    assert [name for name, group in groups.items() if group.is_dead] == ["deleted-group"]
    assert {group.history.state for group in groups.values() if not group.is_dead} == {"Empty"}
    assert replayed(rows, 1) == groups


def test_replay_reaches_the_state_of_a_running_job() -> None:
    """Rows replayed at once, and rows read in parts with packed states in between, lead to the same state."""
    rows = list(CaptureFile(RECORDED).rows())
    whole = Replay()
    whole.read(rows)
    shards: dict[int, ShardState] = {}
    driver_state = DriverState()
    for begin in range(0, len(rows), 7):
        part = Replay()
        part.shards.update({shard: unpack_state(pack(state)) for shard, state in shards.items()})
        part.read(rows[begin : begin + 7])
        shards = part.shards
    for shard, state in shards.items():
        driver_state.seed(shard, state)
        assert histories_in(state) == histories_in(whole.shards[shard])
        assert state.position == whole.shards[shard].position
    columns, expected = driver_state.columns(), whole.driver_state.columns()
    assert columns.memberships == expected.memberships
    assert columns.histories == expected.histories
