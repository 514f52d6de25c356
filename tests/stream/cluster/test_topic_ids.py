"""Ids of topics over time: what is there, what was made anew, and whose name is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.topic_ids import TopicIds, TopicIncarnation

A, B, C = (bytes([n]) * 16 for n in (1, 2, 3))


def test_created_anew_between_two_looks() -> None:
    """The same name with another id is told once, with its time, and the old id keeps its name."""
    ids = TopicIds()
    assert ids.observe({"t": A, "u": C}, 100) == []
    assert ids.observe({"t": A, "u": C}, 200) == []
    anew = TopicIncarnation("t", B, first_seen=300, last_seen=300, replaces=A)
    assert ids.observe({"t": B, "u": C}, 300) == [anew]
    assert ids.observe({"t": B, "u": C}, 400) == []
    assert (ids.id_of("t"), ids.name_of(A), ids.name_of(B)) == (B, "t", "t")
    assert ids.known(A) == TopicIncarnation("t", A, first_seen=100, last_seen=200, gone=300)
    life = ids.created_anew("t")
    assert life is not None
    assert (life.replaces, life.first_seen, life.last_seen) == (A, 300, 400)
    assert ids.created_anew("u") is None


def test_deleted_then_created_anew() -> None:
    """A look in between at which the topic was not there changes nothing but the time it was gone."""
    ids = TopicIds()
    ids.observe({"t": A}, 100)
    assert ids.observe({}, 200) == []
    assert (ids.id_of("t"), ids.name_of(A), ids.created_anew("t")) == (None, "t", None)
    assert [life.replaces for life in ids.observe({"t": B}, 300)] == [A]
    assert ids.known(A) == TopicIncarnation("t", A, first_seen=100, last_seen=100, gone=200)


def test_what_was_not_asked_for_stays() -> None:
    """An answer for some topics says nothing of the others; one that is named as absent is gone."""
    ids = TopicIds()
    ids.observe({"t": A, "u": B}, 100)
    ids.observe({"u": B}, 200, absent=[])
    assert ids.id_of("t") == A
    ids.observe({}, 300, absent=["t", "never"])
    assert (ids.id_of("t"), ids.id_of("u"), ids.name_of(A)) == (None, B, "t")


def test_a_broker_behind_the_others_makes_nothing_anew() -> None:
    """Old metadata brings an old id back for a moment; the topic was created anew once, and is told once."""
    ids = TopicIds()
    ids.observe({"t": A}, 100)
    assert len(ids.observe({"t": B}, 200)) == 1
    assert ids.observe({"t": A}, 201) == []
    assert ids.observe({"t": B}, 202) == []
    assert ids.id_of("t") == B
    life = ids.created_anew("t")
    assert life is not None
    assert (life.replaces, life.first_seen) == (A, 200)


def test_names_are_kept_while_something_refers_to_them() -> None:
    """The grace keeps what may be referred to soon, a reference keeps it for ever, nothing else does."""
    ids = TopicIds(grace_ms=1_000)
    ids.observe({"t": A, "u": B, "v": C}, 0)
    ids.observe({"v": C}, 100)
    ids.observe({"v": C}, 1_099)
    ids.forget([A], 1_099)
    assert [ids.name_of(each) for each in (A, B, C)] == ["t", "u", "v"]
    ids.forget([A], 1_100)
    assert [ids.name_of(each) for each in (A, B, C)] == ["t", None, "v"]
    ids.observe({"v": C}, 10**12)
    ids.forget([A], 10**12)
    assert ids.name_of(A) == "t"
    ids.forget([], 10**12)
    assert [ids.name_of(each) for each in (A, B, C)] == [None, None, "v"]
    assert ids.observe({"t": B}, 10**12) == [], "nothing is remembered that it could replace"
    assert ids.dropped == 0


def test_what_nobody_looks_at_any_more_is_let_go() -> None:
    """A topic that is asked for no longer is forgotten after the grace, unless something refers to its id."""
    ids = TopicIds(grace_ms=1_000)
    ids.observe({"t": A, "u": B, "v": C}, 0, absent=[])
    ids.observe({"v": C}, 900, absent=[])
    ids.forget([A], 999)
    assert [ids.id_of(name) for name in "tuv"] == [A, B, C]
    ids.forget([A], 1_000)
    assert [ids.id_of(name) for name in "tuv"] == [A, None, C]
    assert len(ids) == 2
    assert ids.observe({"u": A[::-1] + b"!"}, 1_001, absent=[]) == [], "nothing refers to what it was before"


def test_too_many_deleted_topics_lose_the_oldest_first() -> None:
    """Beyond the bound go the unreferred, oldest first, then the referred ones, and those are counted."""
    ids = TopicIds(most_gone=2)
    for n in range(6):
        ids.observe({f"t{n}": bytes([n]) * 16}, n)
    ids.observe({}, 6)
    used = [bytes([n]) * 16 for n in (0, 1, 2)]
    ids.forget(used, 7)
    assert [ids.name_of(bytes([n]) * 16) for n in range(6)] == [None, "t1", "t2", None, None, None]
    assert ids.dropped == 1


LOOKS = st.lists(
    st.tuples(
        # Which topics exist at this look, each in its how manieth life.
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 3)),
        st.sets(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 3))),
        st.integers(0, 5_000),
    ),
    max_size=15,
)


@given(LOOKS, st.integers(0, 4))
def test_laws_of_memory(looks: list[tuple[dict[str, int], set[tuple[str, int]], int]], most_gone: int) -> None:
    """What is there is always known rightly; names never lie; memory is bounded; a reference within the bound holds."""
    ids = TopicIds(grace_ms=1_000, most_gone=most_gone)
    now, seen = 0, set()
    for topics, used, pause in looks:
        now += pause
        there = {name: _id(name, life) for name, life in topics.items()}
        before = {each for each in seen if ids.name_of(_id(*each)) is not None}
        for anew in ids.observe(there, now):
            assert (anew.first_seen, ids.id_of(anew.name)) == (now, anew.topic_id)
            assert anew.replaces not in (None, anew.topic_id)
        seen |= set(topics.items())
        ids.forget([_id(*each) for each in used], now)
        assert {name: ids.id_of(name) for name in "abc"} == {name: there.get(name) for name in "abc"}
        for name, life in seen:
            assert ids.name_of(_id(name, life)) in (None, name)
        assert len(ids) <= len(there) + most_gone
        held = {each for each in before & used if topics.get(each[0]) != each[1]}
        if len(held) <= most_gone:
            assert all(ids.name_of(_id(*each)) == each[0] for each in held)


def _id(name: str, life: int) -> bytes:
    return f"{name}{life}".encode().ljust(16, b"-")
