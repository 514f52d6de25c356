"""Group histories for tests: records of group `g` in, its transitions out, as short lines."""

import itertools
from collections.abc import Mapping, Sequence

from stream.groups.lifecycle.model import GroupHistory, Transition
from stream.groups.lifecycle.record import unpack
from stream.groups.shard import ShardState, StateLimits
from tests.support.commits import KEEP
from tests.support.driver_states import ShardReader, Timed, delta_of
from tests.support.raw import commit_key, commit_value

Written = tuple[bytes, bytes | None]

EVERYTHING = StateLimits(KEEP, keep_transitions=None, dead_grace_ms=None)


def at(time: int, *records: Written) -> list[Timed]:
    """Return records with one timestamp: an operation."""
    return [(time, key, value) for key, value in records]


def commits(time: int, *partitions: int, topic: str = "t", group: str = "g", offset: int = 1) -> list[Timed]:
    return [(time, commit_key(group, topic, each), commit_value(offset, time)) for each in partitions]


def forgets(time: int, *partitions: int, topic: str = "t", group: str = "g") -> list[Timed]:
    return [(time, commit_key(group, topic, each), None) for each in partitions]


def renamed(written: Written, group: str) -> Written:
    """Return the same record for another group than `g`; names have one letter."""
    key, value = written
    return key[:4] + group.encode() + key[5:], value


def read(log: Sequence[Timed], cuts: Sequence[int] = (), limits: StateLimits = EVERYTHING) -> ShardReader:
    """Return the shard after a log, read in batches that are split at these places."""
    shard_reader = ShardReader(limits)
    borders = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    for begin, end in itertools.pairwise(borders):
        if begin < end:
            shard_reader.apply(delta_of(log[begin:end], begin))
    return shard_reader


def histories_in(state: ShardState) -> Mapping[str, GroupHistory]:
    packed = zip(state.histories.groups.to_pylist(), state.histories.values.to_pylist(), strict=True)
    return {name.decode(): unpack(value).history() for name, value in packed}


def history_of_g(log: Sequence[Timed], limits: StateLimits = EVERYTHING) -> GroupHistory:
    """Return the history of `g` after a log; reading it whole and record by record must give the same."""
    whole = histories_in(read(log, limits=limits).state)
    assert histories_in(read(log, range(len(log)), limits).state) == whole
    return whole["g"]


def line(transition: Transition) -> str:
    """Return a transition as a line: time, type, members joined and left, conversion, removal."""
    words = [str(transition.time), str(transition.type)]
    words += [f"+{transition.joined}"] if transition.joined else []
    words += [f"-{transition.left}"] if transition.left else []
    words += [f"{transition.kind_before}>{transition.kind_after}"] if transition.kind_before else []
    if transition.removal:
        words += [f"{transition.removal.kind}/{transition.removal.state}", f"offsets={transition.removal.offsets}"]
    return " ".join(words)


def lines(log: Sequence[Timed], limits: StateLimits = EVERYTHING) -> list[str]:
    """Return the transitions of `g` as lines."""
    return [line(each) for each in history_of_g(log, limits).transitions]
