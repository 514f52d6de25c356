"""Tests of the detection of a stopped log cleaner with simulated logs."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.cluster_facts.log_cleaner import PATIENCE_SECONDS, CleanerWatch, CompactionConfig, OffsetsPartitionSizes

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
    stops_at: float | None = None,
    segment: int = SEGMENT,
) -> Iterator[int]:
    """Yield the size at each poll of a log that is written at `rate` bytes per second and compacted to `clean` bytes.

    Each hour adds `more` bytes of new keys. As in Kafka, the segments before the active one are compacted once they are
    dirty enough, and none after `stops_at` hours.
    """
    cleaned, dirty, active = clean, 0.0, 0.0
    for step in range(int(hours * 3600 / EVERY)):
        active += rate * EVERY
        rolled = active // segment * segment
        dirty, active = dirty + rolled, active - rolled
        hour = step * EVERY / 3600
        alive = stops_at is None or hour < stops_at
        if alive and dirty > 0 and dirty / (cleaned + dirty) > LIMITS.dirty_ratio:
            cleaned, dirty = clean + more * hour, 0.0
        yield int(cleaned + dirty + active)


def watched(
    *replicas: Iterable[int], limits: CompactionConfig = LIMITS, in_sync: int | None = None, **fields: Any
) -> list[list[str]]:
    """Return the evidence after each poll of partition 0, with a replica on each broker from 1 on."""
    watch = CleanerWatch()
    evidence_by_poll = []
    for step, sizes in enumerate(zip(*replicas, strict=False)):
        held = {(broker, 0): size for broker, size in enumerate(sizes, 1)}
        given_sizes = OffsetsPartitionSizes(step * EVERY, held, [*held][:in_sync], {0: step * 1_000}, **fields)
        evidence_by_poll.append(watch.evaluate(given_sizes, limits))
    return evidence_by_poll


def first_found(evidence_by_poll: list[list[str]]) -> float | None:
    """Return the hours until the first evidence."""
    return next((step * EVERY / 3600 for step, evidence in enumerate(evidence_by_poll) if evidence), None)


def test_a_working_cleaner_causes_no_evidence() -> None:
    """A log that is compacted by Kafka's rules causes no evidence."""
    logs: dict[str, Iterable[int]] = {
        "a busy topic": log(30_000, 48, clean=40 * MB),
        "a new cluster until its first compaction": log(30_000, 48),
        "a segment per poll": log(2_000_000, 12, clean=5 * MB),
        "a segment in four days": log(300, 24 * 20, clean=3 * MB),
        "many live keys: half a gigabyte of dirty records is allowed": log(50_000, 48, clean=700 * MB),
        "a growing number of live keys": log(50_000, 200, clean=20 * MB, more=5 * MB),
        "no commits": [40 * MB] * 2_000,
        "a slow growth within the two segments": [int(MB + n * MB / 20) for n in range(3_000)],
    }
    assert {name: first_found(watched(sizes)) for name, sizes in logs.items()} == dict.fromkeys(logs)


@given(st.floats(100, 5_000_000), st.floats(0, 1e9), st.integers(1 * MB, 500 * MB), st.floats(0, 0.95))
def test_a_working_cleaner_causes_no_evidence_with_any_traffic(
    rate: float, clean: float, segment: int, start: float
) -> None:
    """A compacted log causes no evidence for any rate, number of live keys, segment size and time of the first poll."""
    sizes = [*log(rate, 6, clean=clean, segment=segment)]
    sizes = sizes[int(len(sizes) * start) :]
    assert first_found(watched(sizes, limits=CompactionConfig(segment, LIMITS.dirty_ratio))) is None


def test_a_stopped_cleaner_is_found() -> None:
    """A log that is no longer compacted is found ten minutes after it exceeds its limit."""
    # The limit from the last compaction: two segments, as many dirty bytes as clean ones, and ten minutes.
    from_start = first_found(watched(log(30_000, 12, stops_at=0)))
    after_five_hours = first_found(watched(log(30_000, 48, clean=40 * MB, stops_at=5)))
    on_a_busy_topic = first_found(watched(log(2_000_000, 12, clean=5 * MB, stops_at=1)))
    expected = [(200 / 0.03 + 600) / 3600, (500 / 0.03 + 240 / 0.03 + 600) / 3600, 1 + (205 / 2 + 600) / 3600]
    assert [from_start, after_five_hours, on_a_busy_topic] == pytest.approx(expected, abs=0.05)


def test_a_replica_that_is_not_compacted_is_found() -> None:
    """Each broker compacts its own replica, so a cleaner that stopped before the first poll is found too."""
    evidence_by_poll = watched([40 * MB] * 20, [6_000 * MB] * 20)
    assert first_found(evidence_by_poll) == pytest.approx(PATIENCE_SECONDS / 3600)
    (sentence,) = evidence_by_poll[-1]
    assert sentence.startswith("partition 0 of __consumer_offsets on broker 2 takes 6.0 GB, and 40.0 MB on broker 1")


def test_replicas_that_may_differ_cause_no_evidence() -> None:
    """Replicas differ before and after a compaction. Out-of-sync replicas, which may be copies, are not compared."""
    rows = [(40 * MB, 270 * MB, None), (40 * MB, 6_000 * MB, 0), (6_000 * MB, 10 * MB, 1)]
    assert [first_found(watched([one] * 20, [other] * 20, in_sync=n)) for one, other, n in rows] == [None] * 3


def growing(start: int) -> list[int]:
    """Return the sizes of a log that gains 1,000 records of 100 bytes per poll."""
    return [start + step * 1_000 * RECORD for step in range(30)]


def test_a_log_larger_than_its_live_keys_is_found() -> None:
    """A log that was large before the first poll is compared with its live keys.

    Two segments are allowed even for one key. The record size is unknown without commits.
    """
    for keys in ({0: 10_000}, {}):
        evidence_by_poll = watched(growing(6_000 * MB), keys=lambda keys=keys: keys)
        assert first_found(evidence_by_poll) is not None
        assert "records of up to 100 B; compaction would keep it below" in evidence_by_poll[-1][0]
    rows = [(growing(6_000 * MB), {0: 16_000_000}), (growing(6_000 * MB), None), (growing(190 * MB), {0: 1})]
    rows.append(([6_000 * MB] * 30, {0: 1}))
    assert [first_found(watched(sizes, keys=lambda keys=keys: keys)) for sizes, keys in rows] == [None] * 4


def test_each_broker_has_one_sentence() -> None:
    """The sentence of a broker has its worst partition and the number of its other partitions."""
    watch = CleanerWatch()
    for step in range(20):
        replicas = {(broker, p): step * (10 + p) * MB * broker for broker in (1, 2) for p in range(3)}
        evidence_by_poll = watch.evaluate(OffsetsPartitionSizes(step * 600, replicas, [], {}), LIMITS)
    one, two = evidence_by_poll
    assert one.startswith("partition 2 of __consumer_offsets on broker 1 has grown from 0 B to 228.0 MB in 3 h 10 min")
    assert two.startswith("partition 2 of __consumer_offsets on broker 2 has grown from 0 B to 456.0 MB")
    assert two.endswith("(and 2 more of its partitions)")
