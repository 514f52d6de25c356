"""Lives for tests: records of group `g` in, what happened to it out, as short lines."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from stream.groups.lifecycle.record import unpack_history
from stream.groups.reduce import StateLimits
from tests.support.commits import KEEP
from tests.support.fleets import World, delta_of
from tests.support.raw import commit_key, commit_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.groups.lifecycle.model import GroupHistory, Transition
    from stream.groups.shard import ShardState
    from tests.support.fleets import Timed

    Written = tuple[bytes, bytes | None]

EVERYTHING = StateLimits(KEEP, keep_transitions=None, dead_grace_ms=None)


def at(time: int, *records: Written) -> list[Timed]:
    """Let records be written at one time: an operation."""
    return [(time, key, value) for key, value in records]


def commits(time: int, *partitions: int, topic: str = "t", group: str = "g", offset: int = 1) -> list[Timed]:
    """Let a group commit for partitions."""
    return [(time, commit_key(group, topic, each), commit_value(offset, time)) for each in partitions]


def forgets(time: int, *partitions: int, topic: str = "t", group: str = "g") -> list[Timed]:
    """Let the broker forget offsets."""
    return [(time, commit_key(group, topic, each), None) for each in partitions]


def renamed(written: Written, group: str) -> Written:
    """Give the same record of another group than `g`; names have one letter."""
    key, value = written
    return key[:4] + group.encode() + key[5:], value


def read(log: Sequence[Timed], cuts: Sequence[int] = (), rules: StateLimits = EVERYTHING) -> World:
    """Read a log in batches cut there."""
    world = World(rules)
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    for begin, end in itertools.pairwise(borders):
        if begin < end:
            world.take(delta_of(log[begin:end], begin))
    return world


def lives_in(state: ShardState) -> Mapping[str, GroupHistory]:
    """Read the lives that a state keeps."""
    packed = zip(state.histories.groups.to_pylist(), state.histories.values.to_pylist(), strict=True)
    return {name.decode(): unpack_history(value) for name, value in packed}


def life(log: Sequence[Timed], rules: StateLimits = EVERYTHING) -> GroupHistory:
    """Give the life of `g` after a log, which must not depend on how the log is cut: whole and record by record."""
    whole = lives_in(read(log, rules=rules).state)
    assert lives_in(read(log, range(len(log)), rules).state) == whole
    return whole["g"]


def line(told: Transition) -> str:
    """Write a transition as a line: when, what, who came and went, what ended or into what it turned."""
    words = [str(told.time), str(told.type)]
    words += [f"+{told.joined}"] if told.joined else []
    words += [f"-{told.left}"] if told.left else []
    words += [f"{told.kind_before}>{told.kind_after}"] if told.kind_before else []
    if told.removal:
        words += [f"{told.removal.kind}/{told.removal.state}", f"offsets={told.removal.offsets}"]
    return " ".join(words)


def lines(log: Sequence[Timed], rules: StateLimits = EVERYTHING) -> list[str]:
    """Tell what happened to `g`."""
    return [line(each) for each in life(log, rules).transitions]
