"""The progress of share groups: a record of their topic has the effect that it has in the coordinators."""

import dataclasses
import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from decoders.events import Removed, SharePartitionStateRecorded
from decoders.tables import SHARE_STATE_TYPES
from stream.cluster_facts.share_state import DeliveryState, FinishedRecords, ShareState, StateBatch

KEY = ("g", b"t" * 16, 0)
AVAILABLE, ACKNOWLEDGED, ARCHIVED = DeliveryState
Batch = tuple[int, int, int, int]


def recorded(start: int, finished: int | None, *batches: Batch, snapshot: bool = False) -> SharePartitionStateRecorded:
    return SharePartitionStateRecorded(
        *KEY, snapshot, leader_epoch=0, start_offset=start, delivery_complete_count=finished, batches=batches
    )


def removed(group: str, topic_id: bytes, partition: int) -> Removed:
    return Removed(SHARE_STATE_TYPES[0], {"group_id": group, "topic_id": topic_id, "partition": partition})


CREATED = recorded(-1, None, snapshot=True)


def state(*events: Any) -> ShareState:
    found = ShareState()
    for event in events:
        found.add(event)
    return found


RETURNED = recorded(10, 0, (10, 19, AVAILABLE, 1))
# Per row: the records, the end of the partition, the start offset, lag, returned records with their most deliveries and
# finished records, and the finished records by outcome.
RETURNED, KEPT = recorded(10, 0, (10, 19, AVAILABLE, 1)), recorded(0, 0, (0, 9, AVAILABLE, 1))
THREE_AND_FOUR = recorded(0, 2, (3, 4, ACKNOWLEDGED, 1))
FIRST_TEN, NEXT_TEN = recorded(10, 10, (10, 19, ACKNOWLEDGED, 1)), recorded(20, 10, (20, 29, ACKNOWLEDGED, 1))
EVENTS: dict[str, list[Any]] = {
    "nothing was delivered": [CREATED],
    "all acknowledged, with a start offset behind and the count": [CREATED, FIRST_TEN, NEXT_TEN],
    "all rejected": [CREATED, recorded(10, 10, (10, 19, ARCHIVED, 1))],
    "returned twice": [CREATED, RETURNED, recorded(-1, 0, (10, 14, AVAILABLE, 2))],
    "one archived after its last delivery": [
        *(CREATED, recorded(10, 0, (10, 19, AVAILABLE, 4))),
        recorded(10, 1, (12, 12, ARCHIVED, 5)),
    ],
    "acknowledged out of order, the gap last": [CREATED, THREE_AND_FOUR, recorded(0, 5, (0, 2, ACKNOWLEDGED, 1))],
    "acknowledged batches of a snapshot not counted twice": [
        *(CREATED, THREE_AND_FOUR),
        recorded(0, 3, (3, 5, ACKNOWLEDGED, 1), snapshot=True),
    ],
    "returned batches of a snapshot not counted twice": [
        *(CREATED, recorded(0, 0, (0, 4, AVAILABLE, 1))),
        recorded(0, 0, (0, 9, AVAILABLE, 1), snapshot=True),
    ],
    "batches before the start offset dropped": [CREATED, KEPT, recorded(8, 0)],
    "written by Kafka 4.1: the lag is unknown": [recorded(5, None, snapshot=True)],
    "set beyond the end: no lag": [recorded(1000, 0, snapshot=True)],
}
# Per story: the end of the partition; its start offset, lag, returned records with their most deliveries and finished
# records; and the finished records by outcome.
PROGRESS: dict[str, tuple[int, tuple[int | None, ...], tuple[int, ...]]] = {
    "nothing was delivered": (40, (None, None, 0, None, None), (0, 0)),
    "all acknowledged, with a start offset behind and the count": (30, (20, 0, 0, None, 10), (20, 0)),
    "all rejected": (20, (10, 0, 0, None, 10), (0, 10)),
    "returned twice": (30, (10, 20, 10, 2, 0), (0, 0, 15)),
    "one archived after its last delivery": (20, (10, 9, 9, 4, 1), (0, 1, 10)),
    "acknowledged out of order, the gap last": (5, (0, 0, 0, None, 5), (5, 0)),
    "acknowledged batches of a snapshot not counted twice": (6, (0, 3, 0, None, 3), (3, 0)),
    "returned batches of a snapshot not counted twice": (10, (0, 10, 10, 1, 0), (0, 0, 10)),
    "batches before the start offset dropped": (10, (8, 2, 2, 1, 0), (0, 0, 10)),
    "written by Kafka 4.1: the lag is unknown": (9, (5, None, 0, None, None), (0, 0)),
    "set beyond the end: no lag": (10, (1000, None, 0, None, 0), (0, 0)),
}


def test_the_progress_of_a_partition() -> None:
    """Each example has its start offset, lag, returned records with deliveries, and finished records by outcome."""
    assert EVENTS.keys() == PROGRESS.keys()
    for name, (end, expected, finished) in PROGRESS.items():
        found = state(*EVENTS[name])
        known = found.partitions[KEY]
        numbers = known.start_offset, known.lag(end), known.returned, known.most_deliveries, known.finished
        assert (name, numbers) == (name, expected)
        assert found.finished[KEY] == FinishedRecords(*finished)


def key(group: str, partition: int) -> dict[str, Any]:
    """Return the fields that name a partition of a group."""
    return {"group": group, "partition": partition}


def test_partitions_beyond_the_bound_are_not_kept() -> None:
    """Groups of such partitions are incomplete, also with partitions kept later. A removed group frees its place."""
    found = ShareState(most_partitions=2)
    for group, partition in (("a", 0), ("b", 0), ("a", 1), ("c", 0)):
        found.add(dataclasses.replace(CREATED, **key(group, partition)))
    assert ([(name, number) for name, _, number in found.partitions], found.incomplete) == ([("a", 0), ("b", 0)], {"a"})
    assert found.omitted == 2
    found.add(removed("a", KEY[1], 1))
    found.add(removed("a", KEY[1], 0))
    assert found.incomplete == set()
    found.add(dataclasses.replace(CREATED, **key("c", 1)))
    assert ({name for name, *_ in found.partitions}, found.incomplete) == ({"b", "c"}, {"c"})


def test_batches_beyond_the_bound_are_unknown_until_a_snapshot() -> None:
    """The lag and the accepted records stay known. The returned records are unknown, not 0."""
    found = ShareState(most_batches=2)
    for update in (CREATED, recorded(0, 1, (2, 2, ACKNOWLEDGED, 1)), recorded(0, 1, (4, 5, AVAILABLE, 1))):
        found.add(update)
    assert found.partitions[KEY].returned == 2
    found.add(recorded(0, 2, (7, 7, ACKNOWLEDGED, 1)))
    found.add(recorded(0, 3, (9, 9, ACKNOWLEDGED, 1)))
    beyond = found.partitions[KEY]
    assert (beyond.batches, beyond.returned, beyond.most_deliveries, beyond.lag(10)) == (None, None, None, 7)
    found.add(recorded(2, 1, (2, 2, ACKNOWLEDGED, 1), (4, 5, AVAILABLE, 1), snapshot=True))
    assert (found.partitions[KEY].returned, found.finished[KEY].acknowledged) == (2, 3)


def test_a_removed_partition_is_forgotten() -> None:
    """The state and the counts of a removed partition are dropped.

    A reader restarts the counts after the records that are in the log at its start.
    """
    found = state(CREATED, recorded(0, 1, (0, 0, ARCHIVED, 1)), removed(*KEY))
    assert (found.partitions, found.finished) == ({}, {})
    found = state(CREATED, recorded(0, 1, (0, 0, ARCHIVED, 1)))
    found.restart_counts()
    found.add(recorded(1, 1, (1, 1, ARCHIVED, 1)))
    assert found.finished[KEY] == FinishedRecords(0, 1)


BATCHES = st.builds(
    lambda first, size, state, count: (first, first + size, int(state), count),
    st.integers(0, 30), st.integers(0, 8), st.sampled_from(DeliveryState), st.integers(1, 5),
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 20), st.lists(BATCHES, max_size=3)), max_size=8))
def test_batches_are_those_of_single_offsets(updates: list[tuple[int, list[Batch]]]) -> None:
    """Batches are ordered and do not overlap; each offset has its most deliveries, and of these the latest state."""
    found, single, start = state(CREATED), dict[int, tuple[int, int]](), 0
    for by, batches in updates:
        start = max(start, by)
        found.add(recorded(start, 0, *batches))
        for first, last, of_batch, count in batches:
            for offset in range(first, last + 1):
                single[offset] = max(single.get(offset, (0, 0)), (count, of_batch))
        single = {offset: value for offset, value in single.items() if offset >= start}
    kept = found.partitions[KEY].batches or ()
    assert {o: (b.delivery_count, b.state) for b in kept for o in range(b.first, b.last + 1)} == single
    assert all(one.last < other.first for one, other in itertools.pairwise(kept))
    assert not any((one.last + 1, *one[2:]) == (other.first, *other[2:]) for one, other in itertools.pairwise(kept))
    assert all(isinstance(each, StateBatch) and each.first <= each.last for each in kept)
