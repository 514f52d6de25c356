"""The read of one partition in progress, without I/O: what each part of a fetch response means for the next request.

Errors that may end by themselves are retried with growing pauses; `failing_since` says since when there is no progress.
All times are seconds of a monotonic clock.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterator
from typing import Any, Final

from decoders.log.batch import FRAME
from decoders.log.errors import Damaged
from decoders.log.fetched import FetchedBatches
from decoders.log.files import LogBatch
from decoders.log.vectors import LogColumns
from stream.cluster.records.ranges import OffsetRange, ReadTally, SkipReason
from stream.cluster.transport.connection_errors import no_topic_right, retry_of_code
from stream.cluster.transport.errors import ClusterError, Unreachable, Unsupported
from stream.cluster.transport.requests import OUT_OF_RANGE

FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 1.0
_ATTEMPTS_AT_DAMAGE: Final = 3
"""Fetches of an invalid batch before it is skipped: a batch damaged in transit is valid in the next response."""


class Lookup(enum.Enum):
    """What a partition needs before its next fetch."""

    NOTHING = enum.auto()
    LEADER = enum.auto()
    ENDS = enum.auto()
    """The log start offset and the last stable offset, because the log does not have the position."""


_NOT_AUTHORISED: Final = 29
_NEEDS_NEWER_FETCH: Final = 76  # UNSUPPORTED_COMPRESSION_TYPE


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedPart:
    """What one response added to a partition: the batches with the offsets from `start` to before `position`."""

    partition: int
    batches: FetchedBatches
    start: int
    position: int
    tally: ReadTally

    def columns(self) -> Iterator[LogColumns]:
        """Yield the visible records in pieces. Batches that cannot be decoded are counted."""
        return self.batches.columns(self.start, self.position, _counted_in(self.tally))

    def aborted_columns(self) -> Iterator[tuple[int, LogColumns]]:
        """Yield producer ids and the records of their aborted transactions."""
        return self.batches.aborted_columns(self.start, self.position, _counted_in(self.tally))


class PartitionRead:
    """Reads one range: `leader` is (node, epoch) or None, `position` the offset of the next fetch."""

    def __init__(self, topic: str, wanted: OffsetRange, tally: ReadTally) -> None:
        self.partition: Final = wanted.partition
        self.end: Final = wanted.end
        self.position = wanted.position
        self.leader: tuple[int, int] | None = None
        self.needs = Lookup.LEADER
        self.retry_at = 0.0
        self.failing_since: float | None = None
        self.failure: ClusterError | None = None
        self._where = f"partition {wanted.partition} of {topic}"
        self._topic = topic
        self._tally = tally
        self._pause = FIRST_PAUSE
        self._seen_damage = 0
        self._skip = 1
        self._log_ends_below = False

    @property
    def finished(self) -> bool:
        """True if nothing of the range is left to read."""
        return self.position >= self.end

    def set_leader(self, leader: tuple[int, int]) -> None:
        """Set the leader to fetch from."""
        self.leader, self.needs = leader, Lookup.NOTHING

    def set_ends(self, log_start: int, last_stable: int, now: float) -> None:
        """Move the position to where the log begins now; the rest of the range is gone if the log ends below it."""
        self.needs = Lookup.NOTHING
        if last_stable < self.position:
            self._skip_to(self.end, SkipReason.TRUNCATED)
        elif log_start > self.position:
            self._skip_to(log_start, SkipReason.DELETED)
        else:
            # The leader that refused the position was a replica that lags behind, or has been replaced since.
            self.retry(now, f"the leader refuses offset {self.position}", Lookup.LEADER)

    def add(self, part: Any, now: float, *, is_alone: bool) -> FetchedPart | None:
        """Add the partition's part of a response; None if it has nothing of the range.

        `is_alone` is True if no other partition of the response has records: only then are no records the proof that
        the log has none, because a broker stops at the size limit. Raises ClusterError for permanent errors.
        """
        if part.error_code:
            self._react(part.error_code, now)
            return None
        raw = bytes(part.records or b"")
        aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
        batches = FetchedBatches.read(raw, aborted, on_fault=_counted_in(self._tally))
        start, self.position = self.position, max(self.position, min(batches.next_offset, self.end))
        if self.position > start:
            self.failing_since, self.failure = None, None
            self.retry_at, self._pause = 0.0, FIRST_PAUSE
            self._seen_damage, self._skip, self._log_ends_below = 0, 1, False
            return FetchedPart(self.partition, batches, start, self.position, self._tally)
        if batches.fault is not None:
            self._damage(raw, batches.fault, now)
        elif raw:
            self.retry(now, f"the leader returns records below offset {start}", Lookup.LEADER)
        elif is_alone and part.last_stable_offset < self.end:
            self.retry(now, f"its log ends at offset {part.last_stable_offset}, below {self.end}", Lookup.LEADER)
            self._log_ends_below = True
        elif is_alone:
            # Compaction has removed all records up to the end.
            self.position = self.end
            return FetchedPart(self.partition, batches, start, self.end, self._tally)
        return None

    def fail(self, error: ClusterError, now: float, *, took: float = 0.0) -> None:
        """Note that the leader, or the cluster, did not answer; raise the error if it is permanent.

        `took` is the time until the failure: a broker that does not answer holds up the others as long.
        """
        if not error.passes:
            raise error
        if self.failing_since is None:
            self.failing_since = now
        self.failure = error
        self.leader, self.needs = None, Lookup.LEADER
        self._wait(now, took)

    def omitted(self, error_code: int, now: float) -> None:
        """Note that a response does not mention the partition."""
        if error_code:
            self._react(error_code, now)
        else:
            self.retry(now, "the response does not mention it", Lookup.LEADER)

    def give_up(self) -> None:
        """End a read without progress: skip the rest if the log ends below the range, else raise the ClusterError."""
        if not self._log_ends_below and self.failure is not None:
            raise self.failure
        self._skip_to(self.end, SkipReason.TRUNCATED)

    def _react(self, code: int, now: float) -> None:
        if code == _NOT_AUTHORISED:
            raise no_topic_right(self._topic, "Read")
        if code == _NEEDS_NEWER_FETCH:
            raise Unsupported(
                f"{self._where} has zstd batches, which the broker sends to newer clients only", "upgrade"
            )
        is_retriable, needs_leader = retry_of_code(code)
        if code == OUT_OF_RANGE:
            self.needs = Lookup.ENDS
        elif is_retriable:
            self.retry(now, f"Kafka error {code}", Lookup.LEADER if needs_leader else Lookup.NOTHING)
        else:
            raise Unreachable(f"{self._where} cannot be read (Kafka error {code})", "see the broker's log")

    def _damage(self, raw: bytes, fault: Damaged, now: float) -> None:
        """Fetch an invalid batch again, then skip it: to the batch after it if there is a valid one.

        Otherwise the skipped range doubles from one attempt to the next. A leader looks up offsets in a sparse index,
        so far enough behind the damage it finds the next valid batch.
        """
        self._seen_damage += 1
        if self._seen_damage < _ATTEMPTS_AT_DAMAGE:
            self.retry(now, f"the batch at offset {self.position} is invalid ({fault.detail})", Lookup.NOTHING)
            return
        self._tally.faults[fault.fault] += 1
        length = int.from_bytes(raw[fault.position + 8 : fault.position + FRAME], "big", signed=True)
        following = FetchedBatches.read(raw[fault.position + FRAME + length :] if length > 0 else b"")
        if following.next_offset > self.position:
            self._skip_to(max(int(following.base_offset[0]), self.position + 1), SkipReason.DAMAGED)
        else:
            self._skip_to(self.position + self._skip, SkipReason.DAMAGED)
            self._skip *= 2
        self.failing_since = None

    def _skip_to(self, position: int, reason: SkipReason) -> None:
        target = min(position, self.end)
        self._tally.skipped[reason] += target - self.position
        self.position = target

    def retry(self, now: float, what: str, needs: Lookup) -> None:
        """Note why the partition cannot be read now, and what it needs before the next try."""
        if self.failing_since is None:
            self.failing_since = now
        self.failure = Unreachable(f"{self._where} cannot be read: {what}", "see the log of its leader")
        self._log_ends_below = False
        self.needs = needs
        self._wait(now, 0.0)

    def _wait(self, now: float, at_least: float) -> None:
        self.retry_at = now + max(self._pause, at_least)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def _counted_in(tally: ReadTally) -> Callable[[LogBatch, Damaged], None]:
    def count(_: LogBatch, fault: Damaged) -> None:
        tally.faults[fault.fault] += 1

    return count
