"""What long records of clients need: not much more than their bytes, and nothing once they are replaced."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from stream.groups.membership import memberships
from stream.groups.reduce import reduce
from stream.groups.shard import StateLimits, empty_state
from stream.groups.short_cache import keep_each, keep_last
from tests.stream.groups.written import (
    ORDERS,
    Written,
    assignment,
    classic,
    classic_member,
    group_epoch,
    member,
    stands,
    subscription,
)
from tests.stream.health.tables import wrong
from tests.support.driver_states import ShardReader, delta_of
from tests.support.resources import peak_memory

PARTITIONS = range(4_000)
"""16 kB in a record, and 160 kB decoded."""


def owners(first: int, members: int = 1) -> list[Written]:
    """Return a consumer group, named by a digit, with members that own these partitions and those after them."""
    records = [stands(f"m{each}", 2, {ORDERS: range(first, first + len(PARTITIONS))}) for each in range(members)]
    records += [member(f"m{each}", "t") for each in range(members)]
    return [(key.replace(b"\1g", b"\1%d" % first), value) for key, value in [group_epoch(2), *records]]


REBALANCES: dict[str, Callable[[int], list[Written]]] = {
    "assignments": lambda at: [classic(classic_member("m", has=assignment({"t": [*PARTITIONS, at]})))],
    "subscriptions": lambda at: [classic(classic_member("m", wants=subscription(*(f"{at}-{i}" for i in PARTITIONS))))],
    "member ids": lambda at: [classic(classic_member(f"{at}" * 30_000))],
    "newer groups": owners,
}


def test_what_is_replaced_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long records of a group that are replaced, and newer groups beyond the limit, leave nothing decoded behind."""
    monkeypatch.setattr(memberships, "_CACHED_BYTES", 40_000)

    def keeps(of_rebalance: Callable[[int], list[Written]]) -> bool:
        deltas = [delta_of([(0, *record) for record in of_rebalance(at)], at * 10) for at in range(8)]
        shard, sizes = ShardReader(), []
        with peak_memory():
            for delta in deltas:
                shard.apply(delta)
                shard.driver_state.columns()
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        return sizes[7] - sizes[3] > 100_000

    assert wrong({story: (of, False) for story, of in REBALANCES.items()}, keeps) == []


def test_a_batch_needs_a_multiple_of_one_member_only() -> None:
    """The histories of a batch never hold the decoded partitions of two groups, or of two members."""
    for records in ([row for each in range(10) for row in owners(each)], owners(0, members=10)):
        delta = delta_of([(0, *record) for record in records], 0)
        with peak_memory() as peak:
            reduce(empty_state(), [delta], StateLimits(60))
        assert peak.size < 800_000


def test_a_result_is_kept_while_its_sources_are_the_same() -> None:
    """Equal mappings, numbers and tuples are the same source; an equal list or array is another one."""
    asked: list[int] = []

    @keep_last
    def sizes(names: list[str], counts: dict[str, int], *more: object) -> tuple[int, int]:
        asked.append(len(more))
        return len(names), sum(counts.values())

    names = ["a", "b"]
    assert [sizes(names, {"a": each}, ("t", each)) for each in (1, 1, 2, 2)] == [(2, 1), (2, 1), (2, 2), (2, 2)]
    assert sizes(list(names), {"a": 2}, ("t", 2)) == (2, 2)
    assert sizes(names, {"a": 2}) == sizes(names, {"a": 2}) == (2, 2)
    assert asked == [1, 1, 1, 0]


def test_each_result_is_kept_while_its_value_is_the_same() -> None:
    """A value that is replaced, even by an equal one, is computed again; all are when another argument changes."""
    asked: list[str] = []

    @keep_each
    def joined(value: list[str], end: str) -> str:
        asked.append("".join(value))
        return f"{asked[-1]}{end}"

    one, two = ["one"], ["two"]
    assert joined({"a": one, "b": two}, ".") == joined({"a": one, "b": two}, ".") == {"a": "one.", "b": "two."}
    assert joined({"b": [*two], "c": one}, ".") == {"b": "two.", "c": "one."}
    assert joined({"b": two}, "!") == {"b": "two!"}
    assert asked == ["one", "two", "two", "one", "two"]
