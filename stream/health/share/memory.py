"""What is remembered of a share group's partition: when it last moved, and what became of its deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from stream.health.columns import NOT_KNOWN

if TYPE_CHECKING:
    from stream.health.share.progress import SharePartitionProgress

LONGEST_HABIT: Final = 900_000
"""A longer pause (ms) while records wait is a fault and not a habit: nothing is learned from it."""


class SharePartitionMemory(NamedTuple):
    """The memory of one partition after a poll. Times and durations in ms."""

    progress: SharePartitionProgress
    """That of the last poll."""
    changed_at: int
    """The last poll that found a change; the first poll, until there was one."""
    moved: bool
    """A change was seen."""
    waiting_since: int
    """The first of the polls in a row that found unfinished records; `NOT_KNOWN` if the last known lag was 0."""
    longest_pause: int
    """The longest time without a change while records waited, of those that ended and were a habit."""
    fruitless_since: int
    """The first of the polls at which deliveries ended, but none since the last accepted record was accepted;
    `NOT_KNOWN` if there was none."""
    fruitless_polls: int
    """The number of these polls."""
    archiving_polls: int
    """The number of these polls that found archived records."""
    archived: int
    """The number of records that were archived since the last accepted record."""

    def idle_time(self, now: int) -> int:
        """Return for how long nothing has changed while records waited; 0 if none wait."""
        return 0 if self.waiting_since == NOT_KNOWN else now - max(self.changed_at, self.waiting_since)


def first_memory(progress: SharePartitionProgress, now: int) -> SharePartitionMemory:
    """Return the memory after the first poll, at `now`."""
    waiting_since = now if progress.lag else NOT_KNOWN
    return SharePartitionMemory(progress, now, False, waiting_since, 0, NOT_KNOWN, 0, 0, 0)


def remember(before: SharePartitionMemory, progress: SharePartitionProgress, now: int) -> SharePartitionMemory:
    """Return the memory after another poll, at `now`."""
    last = before.progress
    accepted, archived, returns = _increases(last, progress)
    moved = (progress.start_offset, progress.finished) != (last.start_offset, last.finished)
    is_change = moved or accepted > 0 or archived > 0 or returns > 0
    pause = before.idle_time(now)
    after = before._replace(progress=progress, waiting_since=_waiting_since(before, progress, now))
    if is_change:
        learned = pause if before.moved and pause <= LONGEST_HABIT else 0
        after = after._replace(changed_at=now, moved=True, longest_pause=max(before.longest_pause, learned))
    if accepted > 0:
        return after._replace(fruitless_since=NOT_KNOWN, fruitless_polls=0, archiving_polls=0, archived=0)
    if archived > 0 or returns > 0:
        return after._replace(
            fruitless_since=now if before.fruitless_since == NOT_KNOWN else before.fruitless_since,
            fruitless_polls=before.fruitless_polls + 1,
            archiving_polls=before.archiving_polls + (archived > 0),
            archived=before.archived + archived,
        )
    return after


def _waiting_since(before: SharePartitionMemory, progress: SharePartitionProgress, now: int) -> int:
    """Return since when records wait; a poll that does not know the lag changes nothing."""
    if progress.lag == 0:
        return NOT_KNOWN
    if progress.lag is None or before.waiting_since != NOT_KNOWN:
        return before.waiting_since
    return now


def _increases(last: SharePartitionProgress, progress: SharePartitionProgress) -> tuple[int, int, int]:
    """Return how many records were acknowledged, archived and returned since the last poll.

    Counts that are lower than before began again with their reader: what they counted until now is new.
    """
    before = (last.acknowledged, last.archived, last.returns)
    counts = (progress.acknowledged, progress.archived, progress.returns)
    began_again = any(count < old for count, old in zip(counts, before, strict=True))
    accepted, archived, returns = (0, 0, 0) if began_again else before
    return progress.acknowledged - accepted, progress.archived - archived, progress.returns - returns
