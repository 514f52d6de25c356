"""The driver's fleet: what the changes say, whatever order or repetition they come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from decoders.columnar import decode_keys
from stream.groups.fleet import Fleet
from tests.support.fleets import Raw, World
from tests.support.raw import commit_key, commit_value, group_key, group_value

RECORDS: st.SearchStrategy[Raw] = st.one_of(
    st.tuples(
        st.builds(commit_key, st.sampled_from("abc"), st.just("t"), st.integers(0, 2)),
        st.one_of(st.none(), st.builds(commit_value, st.integers(0, 9), st.integers(0, 60))),
    ),
    st.tuples(
        st.builds(group_key, st.sampled_from("abc")),
        st.one_of(st.none(), st.builds(group_value, st.integers(0, 3), st.lists(st.just("m"), max_size=2))),
    ),
)


def seen(fleet: Fleet) -> tuple[dict[tuple[str, str, int], int], dict[str, tuple[str | None, int]]]:
    """Read offsets and memberships as plain values."""
    columns = fleet.columns()
    names = zip(columns.group.to_pylist(), columns.topic.to_pylist(), columns.partition.tolist(), strict=True)
    offsets = dict(zip(names, columns.runs.spans.last_offset.tolist(), strict=True))
    return offsets, {name: (known.state, known.members) for name, known in columns.memberships.items()}


@given(st.lists(st.lists(RECORDS, min_size=1, max_size=6), max_size=6))
def test_a_fleet_built_by_changes_is_one_seeded_from_the_state(batches: list[list[Raw]]) -> None:
    """Restart and going on are the same: the state at the end, applied at once, gives the same fleet."""
    world = World()
    for batch in batches:
        world.read(batch)
    restarted = Fleet()
    restarted.apply(0, world.state)
    assert seen(restarted) == seen(world.fleet)


@given(st.lists(st.lists(RECORDS, min_size=1, max_size=6), min_size=1, max_size=6), st.integers(0, 5))
def test_a_change_applied_again_is_harmless(batches: list[list[Raw]], again: int) -> None:
    """A micro-batch that Spark delivers twice, also late, leaves the fleet as it was."""
    world = World()
    changes = [world.read(batch) for batch in batches]
    before = seen(world.fleet)
    world.fleet.apply(0, changes[-1])
    world.fleet.apply(0, changes[again % len(changes)])
    assert seen(world.fleet) == before


def test_rows_and_names_stay_together() -> None:
    """After rows came, went and came again, each row's names are those in its key."""
    world = World()
    world.read([(commit_key(group, "t", n), commit_value(n, 1)) for group in "abc" for n in range(3)])
    world.read([(commit_key("b", "t", 1), None), (commit_key("a", "t", 0), commit_value(9, 2))])
    world.read([(commit_key("d", "u", 7), commit_value(5, 3))])
    columns = world.fleet.columns()
    read = decode_keys(columns.runs.keys)
    assert columns.group.to_pylist() == read.group.to_pylist()
    assert columns.topic.to_pylist() == read.topic.to_pylist()
    assert columns.partition.tolist() == read.partition.tolist()
