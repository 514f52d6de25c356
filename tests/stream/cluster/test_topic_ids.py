"""Tests of the ids of existing, deleted and recreated topics."""

from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.topic_ids import TopicIds, TopicIncarnation

A, B, C = (bytes([n]) * 16 for n in (1, 2, 3))


def test_a_topic_recreated_between_two_polls_is_reported_once() -> None:
    """The same name with another id is reported once, with its time, and the old id keeps its name."""
    ids = TopicIds()
    assert ids.observe({"t": A, "u": C}, 100) == []
    assert ids.observe({"t": A, "u": C}, 200) == []
    created = TopicIncarnation("t", B, first_seen=300, last_seen=300, replaces=A)
    assert ids.observe({"t": B, "u": C}, 300) == [created]
    assert ids.observe({"t": B, "u": C}, 400) == []
    assert (ids.id_of("t"), _name(ids, A), _name(ids, B)) == (B, "t", "t")
    assert ids.known(A) == TopicIncarnation("t", A, first_seen=100, last_seen=200, deleted=300)
    assert ids.known(B) == TopicIncarnation("t", B, first_seen=300, last_seen=400, replaces=A)
    assert ids.known(C) == TopicIncarnation("u", C, first_seen=100, last_seen=400)


def test_stale_metadata_of_a_broker_recreates_no_topic() -> None:
    """An old id in stale metadata is accepted for one poll; the recreation is reported once."""
    ids = TopicIds()
    ids.observe({"t": A}, 100)
    assert len(ids.observe({"t": B}, 200)) == 1
    assert ids.observe({"t": A}, 201) == []
    assert ids.observe({"t": B}, 202) == []
    assert ids.id_of("t") == B
    topic = ids.known(B)
    assert topic is not None
    assert (topic.replaces, topic.first_seen) == (A, 200)


def test_the_name_of_a_deleted_topic_is_kept_while_its_id_is_in_use() -> None:
    """A deleted topic is kept for the grace period, or as long as its id is in use."""
    ids = TopicIds(grace_ms=1_000)
    ids.observe({"t": A, "u": B, "v": C}, 0)
    ids.observe({"v": C}, 100)
    ids.observe({"v": C}, 1_099)
    ids.prune([A], 1_099)
    assert [_name(ids, each) for each in (A, B, C)] == ["t", "u", "v"]
    ids.prune([A], 1_100)
    assert [_name(ids, each) for each in (A, B, C)] == ["t", None, "v"]
    ids.observe({"v": C}, 10**12)
    ids.prune([A], 10**12)
    assert _name(ids, A) == "t"
    ids.prune([], 10**12)
    assert [_name(ids, each) for each in (A, B, C)] == [None, None, "v"]
    assert ids.observe({"t": B}, 10**12) == [], "the previous id is unknown"


POLLS = st.lists(
    st.tuples(
        # The topics that exist at this poll, each with the number of its incarnation.
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 3)),
        st.sets(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 3))),
        st.integers(0, 5_000),
    ),
    max_size=15,
)


@given(POLLS, st.integers(0, 4))
def test_observed_topics_are_consistent_and_bounded(
    polls: list[tuple[dict[str, int], set[tuple[str, int]], int]], most_deleted: int
) -> None:
    """Current ids and names are right, the number of topics is bounded, and ids in use are kept within the bound."""
    ids = TopicIds(grace_ms=1_000, most_deleted=most_deleted)
    now, seen = 0, set()
    for topics, used, pause in polls:
        now += pause
        current = {name: _id(name, number) for name, number in topics.items()}
        previously_known = {each for each in seen if _name(ids, _id(*each)) is not None}
        for created in ids.observe(current, now):
            assert (created.first_seen, ids.id_of(created.name)) == (now, created.topic_id)
            assert created.replaces not in (None, created.topic_id)
        seen |= set(topics.items())
        ids.prune([_id(*each) for each in used], now)
        assert {name: ids.id_of(name) for name in "abc"} == {name: current.get(name) for name in "abc"}
        for name, number in seen:
            assert _name(ids, _id(name, number)) in (None, name)
        assert len(ids._of_id) <= len(current) + most_deleted
        kept = {each for each in previously_known & used if topics.get(each[0]) != each[1]}
        if len(kept) <= most_deleted:
            assert all(_name(ids, _id(*each)) == each[0] for each in kept)


def _name(ids: TopicIds, topic_id: bytes) -> str | None:
    topic = ids.known(topic_id)
    return None if topic is None else topic.name


def _id(name: str, number: int) -> bytes:
    return f"{name}{number}".encode().ljust(16, b"-")
