"""Commits that do not fit the log: the cause, from topic ids, leader epochs and observed ends."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from stream.health.features.lag import BEYOND_END, Commits, PartitionEnds, lag
from stream.health.features.offset_out_of_range import (
    NAMES,
    RECREATED,
    STALE_END,
    TRUNCATED,
    CommitOrigins,
    classify,
    is_unknown,
    mark_truncated,
    topic_ids,
)
from stream.health.features.window import build_without_history
from stream.health.limits import HealthLimits
from tests.stream.health.simulator import MINUTE, Partition, Scene, look
from tests.stream.health.tables import wrong

OLD, NEW = bytes(range(16)), bytes(range(1, 17))


def reason(
    committed: int, *, epoch: int = -1, leader: int = -1, was: bytes | None = None, now: bytes | None = None
) -> str:
    """Return the reason for one commit on a partition of 100 offsets."""
    column = np.array([committed], np.int64)
    ends = PartitionEnds(
        np.array([7]), np.array([100]), np.array([0]), np.array([True]), None, np.array([leader], np.int32)
    )
    origins = CommitOrigins(
        leader_epoch=np.array([epoch], np.int32),
        topic_id=topic_ids(pa.array([was], pa.binary(16))),
        current_topic_id=topic_ids(pa.array([now], pa.binary(16))),
    )
    code = classify(column, lag(Commits(np.array([7]), column), ends), ends, origins)
    assert is_unknown(code).tolist() == [NAMES[code[0]] == RECREATED]
    return NAMES[code[0]]


def test_a_commit_in_range_has_no_code() -> None:
    """The commit is not above the end, and is of the same topic or of a topic without a known id."""
    assert reason(50) == ""
    assert reason(100, was=OLD, now=OLD, epoch=3, leader=3) == ""


CASES = {
    "nothing more is known": (reason(101), BEYOND_END),
    "another topic id": (reason(101, was=OLD, now=NEW), RECREATED),
    "another topic id, and the new log has grown past it": (reason(50, was=OLD, now=NEW), RECREATED),
    "an id on one side only": (reason(101, was=OLD), BEYOND_END),
    "the all-zero id of an old broker": (reason(101, was=bytes(16), now=NEW), BEYOND_END),
    "a later epoch than the leader's, without ids": (reason(101, epoch=9, leader=2), RECREATED),
    "a later epoch than the leader's, of the same topic": (reason(101, epoch=9, leader=2, was=OLD, now=OLD), STALE_END),
    "a new leader, and a shorter log": (reason(101, epoch=4, leader=5), TRUNCATED),
    "a new leader of the same topic": (reason(101, epoch=4, leader=5, was=OLD, now=OLD), TRUNCATED),
    "the same leader of the same topic": (reason(101, epoch=4, leader=4, was=OLD, now=OLD), STALE_END),
    "the same epoch, and no ids": (reason(101, epoch=0, leader=0), BEYOND_END),
    "a new leader, and an offset below the end": (reason(90, epoch=4, leader=5), ""),
}


def test_the_cause_is_named_as_far_as_it_is_known() -> None:
    """The cause is a recreated topic, a truncated log, a stale end, or only an offset beyond the end."""
    assert wrong(CASES, lambda found: found) == []


def test_an_observed_fall_of_the_end_means_a_truncated_log() -> None:
    """An observed fall of the end decides if the commit itself does not show the cause."""
    fell = np.array([True, False])
    for code, topic_id, named in (
        (STALE_END, None, TRUNCATED),  # the same topic by the id of the commit
        (BEYOND_END, NEW, TRUNCATED),  # the same topic by the history, which a new topic clears
        (BEYOND_END, None, BEYOND_END),  # unknown topic id: possibly recreated
        (RECREATED, NEW, RECREATED),  # recreated topic by the id of the commit
        ("", NEW, ""),  # the commit is below the new end
    ):
        codes, ids = np.array([NAMES.index(code)] * 2, np.int8), topic_ids(pa.array([topic_id] * 2, pa.binary(16)))
        after = mark_truncated(codes, fell, CommitOrigins(current_topic_id=ids))
        assert [NAMES[each] for each in after.tolist()] == [named, code]
        assert NAMES[mark_truncated(codes, fell, CommitOrigins())[0]] == (TRUNCATED if code == STALE_END else code)


@pytest.mark.parametrize("committed", [50, 700], ids=["below the log start", "above the log start"])
def test_no_distance_is_measured_from_an_offset_of_an_earlier_topic(committed: int) -> None:
    """Lost offsets and margin are unknown, because the offset counts records that this log never had."""
    partition = Partition(lambda _: 1_000, [(0, committed)], log_start=lambda _: 100)
    seen = look(Scene([partition]), MINUTE)
    sound = build_without_history(seen, HealthLimits())
    assert (int(sound.ends.lost[0]), int(sound.ends.margin[0])) == (max(100 - committed, 0), max(committed - 100, 0))
    earlier = CommitOrigins(
        topic_id=topic_ids(pa.array([OLD], pa.binary(16))), current_topic_id=topic_ids(pa.array([NEW], pa.binary(16)))
    )
    window = build_without_history(dataclasses.replace(seen, origins=earlier), HealthLimits())
    assert NAMES[window.out_of_range[0]] == RECREATED
    assert (int(window.ends.lost[0]), int(window.ends.margin[0])) == (-1, -1)
