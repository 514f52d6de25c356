"""Properties of memberships: they depend on the newest record per key alone, not on the batches."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.tables import RECORD_TYPES
from stream.groups.membership.members import Member
from stream.groups.membership.memberships import Membership, Memberships
from tests.decoders.writing import corrupted, random_record
from tests.stream.groups.written import (
    NAMES,
    ORDERS,
    PAYMENTS,
    Written,
    assignment,
    classic,
    classic_member,
    column,
    gone,
    group_epoch,
    member,
    memberships,
    resolved,
    share_state,
    sharer,
    shares,
    stands,
    subscription,
    target,
    target_epoch,
    topology,
    worker,
    works,
)

MEMBERS = st.sampled_from("ab")
EPOCHS = st.integers(1, 3)
PARTS = st.dictionaries(st.sampled_from([ORDERS, PAYMENTS]), st.lists(st.integers(0, 3), max_size=2), max_size=2)
TOPICS = st.sampled_from([("orders",), ("orders", "payments"), ()])
WANTS = st.sampled_from([b"", subscription("t"), subscription("t", "u", version=9), b"\0"])
HAS = st.sampled_from([b"", assignment({"t": [0]}), assignment({}), b"\0\0\0"])
CLASSICS = st.lists(
    st.builds(classic_member, MEMBERS, wants=WANTS, has=HAS), max_size=2, unique_by=lambda m: m["member_id"]
)
SOME: st.SearchStrategy[Written] = st.one_of(
    CLASSICS.map(lambda members: classic(*members)),
    st.builds(group_epoch, EPOCHS),
    st.builds(target_epoch, EPOCHS),
    st.builds(
        lambda name, topics, regex: member(name, *topics, regex=regex), MEMBERS, TOPICS, st.sampled_from([None, "x"])
    ),
    st.builds(target, MEMBERS, PARTS),
    st.builds(stands, MEMBERS, st.sampled_from([1, 2, -2]), PARTS, state=st.integers(0, 2)),
    st.builds(lambda topics: resolved("x", *topics), TOPICS),
    st.builds(group_epoch, EPOCHS, kind=st.just(11)),
    st.builds(target_epoch, EPOCHS, kind=st.just(12)),
    st.builds(lambda name, topics: sharer(name, *topics), MEMBERS, TOPICS),
    st.builds(shares, MEMBERS, EPOCHS, PARTS),
    st.just(share_state(NAMES)),
    st.builds(group_epoch, EPOCHS, kind=st.just(17), validated_topology_epoch=EPOCHS),
    st.builds(target_epoch, EPOCHS, kind=st.just(20)),
    st.builds(worker, MEMBERS),
    st.builds(works, MEMBERS, EPOCHS, active=st.sampled_from([{}, {"0": [0, 1]}])),
    st.builds(lambda epoch, topics: topology(epoch, s0=topics), EPOCHS, TOPICS),
)
HISTORIES = st.lists(st.one_of(SOME, SOME.map(gone)), max_size=25)


def all_results(read: Memberships) -> tuple[dict[str, Membership], tuple[Member, ...], dict[bytes, str]]:
    return dict(read.by_group), read.members("g", {}), read.topic_ids()


def newest(history: list[Written], *, tombstones: bool) -> list[Written]:
    """Return the log after compaction: the last record per key, with or without tombstones."""
    last = dict(history)
    return [(key, value) for key, value in last.items() if tombstones or value is not None]


@given(HISTORIES, st.randoms(use_true_random=False), st.booleans())
def test_the_compacted_log_gives_the_same_memberships_as_the_whole_log(
    history: list[Written],
    chance: random.Random,
    tombstones: bool,  # noqa: FBT001 -- drawn, not chosen
) -> None:
    """A seeded, a rebuilt and a continuously updated driver agree for any order of records."""
    left = newest(history, tombstones=tombstones)
    chance.shuffle(left)
    assert all_results(memberships(left)) == all_results(memberships(history))


@given(HISTORIES, st.integers(1, 6))
def test_batches_and_reads_between_them_change_nothing(history: list[Written], size: int) -> None:
    """Cached groups equal groups that are decoded again."""
    read = Memberships()
    for start in range(0, len(history), size):
        read.apply(column(history[start : start + size]))
        read.by_group.get("g")
    assert all_results(read) == all_results(memberships(history))


@given(HISTORIES, HISTORIES)
def test_records_applied_again_change_nothing(history: list[Written], more: list[Written]) -> None:
    """A batch that Spark delivers twice has the effect of one delivery."""
    read = memberships([*history, *more])
    before = all_results(read)
    read.apply(column(newest(more, tombstones=True)))
    assert all_results(read) == before


@given(HISTORIES)
def test_the_counts_are_those_of_the_members(history: list[Written]) -> None:
    """Counts and details have the same members, idle members and away partitions."""
    read = memberships(history)
    known = read.by_group.get("g")
    detail = read.members("g", NAMES)
    assert len(detail) == (known.members if known else 0)
    if known is None:
        return
    idle = [each.idle for each in detail]
    assert known.idle == (None if None in idle else sum(map(bool, idle)))
    assert (known.away or 0) == sum(each.away for each in detail)
    assert len(known.member_names) == len(detail)
    if known.subscribed is not None and known.kind != "simple":
        assert {topic for each in detail for topic in each.subscription} <= known.subscribed


@pytest.mark.parametrize("seed", range(30))
def test_no_bytes_raise_an_error(seed: int) -> None:
    """Records of every type with any valid values, and damaged ones among them, raise no error."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    types = [each for each in RECORD_TYPES if each.number >= 2 and not each.removed]
    written: list[Written] = []
    for _ in range(200):
        key, value = random_record(chance, chance.choice(types))
        written.append((key, corrupted(chance, value) if value is not None and chance.random() < 0.3 else value))
    read = memberships(written)
    for group in dict(read.by_group):
        read.members(group)
    assert read.by_group
    read.topic_ids()
