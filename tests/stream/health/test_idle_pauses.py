"""Clients that commit the offset of the last record they have read: learned from idle pauses, and only from those."""

from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    MINUTE,
    SECOND,
    TICK,
    Partition,
    Scene,
    by_list,
    consume,
    new_evaluator,
    verdicts,
    watch,
)
from tests.stream.health.situations import LATE, LONG, commits_last_read, pausing

V = Verdict
FOUR = ((-5 * MINUTE, -4 * MINUTE), (-2 * MINUTE, -MINUTE), (0, 4 * MINUTE), (5 * MINUTE, 9 * MINUTE))


def test_a_single_partition_is_learned_after_two_idle_pauses_and_survives_a_restart() -> None:
    """The group has no fault from the third pause on, and its time lag is that of records that are not read.

    The group is not stopped after a start of the monitor during a pause.
    """
    scene, first = commits_last_read(1, FOUR), new_evaluator()
    ticks = watch(scene, -6 * MINUTE, MINUTE, evaluator=first)
    ticks += watch(scene, MINUTE + TICK, 10 * MINUTE, evaluator=new_evaluator(first.pack()))
    assert verdicts(ticks, 1) == {V.COMMITS_LAST_READ}
    assert [int(each.result.window.lag[0]) for each in ticks if TICK < each.time <= 4 * MINUTE] == [1] * 23
    assert {int(each.result.window.time_lag.age[0]) for each in ticks if 0 < each.time <= 4 * MINUTE} == {0}


def test_an_idle_pause_at_the_end_ends_the_habit() -> None:
    """A repaired client has read everything at lag 0, and a record that it then leaves unread is a fault."""
    end = pausing(((-5 * MINUTE, -4 * MINUTE), (-2 * MINUTE, -MINUTE), (0, 2 * MINUTE), (4 * MINUTE, LATE)))
    commits = [(t, offset - (t < -30 * SECOND)) for t, offset in consume(end, LONG, LATE)]
    stuck = [(t, min(offset, end(LATE) - 1)) for t, offset in commits]
    ticks = watch(Scene([Partition(end, stuck)]), -6 * MINUTE, 6 * MINUTE)
    assert verdicts(ticks, MINUTE, MINUTE) == {V.CAUGHT_UP}
    assert ticks[-1].sick


def test_a_group_that_hangs_before_the_last_record_does_not_have_the_habit() -> None:
    """The commits of the group are older than the waiting record, on all of its partitions."""
    for minutes in (1, 20):
        end = by_list([*range(-30 * MINUTE, 1, minutes * MINUTE)])
        parts = [Partition(end, consume(end, -30 * MINUTE, -SECOND), owner=0, subscribed=1) for _ in range(3)]
        assert V.COMMITS_LAST_READ not in verdicts(watch(Scene(parts), -4 * MINUTE, 3 * MINUTE), -4 * MINUTE)
