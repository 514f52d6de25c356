"""The rows of a tick, and what is found for them: aborted commits and the assignment."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.runs import columns_of
from stream.groups.commits.tombstones import AbortedCommits
from stream.health.columns import NOT_KNOWN
from stream.health.inputs import NO_OWNER, AbortStreak
from stream.tick.inputs.assignment import AssignmentInputs
from stream.tick.inputs.builder import aborts_by_row
from stream.tick.inputs.rows import InputRows, RowFinder
from tests.stream.groups import written
from tests.stream.health.tables import wrong
from tests.support.driver_states import Raw, ShardReader
from tests.support.hypothesis_profiles import examples
from tests.support.raw import commit_key, commit_value
from tests.support.resources import peak_memory

Place = tuple[str, str, int]


def shard_of(commits: list[Place], *records: Raw) -> ShardReader:
    shard = ShardReader()
    shard.read([*((commit_key(*place), commit_value(at + 1, 1)) for at, place in enumerate(commits)), *records])
    return shard


def sources_of(names: dict[bytes, str] | None = None, **counts: int) -> tuple[dict[str, int], dict[bytes, str]]:
    return counts, names or {}


def named(rows: InputRows) -> list[Place]:
    columns = (rows.group.tolist(), rows.topic.tolist(), rows.partition.tolist())
    return [(rows.groups[g], rows.topics[t], p) for g, t, p in zip(*columns, strict=True)]


def classic(topic: str, **owned: tuple[int, ...]) -> Raw:
    """Return the record of classic group `g` with one member that subscribes to a topic and owns partitions."""
    member = written.classic_member("m", wants=written.subscription(topic), has=written.assignment(owned))
    return written.classic(member)


G0, G1, G2 = (("g", "t", number) for number in range(3))
BY_ID = [written.group_epoch(2), written.member("m", "a"), written.stands("m", 2, {written.ORDERS: (0,)})]
SHARED = [written.group_epoch(2, kind=11), written.sharer("m", "orders")]
STORIES: dict[str, tuple[Any, ...]] = {
    # Commits, records, topics, and the rows without a commit.
    "a group with offsets only": ([G1], [], sources_of(t=3), []),
    "a simple group that leaves one out": ([G1, G2], [], sources_of(t=3), [G0]),
    "a simple group that commits one of two": ([G1], [], sources_of(t=2), []),
    "a simple group that reads its share": ([G1, G2], [], sources_of(t=4), []),
    "a simple group on a topic of unknown size": ([G1, G2], [], sources_of(), []),
    "a simple group beyond the partition count": ([("g", "t", 7), G1, G2], [], sources_of(t=3), [G0]),
    "all partitions of a subscribed topic": ([G1], [classic("t")], sources_of(t=3), [G0, G2]),
    "a group without any commit": ([], [classic("t")], sources_of(t=1), [G0]),
    "a topic that sorts before all others": ([G0], [classic("a")], sources_of(a=1, t=1), [("g", "a", 0)]),
    "a deleted topic": ([G0], [classic("a")], sources_of(a=0), []),
    "a topic without a known partition count": ([G0], [classic("a")], sources_of(), []),
    "owned and not subscribed to": ([], [classic("a", t=(2,))], sources_of(t=3, a=0), [G2]),
    "owned beyond the partition count": ([], [classic("a", t=(2, 7))], sources_of(t=3, a=0), [G2]),
    "only partitions that do not exist": ([G0], [classic("a", t=(7,))], sources_of(t=3, a=0), []),
    "a topic without any partition in the assignment": ([G0], [classic("a", t=())], sources_of(t=3, a=0), []),
    "committed beyond the partition count": ([("g", "t", 9)], [classic("t")], sources_of(t=1), [G0]),
    "an empty group": ([G0], [written.classic()], sources_of(t=3), []),
    "topics by id": ([], BY_ID, sources_of(written.NAMES, orders=2, a=0), [("g", "orders", 0)]),
    "a share group": ([], SHARED, sources_of(written.NAMES, orders=2), []),
}


def test_rows_without_a_commit() -> None:
    """Each case has the rows of its commits, and the listed rows without a commit."""

    def uncommitted(commits: list[Place], records: list[Raw], sources: Any) -> list[Place]:
        rows = RowFinder().find(shard_of(commits, *records).driver_state.columns(), *sources)
        found = [each for each, known in zip(named(rows), rows.committed, strict=True) if not known]
        assert named(rows) == sorted([*commits, *found])
        assert list(rows.topics) == sorted(rows.topics)
        return found

    assert wrong(STORIES, uncommitted) == []


PLACES = st.lists(
    st.tuples(st.sampled_from("bga"), st.sampled_from("tus"), st.integers(0, 6)), unique=True, max_size=20
)


@examples(50)
@given(PLACES, st.integers(0, 5), st.integers(0, 5))
def test_every_commit_has_one_row(commits: list[Place], partitions_t: int, partitions_u: int) -> None:
    """Columns and slots of the driver state are aligned with the rows, for any rows without a commit."""
    member = written.classic_member("m", wants=written.subscription("t", "u"), has=written.assignment({"t": (0,)}))
    state = shard_of(commits, written.classic(member)).driver_state.columns()
    rows = RowFinder().find(state, *sources_of(t=partitions_t, u=partitions_u))
    sizes = {"t": partitions_t, "u": partitions_u}
    belonging = {("g", topic, at) for topic, size in sizes.items() for at in range(size)}
    for group, topic in ((group, topic) for group in "ab" for topic in "tu"):
        known = sum((group, topic, at) in commits for at in range(sizes[topic]))
        if known > max(1, sizes[topic] - known):
            belonging |= {(group, topic, at) for at in range(sizes[topic])}
    assert named(rows) == sorted(belonging | set(commits))
    offset = dict(zip(named(rows), rows.align(state.runs.spans.last_offset, -1).tolist(), strict=True))
    assert offset == {place: commits.index(place) + 1 if place in commits else -1 for place in named(rows)}
    slots = rows.align_slots(state.runs.slots)
    found = [named(rows)[row] for row in slots.row.tolist()]
    assert found == sorted(commits)
    assert slots.offset.tolist() == [offset[place] for place in found]
    assert len({len(column) for column in columns_of(slots)}) == 1


def test_rows_beyond_the_limit_are_omitted_and_counted() -> None:
    """The limit holds for all groups together; rows with a commit are never omitted."""
    state = shard_of([("g", "t", 4)], classic("t")).driver_state.columns()
    rows = RowFinder(most=2).find(state, *sources_of(t=6))
    assert (len(rows), rows.omitted, int(rows.committed.sum())) == (3, 3, 1)


def test_rows_beyond_the_limit_need_no_memory() -> None:
    """Groups that subscribe to many partitions need the rows that are kept, not those that are omitted."""
    topics = [f"t{number}" for number in range(20)]
    member = written.classic_member("m", wants=written.subscription(*topics))
    state = shard_of([], *(written.classic(member, group=f"g{number}") for number in range(20))).driver_state.columns()
    with peak_memory() as peak:
        rows = RowFinder(most=10).find(state, *sources_of(**dict.fromkeys(topics, 5_000)))
    assert (len(rows), rows.omitted) == (10, 2_000_000 - 10)
    assert peak.size < 40_000_000


def test_unchanged_rows_are_the_same_object() -> None:
    """A commit does not change the rows; a member, a partition or a new key does."""
    shard = shard_of([("g", "t", 0)], classic("t"))
    finder = RowFinder()
    before = finder.find(shard.driver_state.columns(), *sources_of(t=2))
    shard.read([(commit_key("g", "t", 0), commit_value(9, 9))])
    assert finder.find(shard.driver_state.columns(), *sources_of(t=2)) is before
    assert len(finder.find(shard.driver_state.columns(), *sources_of(t=3))) == 3
    shard.read([classic("u")])
    assert len(finder.find(shard.driver_state.columns(), *sources_of(t=3))) == 1
    shard.read([(commit_key("g", "t", 1), commit_value(9, 9))])
    assert len(finder.find(shard.driver_state.columns(), *sources_of(t=3))) == 2


def aborts_of(*rows: tuple[str, str, int, int]) -> AbortedCommits:
    """Return the aborted commits of these groups, topics and partitions, each with the time of its last one."""
    last = np.array([time for *_, time in rows], np.int64)
    count, producer = np.full(len(rows), 5), np.full(len(rows), 4_000)
    keys = pa.array([commit_key(*place) for *place, _ in rows], pa.binary())
    return AbortedCommits(keys, count, last - 9, last - 90, last, last, producer)


def test_aborted_commits_are_found_by_row() -> None:
    """Aborted commits have a row if the partition has commits or a member subscribes to the topic; others have none."""
    shard = shard_of([("g", "t", 1), ("h", "t", 0)], classic("t"))
    rows = RowFinder().find(shard.driver_state.columns(), *sources_of(t=3))
    aborts = aborts_of(("h", "t", 0, 100), ("g", "t", 2, 200), ("g", "other", 0, 300), ("z", "t", 0, 400))
    assert len(rows) == 4
    assert aborts_by_row(rows, aborts) == {2: AbortStreak(5, 110, 200, 4_000), 3: AbortStreak(5, 10, 100, 4_000)}
    assert aborts_by_row(rows, AbortedCommits.empty()) == {}


MEMBER = st.tuples(st.sampled_from("mn"), st.sampled_from(["t", "u"]), st.sets(st.integers(0, 2), max_size=2))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("members"), st.sampled_from("abc"), st.lists(MEMBER, max_size=2, unique_by=lambda m: m[0])),
        st.tuples(st.just("commit"), st.sampled_from("abc"), st.tuples(st.sampled_from("tu"), st.integers(0, 3))),
        st.tuples(st.just("described"), st.sampled_from("abc"), st.sampled_from(["PreparingRebalance", "Stable", ""])),
    ),
    max_size=8,
)


@examples(60)
@given(STEPS)
def test_kept_rows_and_assignments_equal_new_ones(steps: list[tuple[str, str, Any]]) -> None:
    """After any history, what is kept of the groups that did not change equals what is computed from the start."""
    shard, described = shard_of([("a", "t", 0), ("b", "u", 1)]), dict[str, str]()
    finder, assignment = RowFinder(), AssignmentInputs()
    for what, group, value in steps:
        if what == "described":
            described = {**described, group: value} if value else {}
        elif what == "commit":
            shard.read([(commit_key(group, *value), commit_value(9, 9))])
        else:
            members = [
                written.classic_member(name, wants=written.subscription(topic), has=written.assignment({"t": [*owned]}))
                for name, topic, owned in value
            ]
            shard.read([written.classic(*members, group=group)])
        state = shard.driver_state.columns()
        rows, again = finder.find(state, *sources_of(t=2, u=1)), RowFinder().find(state, *sources_of(t=2, u=1))
        assert (named(rows), rows.state_row.tolist()) == (named(again), again.state_row.tolist())
        sources = state.memberships, described, dict[bytes, str]()
        kept, new = assignment.build(rows, *sources), AssignmentInputs().build(again, *sources)
        assert kept.owner.tolist() == new.owner.tolist()
        assert kept.subscribed.tolist() == new.subscribed.tolist()
        assert (kept.clients, kept.subscribers) == (new.clients, new.subscribers)


def test_the_assignment_is_reused_until_a_state_changes() -> None:
    """A commit does not change the assignment; a described rebalance and a new assignment do."""
    shard, finder, assignment = ShardReader(), RowFinder(), AssignmentInputs()

    def owner(described: dict[str, str]) -> list[int]:
        state = shard.driver_state.columns()
        return assignment.build(finder.find(state, {}, {}), state.memberships, described, {}).owner.tolist()

    def assign(*partitions: int) -> None:
        member = written.classic_member("m", wants=written.subscription("t"), has=written.assignment({"t": partitions}))
        shard.read([written.classic(member)])

    assign(0)
    shard.read([(commit_key("g", "t", 0), commit_value(1, 1))])
    assert owner({}) == [0]
    shard.read([(commit_key("g", "t", 0), commit_value(2, 2))])
    assert owner({}) == [0]
    assert owner({"g": "PreparingRebalance"}) == [NOT_KNOWN]
    assert owner({}) == [0]
    assign(1)
    assert owner({}) == [NO_OWNER]
