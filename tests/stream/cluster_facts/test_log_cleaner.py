"""The log cleaner judged by sizes: a log that is written and compacted by Kafka's rules, and ones that are not."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cluster_facts.log_cleaner import PATIENCE_SECONDS, CleanerWatch, CompactionConfig, OffsetsPartitionSizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MB = 1_000_000
EVERY = 60.0
RECORD = 100
SEGMENT = 100 * MB
LIMITS = CompactionConfig(SEGMENT, 0.5)


def log(
    rate: float,
    hours: float,
    *,
    clean: float = 0.0,
    more: float = 0.0,
    dies_at: float | None = None,
    segment: int = SEGMENT,
) -> Iterator[int]:
    """Give the size at each poll of a log that is written at `rate` bytes per second and compacted to `clean` bytes.

    And to `more` bytes for each hour, where keys come in. Compacted as Kafka does it: the segments before the active
    one, once they are dirty enough; not after `dies_at` hours.
    """
    cleaned, dirty, active = clean, 0.0, 0.0
    for step in range(int(hours * 3600 / EVERY)):
        active += rate * EVERY
        rolled = active // segment * segment
        dirty, active = dirty + rolled, active - rolled
        hour = step * EVERY / 3600
        alive = dies_at is None or hour < dies_at
        if alive and dirty > 0 and dirty / (cleaned + dirty) > LIMITS.dirty_ratio:
            cleaned, dirty = clean + more * hour, 0.0
        yield int(cleaned + dirty + active)


def watched(
    *replicas: Iterable[int], limits: CompactionConfig = LIMITS, in_sync: int | None = None, **fields: Any
) -> list[list[str]]:
    """Give what the watch says after each poll of partition 0, a replica on each of the brokers from 1 on."""
    watch = CleanerWatch()
    told = []
    for step, sizes in enumerate(zip(*replicas, strict=False)):
        by_replica = {(broker, 0): size for broker, size in enumerate(sizes, 1)}
        given_sizes = OffsetsPartitionSizes(
            step * EVERY, by_replica, [*by_replica][:in_sync], {0: step * 1_000}, **fields
        )
        told.append(watch.evaluate(given_sizes, limits))
    return told


def first_found(told: list[list[str]]) -> float | None:
    """Give after how many hours something was said."""
    return next((step * EVERY / 3600 for step, evidence in enumerate(told) if evidence), None)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(log(30_000, 48, clean=40 * MB), id="the saw-tooth of a busy topic"),
        pytest.param(log(30_000, 48), id="a young cluster: nothing, then a segment, then the first compaction"),
        pytest.param(log(2_000_000, 12, clean=5 * MB), id="so busy that a segment is full before the next look"),
        pytest.param(log(300, 24 * 20, clean=3 * MB), id="so quiet that a segment takes four days"),
        pytest.param(log(50_000, 48, clean=700 * MB), id="many live keys: half a gigabyte of dirt is allowed"),
        pytest.param(log(50_000, 200, clean=20 * MB, more=5 * MB), id="ever more live keys: a gigabyte in the end"),
        pytest.param([40 * MB] * 2_000, id="nobody commits"),
        pytest.param([int(MB + n * MB / 20) for n in range(3_000)], id="a slow growth within the two segments"),
    ],
)
def test_a_working_cleaner_is_no_suspect(sizes: Iterable[int]) -> None:
    """Whatever the traffic, a log that is compacted by Kafka's rules never says anything."""
    assert first_found(watched(sizes)) is None


@given(st.floats(100, 5_000_000), st.floats(0, 1e9), st.integers(1 * MB, 500 * MB), st.floats(0, 0.95))
def test_no_traffic_makes_a_working_cleaner_a_suspect(rate: float, clean: float, segment: int, start: float) -> None:
    """Any rate, any amount of live keys, any segment size, and whenever the watch begins."""
    sizes = [*log(rate, 6, clean=clean, segment=segment)]
    sizes = sizes[int(len(sizes) * start) :]
    assert first_found(watched(sizes, limits=CompactionConfig(segment, LIMITS.dirty_ratio))) is None


@pytest.mark.parametrize(
    ("sizes", "hours"),
    [
        # From the last compaction: two segments, as much dirt as is clean, and the patience of ten minutes.
        pytest.param(
            log(30_000, 12, dies_at=0), (200 / 0.03 + 600) / 3600, id="dead from the first day: two segments full"
        ),
        pytest.param(
            log(30_000, 48, clean=40 * MB, dies_at=5),
            (500 / 0.03 + 240 / 0.03 + 600) / 3600,
            id="dies after five hours",
        ),
        pytest.param(
            log(2_000_000, 12, clean=5 * MB, dies_at=1), 1 + (205 / 2 + 600) / 3600, id="dies on a busy topic"
        ),
    ],
)
def test_a_dead_cleaner_is_found(sizes: Iterable[int], hours: float) -> None:
    """A log that has outgrown its bound and does not shrink is found once two segments were written for nothing."""
    found = first_found(watched(sizes))
    assert found == pytest.approx(hours, abs=0.05)


def test_a_cleaner_that_comes_back_is_no_suspect_any_more() -> None:
    """One look at a smaller log ends it."""
    told = watched(itertools.chain(log(30_000, 10, dies_at=0), [30 * MB, 31 * MB]))
    assert (len(told[-3]), told[-2:]) == (1, [[], []])


def test_a_busy_cleaner_is_waited_for() -> None:
    """A log that is overdue for less than ten minutes is only waiting for its turn."""
    steps = int(PATIENCE_SECONDS / EVERY)
    assert first_found(watched([0, *[201 * MB] * steps, 0, *[201 * MB] * steps])) is None
    assert first_found(watched([0, *[201 * MB] * (steps + 1)])) is not None


def test_what_may_not_be_compacted_yet_is_waited_for() -> None:
    """With min.compaction.lag.ms the patience is that much longer."""
    limits = CompactionConfig(SEGMENT, 0.5, lag_seconds=7_200)
    assert first_found(watched([0, *[900 * MB] * 200], limits=limits)) == pytest.approx(2.2, abs=0.05)


def test_one_replica_is_compacted_and_the_other_is_not() -> None:
    """Each broker compacts its own copy, so a cleaner that died long before the first look shows all the same."""
    told = watched([40 * MB] * 20, [6_000 * MB] * 20)
    assert first_found(told) == pytest.approx(PATIENCE_SECONDS / 3600)
    (sentence,) = told[-1]
    assert sentence.startswith("partition 0 of __consumer_offsets on broker 2 takes 6.0 GB, and 40.0 MB on broker 1")


@pytest.mark.parametrize(
    ("one", "other", "in_sync"),
    [
        pytest.param(40 * MB, 270 * MB, None, id="one has just been compacted, the other is about to be"),
        pytest.param(40 * MB, 6_000 * MB, 0, id="both are out of sync: nothing to hold them against"),
        pytest.param(6_000 * MB, 10 * MB, 1, id="the small one is still copying"),
    ],
)
def test_replicas_that_may_differ(one: int, other: int, in_sync: int | None) -> None:
    """Before and after a compaction they differ, and one that is not in sync says nothing."""
    assert first_found(watched([one] * 20, [other] * 20, in_sync=in_sync)) is None


def growing(start: int) -> list[int]:
    """Give a log with 1,000 records of 100 bytes more at each poll."""
    return [start + step * 1_000 * RECORD for step in range(30)]


@pytest.mark.parametrize(
    ("start", "keys", "found"),
    [
        pytest.param(6_000 * MB, {0: 10_000}, True, id="6 GB for ten thousand keys"),
        pytest.param(6_000 * MB, {}, True, id="6 GB for none"),
        pytest.param(6_000 * MB, {0: 16_000_000}, False, id="6 GB for sixteen million keys"),
        pytest.param(6_000 * MB, None, False, id="how many keys there are is not known"),
        pytest.param(190 * MB, {0: 1}, False, id="two segments are allowed even for one key"),
    ],
)
def test_larger_than_its_living_keys(start: int, keys: dict[int, int] | None, *, found: bool) -> None:
    """A log that was full long before the first look is held against the keys that live in it."""
    told = watched(growing(start), keys=lambda: keys)
    assert (first_found(told) is not None) == found
    if found:
        assert "records of up to 100 B; compaction would keep it below" in told[-1][0]


def test_without_growth_no_record_is_measured() -> None:
    """Where nobody commits, the bytes of a record are not known, and nothing is said."""
    assert first_found(watched([6_000 * MB] * 30, keys=lambda: {0: 1})) is None


def test_one_sentence_for_each_broker_and_sign() -> None:
    """However many partitions are overdue, the worst is told and the others are counted."""
    watch = CleanerWatch()
    for step in range(20):
        replicas = {(broker, p): step * (10 + p) * MB * broker for broker in (1, 2) for p in range(3)}
        told = watch.evaluate(OffsetsPartitionSizes(step * 600, replicas, [], {}), LIMITS)
    one, two = told
    assert one.startswith("partition 2 of __consumer_offsets on broker 1 has grown from 0 B to 228.0 MB in 3.2 h")
    assert two.startswith("partition 2 of __consumer_offsets on broker 2 has grown from 0 B to 456.0 MB")
    assert two.endswith("(and 2 more of its partitions)")


def test_a_replica_that_moves_away_is_forgotten() -> None:
    """It leaves nothing behind, and is new when it comes back."""
    watch = CleanerWatch()
    for step, size in enumerate([0, 900 * MB, None, 900 * MB, 900 * MB]):
        replicas = {} if size is None else {(1, 0): size}
        assert watch.evaluate(OffsetsPartitionSizes(step * 3600, replicas, [], {}), LIMITS) == []
