"""What is remembered of a share group's partition from poll to poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.health.columns import NOT_KNOWN
from stream.health.share.memory import first_memory, remember
from tests.stream.health.share.polls import BEGIN, MINUTE, progress

if TYPE_CHECKING:
    from stream.health.share.memory import SharePartitionMemory
    from stream.health.share.progress import SharePartitionProgress


def remembered(*polls: SharePartitionProgress) -> SharePartitionMemory:
    """Return the memory after these polls, one each minute."""
    memory = first_memory(polls[0], BEGIN)
    for number, each in enumerate(polls[1:], 1):
        memory = remember(memory, each, BEGIN + number * MINUTE)
    return memory


def test_records_wait_from_the_first_poll_that_finds_them() -> None:
    """The time without records before this poll is no pause."""
    found = remembered(progress(lag=0), progress(lag=0), progress(lag=5), progress(lag=9))
    assert found.waiting_since == BEGIN + 2 * MINUTE
    assert found.idle_time(BEGIN + 3 * MINUTE) == MINUTE
    assert remembered(progress(lag=5), progress(lag=0)).waiting_since == NOT_KNOWN
    assert remembered(progress(lag=5), progress(lag=None)).waiting_since == BEGIN
    assert remembered(progress(lag=0), progress(lag=None)).waiting_since == NOT_KNOWN
    assert remembered(progress(lag=5), progress(lag=0)).idle_time(BEGIN + 9 * MINUTE) == 0


def test_every_recorded_change_ends_a_pause() -> None:
    """A new start offset, or a record that is finished, accepted, archived or returned, is a change."""
    still = progress(lag=5)
    for field in ("start_offset", "finished", "acknowledged", "archived", "returns"):
        moved = still._replace(**{field: (getattr(still, field) or 0) + 1})
        found = remembered(still, still, moved)
        assert (found.changed_at, found.moved) == (BEGIN + 2 * MINUTE, True), field
    assert remembered(still, still._replace(lag=9)).moved is False, "new records are no change of the group"


def test_a_pause_that_ends_is_a_habit_unless_it_was_too_long() -> None:
    """The first change after the start of the monitor is no habit, because the start of its pause is not known."""
    still = progress(lag=5)
    first, second = still._replace(start_offset=11), still._replace(start_offset=12)
    assert remembered(still, still, first).longest_pause == 0
    assert remembered(still, first, first, first, second).longest_pause == 3 * MINUTE
    assert remembered(still, *[first] * 15, second).longest_pause == 15 * MINUTE
    assert remembered(still, *[first] * 16, second).longest_pause == 0


def test_the_results_of_deliveries_are_counted_since_the_last_accepted_record() -> None:
    """Polls without an ended delivery count for nothing; one accepted record ends the count."""
    rejected = [progress(lag=5, archived=number) for number in (0, 3, 3, 4)]
    found = remembered(*rejected)
    assert (found.fruitless_polls, found.archiving_polls, found.archived) == (2, 2, 4)
    assert found.fruitless_since == BEGIN + MINUTE
    returned = remembered(*rejected, progress(lag=5, archived=4, returns=2))
    assert (returned.fruitless_polls, returned.archiving_polls, returned.archived) == (3, 2, 4)
    accepted = remembered(*rejected, progress(lag=5, archived=6, acknowledged=1))
    assert (accepted.fruitless_polls, accepted.archived, accepted.fruitless_since) == (0, 0, NOT_KNOWN)


def test_counts_that_begin_again_are_new() -> None:
    """Counts start again after a restart of the monitor, or if the topic was created again."""
    before = progress(lag=5, acknowledged=90, archived=7)
    same = remembered(before, progress(lag=5))
    assert (same.moved, same.fruitless_polls) == (False, 0)
    assert remembered(before, progress(lag=5, archived=2)).archived == 2
