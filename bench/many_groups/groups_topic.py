"""The records of very many groups: for every group its membership once and one commit for each partition it reads.

Defines the records as chunks of columns, as in `bench.traffic`; `bench.encoding` encodes them and `bench.oracle`
computes the final state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bench.traffic import START_MS, Chunk, Kind, Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

GROUPS_AT_ONCE: Final = 10_000


def traffic_of(groups: int, partitions: int) -> Traffic:
    """Return the traffic of `groups` groups with `partitions` partitions each."""
    return Traffic(records=groups * (partitions + 1), groups=groups, partitions_per_group=partitions)


def initial_records(traffic: Traffic) -> Iterator[Chunk]:
    """Yield the records of all groups, in chunks of `GROUPS_AT_ONCE` groups: memberships first, then commits."""
    for first in range(0, traffic.groups, GROUPS_AT_ONCE):
        groups = np.arange(first, min(first + GROUPS_AT_ONCE, traffic.groups), dtype=np.int32)
        yield _chunk(traffic, groups, first * (traffic.partitions_per_group + 1), 0, with_memberships=True)


def commit_round(traffic: Traffic, groups: int, number: int) -> Chunk:
    """Return round `number` (from 1): commits of all partitions of `groups` groups, one offset further.

    Each round continues with the next groups, so that no group commits twice before all have committed.
    """
    chosen = (np.arange(groups) + groups * (number - 1)) % traffic.groups
    return _chunk(traffic, chosen.astype(np.int32), traffic.records + number * 1000, number, with_memberships=False)


def _chunk(traffic: Traffic, groups: NDArray[np.int32], first: int, number: int, *, with_memberships: bool) -> Chunk:
    each = traffic.partitions_per_group
    keys = (groups.astype(np.int64)[:, None] * each + np.arange(each)).ravel().astype(np.int32)
    leading = groups if with_memberships else groups[:0]
    key = np.concatenate([leading, keys])
    # Keys have different offsets that grow by one per round; none is above the end of its partition.
    offset = np.concatenate([np.ones(len(leading), np.int64), keys.astype(np.int64) * 7919 % 900 + number % 100])
    kind = np.full(len(key), Kind.COMMIT, np.int8)
    kind[: len(leading)] = Kind.MEMBERSHIP
    time = START_MS + first + (np.arange(len(key)) if with_memberships else np.zeros(len(key), np.int64))
    return Chunk(first, kind, key, offset, time)
