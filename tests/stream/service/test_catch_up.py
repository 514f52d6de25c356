"""The progress of the catch-up: by position, exact after batches, approximate while one runs."""

import json

from hypothesis import given
from hypothesis import strategies as st

from stream.checkpoint.spark_offsets import SourceOffsets
from stream.service.catch_up import CatchUpProgress

PARTITION = st.integers(0, 5)
OFFSETS = st.dictionaries(PARTITION, st.integers(0, 1000), max_size=6)


# Per row: the starts, the ends, the finished positions, and the partitions that are behind.
BEHIND: dict[str, tuple[dict[int, int], dict[int, int], dict[int, int], list[int]]] = {
    "no partition at all": ({}, {}, {}, []),
    "an empty partition has nothing to read": ({0: 0}, {0: 0}, {}, []),
    "all records deleted: the log starts at its end": ({0: 40}, {0: 40}, {}, []),
    "nothing finished yet": ({0: 0}, {0: 5}, {}, [0]),
    "the last record is missing": ({0: 0}, {0: 5}, {0: 4}, [0]),
    "read to the end; a marker at the tail counts as read": ({0: 0}, {0: 5}, {0: 5}, []),
    "more records since the start": ({0: 0}, {0: 5}, {0: 9}, []),
    "the checkpoint has all records of the start": ({0: 5}, {0: 5}, {}, []),
    "read ahead of the last stable offset of the start": ({0: 7}, {0: 5}, {}, []),
    "one of two partitions is behind": ({0: 0, 1: 0}, {0: 5, 1: 3}, {1: 3}, [0]),
    "a partition the checkpoint does not know is read from its start": ({}, {3: 2}, {}, [3]),
}


def test_catch_up_is_over_when_every_position_is_at_its_end() -> None:
    """A partition is behind while the next offset to read is before the end that it had at the start."""
    for name, (starts, ends, finished, behind) in BEHIND.items():
        progress = CatchUpProgress(starts, ends)
        progress.finish(finished)
        assert (name, progress.behind, progress.caught_up) == (name, behind, not behind)


def test_task_progress_moves_the_bar_and_not_readiness() -> None:
    """The progress that tasks report during a batch is only displayed, even if it has reached the end."""
    progress = CatchUpProgress({0: 0}, {0: 10})
    progress.record_task_progress({0: 10})
    assert progress.catch_up(0.0).ratio == 1.0
    assert not progress.caught_up
    assert progress.behind == [0]


@given(starts=OFFSETS, ends=OFFSETS, reports=st.lists(st.dictionaries(st.integers(0, 7), st.integers(-5, 2000))))
def test_ratio_only_rises_and_stays_between_zero_and_one(
    starts: dict[int, int], ends: dict[int, int], reports: list[dict[int, int]]
) -> None:
    """The ratio neither decreases nor exceeds its bounds, for any order of reports from any partition."""
    progress = CatchUpProgress(starts, ends)
    ratios = [progress.catch_up(0.0).ratio]
    for at, positions in enumerate(reports):
        progress.record_task_progress(positions)
        ratios.append(progress.catch_up(float(at)).ratio)
    assert ratios == sorted(ratios)
    assert all(0.0 <= ratio <= 1.0 for ratio in ratios)


@given(starts=OFFSETS, ends=OFFSETS)
def test_reading_to_the_ends_is_enough_from_any_start(starts: dict[int, int], ends: dict[int, int]) -> None:
    """The ratio is 1 and no time is left when all partitions are read to the ends that they had at the start."""
    progress = CatchUpProgress(starts, ends)
    progress.finish(ends)
    assert progress.caught_up
    now = progress.catch_up(1.0)
    assert (now.ratio, now.seconds_left) == (1.0, 0.0)


def test_rate_and_time_left_come_from_the_last_seconds() -> None:
    """The rate is that of the last ten seconds, and the time left follows from it."""
    progress = CatchUpProgress({0: 0}, {0: 1000})
    progress.catch_up(0.0)
    progress.record_task_progress({0: 100})
    assert progress.catch_up(10.0).rate == 10.0
    progress.record_task_progress({0: 400})
    now = progress.catch_up(15.0)
    assert now.rate == 60.0
    assert now.seconds_left == 10.0


@given(positions=OFFSETS, epochs=OFFSETS)
def test_offsets_are_read_as_spark_writes_them(positions: dict[int, int], epochs: dict[int, int]) -> None:
    """Spark keys partitions by text. A version without leader epochs wrote the positions alone."""
    offsets = SourceOffsets(positions, epochs)
    assert SourceOffsets.of_text(json.dumps(offsets.to_json())) == offsets
    assert SourceOffsets(positions).to_json() == {"__consumer_offsets": {str(key): positions[key] for key in positions}}
