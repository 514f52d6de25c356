"""Tests of the selection of groups to describe: candidates, order of waiting, rate."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stream.cluster.describe_groups import RequestBudget, describe_candidates, rare_candidates
from stream.groups.membership.memberships import Membership

NOW = 1_000_000
RECENT = 60_000

STEPS = st.lists(
    st.tuples(st.integers(0, 20_000), st.sets(st.sampled_from([f"g{n}" for n in range(12)]))), min_size=1, max_size=30
)


def test_groups_whose_state_may_not_be_in_the_log_are_candidates() -> None:
    """A classic group with members, or with a recent change of its state, is a candidate; other groups are not."""
    groups = {
        "classic group with members": Membership("classic", "Stable", 2),
        "recently emptied": Membership("classic", "Empty", 0, state_time=NOW - 1),
        "emptied long ago": Membership("classic", "Empty", 0, state_time=NOW - RECENT),
        "emptied at an unknown time": Membership("classic", "Empty", 0),
        "newer group type": Membership("consumer", "Stable", 2, state_time=NOW),
        "offsets only": Membership("simple", "Empty", 0),
        "no generation yet": Membership("simple", "Empty", 0, generation=0),
    }
    candidates = ["classic group with members", "no generation yet", "recently emptied"]
    assert sorted(describe_candidates(groups, NOW, RECENT)) == candidates
    assert sorted(rare_candidates(groups, candidates)) == ["emptied at an unknown time", "emptied long ago"]


def test_rare_candidates_take_a_tenth_of_the_turns() -> None:
    """However many others wait, they are selected in turn."""
    for most in (1, 20):
        budget = RequestBudget(per_second=most, most=most, again_ms=0)
        many, rare = [f"g{number}" for number in range(40)], ["empty", "idle", "old"]
        chosen = Counter(group for tick in range(600) for group in budget.choose(many, tick * 1_000, rare))
        assert [chosen[group] for group in rare] == [20 * most] * 3
        assert sum(chosen.values()) == 600 * most


def test_the_longest_waiting_group_is_first() -> None:
    """A group that was never selected has waited since it first was a candidate.

    Groups that were selected at a future time, before a clock was set back, are due.
    """
    budget = RequestBudget(per_second=0.2, most=2, again_ms=1_000)
    assert budget.choose(["a", "b", "c"], 0) == ["a", "b"]
    assert budget.choose(["a", "b", "c", "d"], 10_000) == ["c", "a"]
    assert budget.choose(["a", "b", "c", "d"], 20_000) == ["b", "d"]
    assert budget.choose(["a", "b", "c", "d"], 30_000) == ["a", "c"]
    budget = RequestBudget(per_second=100, most=10, again_ms=60_000)
    assert budget.choose(["a"], 1_000_000) == budget.choose(["a"], 500_000) == ["a"]


@given(STEPS, st.sampled_from([0.0, 0.3, 2.0, 50.0]), st.integers(0, 5), st.sampled_from([0, 1_000, 30_000]))
def test_the_rate_is_never_exceeded(steps: list[tuple[int, set[str]]], rate: float, most: int, again_ms: int) -> None:
    """No interval has more selected groups than the rate allows, and no group is selected again too early."""
    budget = RequestBudget(per_second=rate, most=most, again_ms=again_ms)
    now, chosen = 0, []
    last: dict[str, int] = {}
    for pause, candidate in steps:
        now += pause
        last = {group: when for group, when in last.items() if group in candidate}
        some = budget.choose(sorted(candidate), now)
        assert set(some) <= candidate
        assert len(some) == len(set(some)) <= most
        assert all(now - last[group] >= again_ms for group in some if group in last)
        last |= dict.fromkeys(some, now)
        chosen.append((now, len(some)))
    for first, (start, _) in enumerate(chosen):
        for end in range(first, len(chosen)):
            total = sum(count for _, count in chosen[first : end + 1])
            assert total <= most + rate * (chosen[end][0] - start) / 1000 + 1e-6


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 30))
def test_every_candidate_is_selected(groups: int, most: int, strangers: int) -> None:
    """Each of N candidates is selected within a bounded number of rounds, also if new candidates appear."""
    budget = RequestBudget(per_second=most, most=most, again_ms=0)
    old = [f"old{n}" for n in range(groups)]
    asked = set()
    for turn in range(-(-groups // most)):
        asked |= set(budget.choose([*old, *(f"new{turn}-{n}" for n in range(strangers * (turn > 0)))], turn * 1000))
    assert asked == set(old)
