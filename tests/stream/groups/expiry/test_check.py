"""The check of predictions: every outcome as an example, and properties of the counts."""

from collections import Counter
from typing import Final

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.expiry.broker_rules import NEVER, UNKNOWN, OffsetsRetention
from stream.groups.expiry.causes import SLACK_MS, TOLERANCE_MS
from stream.groups.expiry.check import BOUNDS, ExpiryCheck, PredictionOutcome
from stream.groups.expiry.predict import Times, predict_removed
from stream.groups.membership.memberships import Membership
from stream.groups.row_order import RemovedOffset
from tests.support.offsets import Offset

MINUTE: Final = 60_000
INTERVAL: Final = 10 * MINUTE
SETTINGS: Final = OffsetsRetention(7 * 1440 * MINUTE, INTERVAL, "broker")
HOUR: Final = 10**12
"""The time at which the offset of an example expires."""
LATE: Final = INTERVAL + SLACK_MS
MISSING: Final = 2 * INTERVAL + SLACK_MS


def forgotten(time: int, *, group: str = "g", last_time: int = 0, expire_time: int | None = None) -> RemovedOffset:
    """Return the removal of the offset of partition 0 of topic `t`."""
    return RemovedOffset(Offset(group, "t", 0, 0).key, group, "t", 0, time, last_time, expire_time)


def keys(*groups: str) -> pa.BinaryArray:
    """Return the key of the offset of each of these groups."""
    return pa.array([Offset(group, "t", 0, 0).key for group in groups], pa.binary())


def hours(*values: int) -> Times:
    return np.array(values, np.int64)


def arrive(watch: ExpiryCheck, time: int, hour: int = HOUR) -> PredictionOutcome | None:
    """Record the tombstone of group `g`."""
    (outcome,) = watch.record_tombstones([forgotten(time)], hours(hour), SETTINGS)
    return outcome


def look(watch: ExpiryCheck, now: int, hour: int = HOUR) -> bool:
    """Update with the existing offset of group `g`; return whether its tombstone is missing."""
    (missing,) = watch.update(keys("g"), hours(hour), now, SETTINGS).tolist()
    return bool(missing)


def nonzero_counts(watch: ExpiryCheck) -> dict[str, int]:
    """Return the counts that are not zero."""
    return {str(outcome): count for outcome, count in watch.counts.items() if count}


KEPT, LATE_ONE, EARLY, DELETED = (
    PredictionOutcome.KEPT,
    PredictionOutcome.LATE,
    PredictionOutcome.EARLY,
    PredictionOutcome.DELETED,
)
TOMBSTONES: Final = [
    ("removed at the predicted time", HOUR, HOUR, KEPT, 0.0),
    ("removed one check interval later", HOUR + INTERVAL, HOUR, KEPT, 600.0),
    ("removed at the end of the allowed delay", HOUR + LATE, HOUR, KEPT, 660.0),
    ("removed after the allowed delay", HOUR + LATE + 1, HOUR, LATE_ONE, 660.001),
    ("removed early, within the clock tolerance", HOUR - TOLERANCE_MS, HOUR, KEPT, -5.0),
    ("removed early, beyond the clock tolerance", HOUR - TOLERANCE_MS - 1, HOUR, EARLY, None),
    ("removed early by the allowed delay", HOUR - LATE, HOUR, EARLY, None),
    ("removed early by more than the allowed delay", HOUR - LATE - 1, HOUR, DELETED, None),
    ("removed days early", HOUR - 6 * 1440 * MINUTE, HOUR, DELETED, None),
    ("removed although it never expires", 5, NEVER, DELETED, None),
    ("no prediction", 5, UNKNOWN, None, None),
]


def test_the_time_of_a_tombstone_decides_the_outcome() -> None:
    """Each tombstone has one outcome; only expired offsets have an error."""
    for story, time, hour, outcome, seconds in TOMBSTONES:
        watch = ExpiryCheck()
        assert arrive(watch, time, hour) is outcome, story
        assert nonzero_counts(watch) == ({} if outcome is None else {str(outcome): 1}), story
        errors = (watch.errors.sum(), watch.total_error)
        assert errors == ((0, 0.0) if seconds is None else (1, seconds)), story


def test_the_histogram_is_complete() -> None:
    """Each error is counted at the least bound that is not below it; an error above all bounds comes last."""
    watch = ExpiryCheck()
    for seconds in (-2, 0, 1, 599, 660, 100_000):
        arrive(watch, HOUR + seconds * 1000)
    counts = dict(zip((*BOUNDS, None), watch.errors.tolist(), strict=True))
    assert {bound: count for bound, count in counts.items() if count} == {0.0: 2, 1.0: 1, 600.0: 1, 660.0: 1, None: 1}
    assert watch.total_error == 101_258.0


class TestMissing:
    """Offsets that still exist after their predicted time."""

    def test_a_tombstone_is_missing_after_two_check_intervals(self) -> None:
        """A tombstone is missing only after the second interval, and is counted once."""
        watch = ExpiryCheck()
        assert [look(watch, now) for now in (HOUR - 1, HOUR, HOUR + LATE, HOUR + MISSING)] == [False] * 4
        assert nonzero_counts(watch) == {}
        assert [look(watch, HOUR + MISSING + more) for more in (1, 2, 10**9)] == [True] * 3
        assert nonzero_counts(watch) == {"missing": 1}

    def test_a_missing_tombstone_that_arrives_is_not_counted_again(self) -> None:
        """A missing tombstone that arrives has the outcome LATE and an error, and is counted only as missing."""
        watch = ExpiryCheck()
        look(watch, HOUR - 1)
        look(watch, HOUR + MISSING + 1)
        assert arrive(watch, HOUR + MISSING + 1) is LATE_ONE
        assert nonzero_counts(watch) == {"missing": 1}
        assert watch.total_error == (MISSING + 1) / 1000

    def test_a_new_commit_is_a_new_prediction(self) -> None:
        """No tombstone is missing after a new commit until the new predicted time has passed too."""
        watch = ExpiryCheck()
        look(watch, HOUR - 1)
        look(watch, HOUR + MISSING + 1)
        later = HOUR + 3 * MISSING
        assert not look(watch, HOUR + 2 * MISSING, later)
        assert look(watch, later + MISSING + 1, later)
        assert nonzero_counts(watch) == {"missing": 2}

    def test_an_offset_overdue_at_the_first_update_is_due_since_then(self) -> None:
        """A tombstone that is overdue at the first update is missing two check intervals later."""
        watch = ExpiryCheck()
        begin = HOUR + 10 * MISSING
        assert not look(watch, begin)
        assert not look(watch, begin + MISSING)
        assert look(watch, begin + MISSING + 1)

    def test_a_predicted_time_in_the_past_is_due_since_it_was_predicted(self) -> None:
        """The tombstone of a topic that a KIP-848 group no longer subscribes to is neither missing nor late."""
        watch = ExpiryCheck()
        start = HOUR + 10 * MISSING
        assert not look(watch, start, NEVER)
        assert not look(watch, start + 10, HOUR)
        assert not look(watch, start + MISSING, HOUR)
        assert arrive(watch, start + INTERVAL) is KEPT
        assert watch.total_error == 600.0

    def test_an_offset_may_be_removed_before_an_update_sees_it_due(self) -> None:
        """An offset that became due after the last update or before the first one is KEPT, the latter without error."""
        start = HOUR + 10 * MISSING
        for hour, time, seconds in ((NEVER, start + 1000, 1.0), (HOUR, HOUR + MISSING, 0.0)):
            watch = ExpiryCheck()
            look(watch, start, hour)
            assert arrive(watch, time) is KEPT
            assert watch.total_error == seconds

    def test_overdue_time_starts_again_after_a_restart(self) -> None:
        """A tombstone is missing two check intervals after the restart. One that was missing before is counted once."""
        watch = ExpiryCheck()
        ahead = HOUR + MISSING
        watch.update(keys("g", "h"), hours(HOUR, ahead), HOUR - 1, SETTINGS)
        assert watch.update(keys("g", "h"), hours(HOUR, ahead), ahead + 1, SETTINGS).tolist() == [True, False]
        watch.restart()
        back = ahead + 10 * MISSING
        assert watch.update(keys("g", "h"), hours(HOUR, ahead), back, SETTINGS).tolist() == [True, False]
        assert watch.update(keys("g", "h"), hours(HOUR, ahead), back + MISSING, SETTINGS).tolist() == [True, False]
        assert nonzero_counts(watch) == {"missing": 1}
        assert watch.update(keys("g", "h"), hours(HOUR, ahead), back + MISSING + 1, SETTINGS).tolist() == [True, True]
        assert nonzero_counts(watch) == {"missing": 2}

    def test_offsets_without_a_predicted_time_are_never_missing(self) -> None:
        """Offsets with the prediction NEVER or UNKNOWN are not missing, for any order of the rows."""
        watch = ExpiryCheck()
        for now in (HOUR, HOUR + MISSING + 1):
            watch.update(keys("a", "b", "c"), hours(NEVER, UNKNOWN, HOUR), now, SETTINGS)
        missing = watch.update(keys("c", "b", "a"), hours(HOUR, UNKNOWN, NEVER), HOUR + MISSING + 2, SETTINGS)
        assert missing.tolist() == [True, False, False]
        assert nonzero_counts(watch) == {"missing": 1}

    def test_a_missing_tombstone_stays_missing_with_a_longer_interval(self) -> None:
        """A counted tombstone stays counted once if the check interval becomes longer."""
        watch = ExpiryCheck()
        rarely = OffsetsRetention(SETTINGS.retention_ms, 10 * INTERVAL, "broker")
        for now, settings in ((HOUR - 1, SETTINGS), (HOUR + MISSING + 1, SETTINGS), (HOUR + MISSING + 2, rarely)):
            missing = watch.update(keys("g"), hours(HOUR), now, settings).tolist()
        assert missing == [True]
        watch.update(keys("g"), hours(HOUR), HOUR + 100 * MISSING, rarely)
        assert nonzero_counts(watch) == {"missing": 1}


def test_the_prediction_for_a_removed_offset_is_that_of_its_last_commit() -> None:
    """The prediction uses the membership from before the removal. Other groups have no effect."""
    empty = Membership("classic", "Empty", 0, "consumer", state_time=1000)
    gone = [
        forgotten(0, group="a", last_time=10),
        forgotten(0, group="b", last_time=20),
        forgotten(0, group="b", last_time=30, expire_time=40),
        forgotten(0, group="c", last_time=-1),
    ]
    found = predict_removed(gone, {"b": empty, "x": empty}, OffsetsRetention(5, None, "broker"))
    assert found.tolist() == [15, 1005, 40, UNKNOWN]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.one_of(st.sampled_from([NEVER, UNKNOWN, 0]), st.integers(0, 3 * MISSING)),
            st.one_of(st.none(), st.integers(0, 6 * MISSING)),
            st.integers(1, 6),
        ),
        max_size=12,
    )
)
def test_every_prediction_is_counted_at_most_once(steps: list[tuple[str, int, int | None, int]]) -> None:
    """A prediction has at most one outcome, and every expiration has an error, for any updates and tombstones.

    Every new missing tombstone is counted, and every tombstone with a prediction that was not counted as missing. The
    last number of a step is that of its repetitions.
    """
    watch = ExpiryCheck()
    counted: Counter[PredictionOutcome] = Counter()
    predictions, expired = 0, 0
    now = 0
    last_missing: tuple[str, int] | None = None
    for group, hour, time in [step[:3] for step in steps for _ in range(step[3])]:
        now += MISSING // 2
        (missing,) = watch.update(keys(group), hours(hour), now, SETTINGS).tolist()
        counted[PredictionOutcome.MISSING] += missing and last_missing != (group, hour)
        last_missing = (group, hour) if missing else None
        predictions += hour != UNKNOWN
        if time is not None:
            (outcome,) = watch.record_tombstones([forgotten(time, group=group)], hours(hour), SETTINGS)
            assert (outcome is None) == (hour == UNKNOWN)
            expired += outcome in {KEPT, LATE_ONE}
            if outcome is not None:
                counted[outcome] += not missing
    assert watch.counts == {outcome: counted[outcome] for outcome in PredictionOutcome}
    assert counted.total() <= predictions
    assert watch.errors.sum() == expired
