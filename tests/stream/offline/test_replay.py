"""Replay: the job's answer without the job, whatever the splits, and whatever compaction has taken away."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from hypothesis import given
from hypothesis import strategies as st

from stream.groups.codec import pack, unpack_state
from stream.groups.driver_state import DriverState
from stream.offline.capture import CaptureFile
from stream.offline.replay import GroupSummary, Replay
from tests.stream.offline.captures import RECORDED, commit, generation, row
from tests.support.laws import examples
from tests.support.lives import line, lives_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.groups.shard import ShardState
    from stream.offline.replay import Outcome
    from stream.offline.rows import TopicRow

GROUPS = ("a", "b")


def replayed(rows: Iterable[TopicRow], rows_at_once: int = 1000) -> Outcome:
    """Run the pipeline over rows."""
    pipeline = Replay()
    pipeline.read(rows, rows_at_once)
    return pipeline.outcome()


def compacted(rows: Iterable[TopicRow], keep_tombstones: bool) -> list[TopicRow]:  # noqa: FBT001 -- drawn by hypothesis
    """Keep the last record of each key, as the log cleaner does; it drops old tombstones too."""
    last = {(each.place, each.key): each for each in rows}
    kept = [each for each in last.values() if keep_tombstones or each.value is not None]
    return sorted(kept, key=lambda each: (each.place, each.offset))


def standing(outcome: Outcome) -> list[tuple[object, ...]]:
    """Give what compaction must not change: members, and each partition's last commit."""
    return [
        (group.group, group.membership, [(o.topic, o.partition, o.offset, o.commit_time) for o in group.offsets])
        for group in outcome.groups
        if group.membership or group.offsets
    ]


@st.composite
def histories(draw: st.DrawFn) -> list[TopicRow]:
    """Draw the log of two groups in one or two offsets partitions."""
    rows: list[TopicRow] = []
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
def test_a_compacted_log_gives_the_same_end(rows: list[TopicRow], keep_tombstones: bool) -> None:  # noqa: FBT001
    """Last commits and memberships agree between the full log and what the cleaner leaves of it."""
    assert standing(replayed(compacted(rows, keep_tombstones))) == standing(replayed(rows))


@examples(20)
@given(histories(), st.integers(1, 10))
def test_splits_change_nothing(rows: list[TopicRow], rows_at_once: int) -> None:
    """However the rows fall into batches, every number comes out the same."""
    assert replayed(rows, rows_at_once) == replayed(rows)


def test_the_recorded_traffic_ends_as_it_was_made() -> None:
    """Every kind is told, commits of aborted transactions do not count, the deleted group is gone."""
    outcome = replayed(CaptureFile(RECORDED).rows())
    kinds = {group.group: group.membership.kind if group.membership else None for group in outcome.groups}
    assert kinds == {
        "classic-group": "classic",
        "consumer-group": "consumer",
        "share-group": "share",
        "simple-group": None,
        "static-group": "classic",
        "streams-group": "streams",
        "transactional-group": "classic",
    }
    assert _group(outcome, "transactional-group").offsets[0].offset == 105
    simple = _group(outcome, "simple-group").offsets
    assert [(each.partition, each.offset, each.rewinds) for each in simple] == [(0, 12, 1)]
    assert not outcome.tally.faults


LIVES: Final = {
    # What a person reads in the capture, record by record. A first member finds a group that was just made.
    "classic-group": ["created", "rebalanced +1", "rebalanced +1", "emptied -2"],
    # One restarted under its static name (no rebalance), then the other instance took over, and timed out.
    "static-group": ["created", "rebalanced +1", "rebalanced +1 -1", "emptied -1"],
    # The second member leaves four ms before the first: no assignment is made of one.
    "consumer-group": ["created", "rebalanced +1", "rebalanced +1", "emptied -2"],
    # The first assignment is empty, the share state of the topics being set up.
    "share-group": ["created", "rebalanced +1", "rebalanced", "emptied -1"],
    # ... and so it is until the internal topics of the topology are there.
    "streams-group": ["created", "rebalanced +1", "rebalanced", "emptied -1"],
    "transactional-group": ["created", "rebalanced +1", "emptied -1"],
    "simple-group": ["created", "forgotten simple/Empty offsets=1"],
    "deleted-group": ["created", "rebalanced +1", "emptied -1", "dead classic/Empty offsets=1"],
}


def test_the_lives_of_the_recorded_traffic() -> None:
    """Real records of every kind of group, read whole or one by one, tell what happened, and no more."""
    rows = list(CaptureFile(RECORDED).rows())
    outcome = replayed(rows)
    lives = {group.group: group.life for group in (*outcome.groups, *outcome.dead)}
    told = {name: [line(each).partition(" ")[2] for each in life.transitions] for name, life in lives.items()}
    assert told == LIVES
    assert [group.group for group in outcome.dead] == ["deleted-group"]
    assert {life.state for name, life in lives.items() if name != "deleted-group"} == {"Empty"}
    assert replayed(rows, 1) == outcome


def test_replay_is_what_a_running_job_reaches() -> None:
    """Rows replayed at once and rows followed piece by piece, with states kept as bytes between, end in one state."""
    rows = list(CaptureFile(RECORDED).rows())
    whole = Replay()
    whole.read(rows)
    followed: dict[int, ShardState] = {}
    fleet = DriverState()
    for begin in range(0, len(rows), 7):
        piece = Replay()
        piece.states.update({shard: unpack_state(pack(state)) for shard, state in followed.items()})
        piece.read(rows[begin : begin + 7])
        followed = piece.states
    for shard, state in followed.items():
        fleet.seed(shard, state)
        assert lives_in(state) == lives_in(whole.states[shard])
        assert state.position == whole.states[shard].position
    assert fleet.columns().memberships == whole.fleet.columns().memberships
    assert fleet.columns().lives == whole.fleet.columns().lives


def test_the_recorded_traffic_compacted() -> None:
    """The law holds for what a broker really wrote."""
    rows = [each for each in CaptureFile(RECORDED).rows() if each.topic == "__consumer_offsets"]
    assert len(compacted(rows, keep_tombstones=True)) < len(rows)
    for keep_tombstones in (True, False):
        assert standing(replayed(compacted(rows, keep_tombstones))) == standing(replayed(rows))


def test_partitions_may_alternate() -> None:
    """Only the order within a partition means something."""
    chance = random.Random(3)  # noqa: S311 -- an order, no secret
    by_place = {
        0: [commit(at, at, group="a") for at in range(50)],
        1: [commit(at, at, partition=1) for at in range(50)],
    }
    mixed: list[TopicRow] = []
    while any(by_place.values()):
        mixed.append(by_place[chance.choice([place for place, left in by_place.items() if left])].pop(0))
    assert [group.offsets[0].commits for group in replayed(mixed, 7).groups] == [50, 50]


def test_what_cannot_be_decoded_is_counted() -> None:
    """Garbage changes no group and stands in the tally with its reason."""
    outcome = replayed([commit(0, 5), row(1, b"\0\x63", b"x"), row(2, None, b"x"), commit(3, 6)])
    assert _group(outcome, "g").offsets[0].offset == 6
    assert {fault.reason: count for fault, count in outcome.tally.faults.items()} == {"unknown_type": 1, "null_key": 1}


def _group(outcome: Outcome, name: str) -> GroupSummary:
    return next(group for group in outcome.groups if group.group == name)
