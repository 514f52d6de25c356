"""The records of the benchmark's `__consumer_offsets` as columns: deterministic, in chunks of bounded memory.

Defines which group commits which offset when; `bench.encoding` encodes it, `bench.verify` has the final state. Every
column is a function of the record's index and of the seed of its chunk, so that 20 million records need no more memory
than one chunk of them.
"""

import dataclasses
import enum
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

CHUNK: Final = 500_000
"""Records per chunk."""
SEED: Final = 20_260_101
START_MS: Final = 1_767_225_600_000
"""2026-01-01T00:00:00Z: the time of the first record. One record per millisecond follows."""
HOT_KEYS: Final = 0.1
HOT_TRAFFIC: Final = 0.5
MEMBERSHIPS: Final = 0.005
TOMBSTONES: Final = 0.005
GROUP_TOMBSTONES: Final = 0.1
"""The share of tombstones that delete a group's membership; the others delete a committed offset."""


class Kind(enum.IntEnum):
    """The kind of a record."""

    COMMIT = 0
    MEMBERSHIP = 1
    OFFSET_TOMBSTONE = 2
    GROUP_TOMBSTONE = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Traffic:
    """The size and shape of a benchmark's topic. Equal values give equal bytes."""

    records: int
    groups: int = 2000
    partitions_per_group: int = 20
    topics: int = 10
    """Group number g reads topic g modulo this."""
    offsets_partitions: int = 50
    log_end: int = 1000
    """Records in each partition of the monitored topics; no commit is above it, so every lag can be known."""

    @property
    def keys(self) -> int:
        """The number of (group, topic, partition). Key k belongs to group k // partitions_per_group."""
        return self.groups * self.partitions_per_group

    def group(self, number: int) -> str:
        """Name of a group."""
        return f"payments-service-{number:05d}"

    def topic(self, number: int) -> str:
        """Name of the topic that this group reads."""
        return f"orders-{number % self.topics:02d}"

    def topic_names(self) -> list[str]:
        """Names of all monitored topics."""
        return [self.topic(number) for number in range(self.topics)]


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive records, one element per record."""

    first: int
    """Index of the first record in the whole traffic."""
    kind: NDArray[np.int8]
    key: NDArray[np.int32]
    """Number of the (group, topic, partition); for memberships and their tombstones the number of the group."""
    offset: NDArray[np.int64]
    """The committed offset; for memberships the generation; 0 for tombstones."""
    time: NDArray[np.int64]
    """Milliseconds: timestamp of the record, and commit time of a commit."""

    def __len__(self) -> int:
        return len(self.kind)


def chunks(traffic: Traffic) -> Iterator[Chunk]:
    """Yield the whole traffic in log order."""
    for first in range(0, traffic.records, CHUNK):
        yield _chunk(traffic, first, min(CHUNK, traffic.records - first))


def one_commit_each(traffic: Traffic, groups: int, number: int) -> Chunk:
    """Return round `number` after the traffic: one commit of each of the first `groups` groups."""
    return Chunk(
        first=traffic.records,
        kind=np.full(groups, Kind.COMMIT, np.int8),
        key=np.arange(groups, dtype=np.int32) * traffic.partitions_per_group,
        offset=np.full(groups, traffic.log_end - 100 + number % 100, np.int64),
        time=np.full(groups, START_MS + traffic.records + 1000 * (number + 1), np.int64),
    )


def _chunk(traffic: Traffic, first: int, size: int) -> Chunk:
    random = np.random.default_rng([SEED, first])
    kind = _kinds(random, size)
    key = _keys(random, traffic, size)
    index = np.arange(first, first + size, dtype=np.int64)
    offset = _offsets(traffic, key, index)
    of_group = (kind == Kind.MEMBERSHIP) | (kind == Kind.GROUP_TOMBSTONE)
    key[of_group] //= traffic.partitions_per_group
    offset = np.where(kind == Kind.MEMBERSHIP, 1 + index * 100 // traffic.records, offset)
    offset[kind >= Kind.OFFSET_TOMBSTONE] = 0
    return Chunk(first, kind, key, offset, START_MS + index)


def _kinds(random: np.random.Generator, size: int) -> NDArray[np.int8]:
    uniform = random.random(size)
    limits = np.cumsum([MEMBERSHIPS, TOMBSTONES * GROUP_TOMBSTONES, TOMBSTONES * (1 - GROUP_TOMBSTONES)])
    order = np.array([Kind.MEMBERSHIP, Kind.GROUP_TOMBSTONE, Kind.OFFSET_TOMBSTONE, Kind.COMMIT], np.int8)
    return order[np.searchsorted(limits, uniform, side="right")]


def _keys(random: np.random.Generator, traffic: Traffic, size: int) -> NDArray[np.int32]:
    """Return random keys; every tenth key is hot, so that all groups and offsets partitions have hot keys."""
    step = round(1 / HOT_KEYS)
    rank = random.integers(0, traffic.keys // step, size)
    cold_rank = random.integers(1, step, size)
    return (rank * step + np.where(random.random(size) < HOT_TRAFFIC, 0, cold_rank)).astype(np.int32)


def _offsets(traffic: Traffic, key: NDArray[np.int32], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return offsets that rise to the last offset of each key; some keys stop half-way, some are reset once."""
    last = traffic.log_end // 2 + (key.astype(np.int64) * 7919) % (traffic.log_end // 2)
    reached = np.where(key % 17 == 0, np.minimum(index, traffic.records // 2), index)
    offset = last * reached // traffic.records
    set_back = (key % 23 == 0) & (index >= traffic.records * 3 // 4)
    return np.where(set_back, np.maximum(offset - traffic.log_end // 10, 0), offset)
