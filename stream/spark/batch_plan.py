"""Which offsets a micro-batch reads, and which task reads which partitions. Pure functions of positions and ends."""

import heapq
from collections.abc import Mapping
from typing import Final

SMALL_BATCH: Final = 50_000
"""Offsets that one task reads: a second task costs more than it saves."""

ReadRange = tuple[int, int, int]
"""Partition, first offset, and the offset after the last one."""


def batch_ends(starts: Mapping[int, int], stable: Mapping[int, int], most: int) -> dict[int, int]:
    """Return the end per partition: its last stable offset, never below its start, at most `most` offsets in total.

    `starts` has all partitions; one that is not in `stable` keeps its start. Above the limit, each partition gets its
    share of `most` in proportion to what it has unread, and at least one offset.
    """
    unread = {partition: max(0, stable.get(partition, start) - start) for partition, start in starts.items()}
    total = sum(unread.values())
    if total <= most:
        return {partition: start + unread[partition] for partition, start in starts.items()}
    return {
        partition: start + min(unread[partition], max(1, unread[partition] * most // total))
        for partition, start in starts.items()
    }


def split_into_tasks(starts: Mapping[int, int], ends: Mapping[int, int], tasks: int) -> list[tuple[ReadRange, ...]]:
    """Return the ranges of each task: one task for a small batch, else up to `tasks` of about equal size.

    A partition is never split, so that its records stay in order. The longest ranges are assigned first.
    """
    ranges = [(partition, starts.get(partition, 0), end) for partition, end in ends.items()]
    unread = sorted((each for each in ranges if each[2] > each[1]), key=lambda each: each[1] - each[2])
    if sum(end - start for _, start, end in unread) < SMALL_BATCH:
        tasks = 1
    loads: list[tuple[int, int]] = [(0, number) for number in range(min(tasks, len(unread)))]
    assigned: list[list[ReadRange]] = [[] for _ in loads]
    for each in unread:
        load, number = heapq.heappop(loads)
        assigned[number].append(each)
        heapq.heappush(loads, (load + each[2] - each[1], number))
    return [tuple(sorted(some)) for some in assigned]
