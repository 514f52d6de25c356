"""The search for the groups that make an evaluation fail."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stream.tick.isolation import MAX_TRIALS, faulty_groups


class Trials:
    """Evaluates groups, some of which fail, and counts the calls."""

    def __init__(self, bad: set[str]) -> None:
        self.count = 0
        self._bad = bad

    def __call__(self, groups: Sequence[str]) -> Exception | None:
        """Return an error that names the first group that fails."""
        self.count += 1
        first = next((name for name in groups if name in self._bad), None)
        return None if first is None else ValueError(first)


@given(st.integers(0, 300), st.sets(st.integers(0, 299), max_size=5))
def test_exactly_the_faulty_groups_are_found(total: int, bad: set[int]) -> None:
    """Each group that fails by itself is found with its own error, and no other group."""
    groups = [f"g{at}" for at in range(total)]
    faulty = {f"g{at}" for at in bad if at < total}
    found = faulty_groups(groups, Trials(faulty))
    assert {name: str(error) for name, error in found.items()} == {name: name for name in faulty}


def test_the_trials_are_bounded() -> None:
    """If very many groups fail, the search returns the remaining blocks, which contain every faulty group."""
    bad = {f"g{at}" for at in range(0, 4096, 3)}
    trials = Trials(bad)
    found = faulty_groups([f"g{at}" for at in range(4096)], trials)
    assert bad <= found.keys()
    assert trials.count <= 2 * MAX_TRIALS + 1
