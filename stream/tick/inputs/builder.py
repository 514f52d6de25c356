"""(fleet, ends, surroundings, now) -> one moment in columns: what health is told, and what the read model shows.

Whoever ticks calls it after the ends have been read, at every tick, and hands the answer to a `stream.health.evaluator`
and to `snapshot.build`. Owns how names become numbers, and Arrow tables columns; it judges nothing, asks nothing and
has no clock. What it is not given stays unknown.

Groups and topics are numbered as the read model sorts them, so row i here is row i of its PARTITIONS, and group
number n is row n of its GROUPS. Rows: see `stream.tick.inputs.rows`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.groups.commits.runs import TOPIC_ID, Spans
from stream.groups.expiry.broker_rules import LATEST
from stream.health.columns import NOT_KNOWN
from stream.health.features import lag as lags
from stream.health.features import offset_out_of_range as beyond
from stream.health.features.offset_out_of_range import CommitOrigins
from stream.health.inputs import NO_COMMIT, HealthInputs, OpenTransaction
from stream.health.limits import HealthLimits
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.assignment import AssignmentInputs
from stream.tick.inputs.group_state import GroupStates
from stream.tick.inputs.read_position import ReadPositionTracker
from stream.tick.inputs.rebalance_count import RebalanceCounter
from stream.tick.inputs.rows import RowFinder
from stream.tick.inputs.times import CommitTimes, believable_slots

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Flags, Ints
    from stream.health.features.control_records import LogTails
    from stream.tick.context import ClusterContext
    from stream.tick.inputs.rows import InputRows

_NO_ID: Final = bytes(16)
_NO_EXPIRY: Final = -1


@dataclasses.dataclass(frozen=True, slots=True)
class TickInputs:
    """The rows of one tick, with what the read model shows of them in addition to `HealthInputs`, in the same order."""

    rows: InputRows
    ends: EndsIndex
    end_row: Ints
    """The row of `ends` with the partition's end offsets, -1 if there is none."""
    odd_time: Flags
    """Rows with a commit whose stored time cannot be right (see `stream.tick.inputs.times`)."""


def observed(
    fleet: GroupColumns,
    ends: pa.Table,
    around: ClusterContext,
    now: float,
    *,
    limits: HealthLimits | None = None,
) -> HealthInputs:
    """Put one moment into columns: what health is told of it, and no more (see `InputBuilder`)."""
    return InputBuilder(limits).moment(fleet, EndsIndex(ends), around, now)[1]


class InputBuilder:
    """Puts one moment after the other into columns; what did not change since the last one is not worked out again."""

    def __init__(self, limits: HealthLimits | None = None, rebalances: RebalanceCounter | None = None) -> None:
        """Begin; `rebalances` may know what an earlier process counted."""
        limits = limits or HealthLimits()
        self._storm = limits.storm
        self.rebalances = rebalances or RebalanceCounter(self._storm)
        self.reading = ReadPositionTracker(limits.tick)
        self._belongings = RowFinder()
        self._commit_times = CommitTimes()
        self._standings = GroupStates()
        self._members = AssignmentInputs()
        self._counts: Mapping[str, int] = {}

    def _with_counts(self, around: ClusterContext) -> ClusterContext:
        """Go by the partition counts of before where none were told: a partition does not go with its brokers."""
        if around.partition_counts:
            self._counts = around.partition_counts
            return around
        return dataclasses.replace(around, partition_counts=self._counts)

    def moment(
        self,
        fleet: GroupColumns,
        ends: EndsIndex,
        around: ClusterContext,
        now: float,
        *,
        hidden: Collection[str] = (),
        told: Flags | None = None,
        answered: Collection[str] = (),
    ) -> tuple[TickInputs, HealthInputs]:
        """Put one moment into columns: `ends` had been read at `now` (Unix).

        Of `hidden` groups an open transaction hides commits that nobody has told yet; `told` are the rows of the fleet
        whose commits are answers of coordinators, and of all that the `answered` groups have committed they know.
        """
        at = int(now * 1000)
        around = self._with_counts(around)
        lookups, expiry = around.lookups, around.expiry
        rows = self._belongings.rows(fleet, around)
        topics, runs = rows.topics, fleet.runs
        rebalances = self.rebalances.count(fleet.histories, at)
        groups = self._standings.groups(
            rows.groups,
            fleet,
            around,
            at,
            storm=self._storm,
            rebalancing=around.rebalancing_since,
            rebalances=rebalances,
        )
        wanted = self._members.wanted(rows, fleet, around)
        partition_ends, index_row = ends.partition_ends(topics)
        spans, odd = self._commit_times.believable(rows, _spans(runs.spans, rows), at)
        answers = np.zeros(len(rows), np.bool_) if told is None else rows.take(told, nothing=False)
        if answered:
            answers |= np.array([name in answered for name in rows.groups], np.bool_)[rows.group]
        reach = self.reading.reach(rows, spans.last_time, answers, at)
        found = lags.lag(spans.last_offset, lags.place(rows.topic, rows.partition), partition_ends)
        negative = rows.committed & (spans.last_offset < 0)
        found = dataclasses.replace(found, known=found.known & ~negative)
        end_row = np.where(found.row >= 0, index_row[found.row], -1) if len(index_row) else found.row
        reasons = ends.unknown_reasons(~found.known & ~found.beyond_end, end_row, topics, rows.topic)
        reasons[negative] = lags.NEGATIVE_OFFSET
        seen = HealthInputs(
            now=at,
            groups=groups,
            topics=tuple(topics),
            group=rows.group,
            topic=rows.topic,
            partition=rows.partition,
            spans=spans,
            slots=believable_slots(rows.slots(runs.slots), at),
            ends=partition_ends,
            lag=found,
            origins=CommitOrigins(
                leader_epoch=rows.take(runs.leader_epoch, -1),
                topic_id=rows.take(beyond.topic_ids(runs.topic_id), 0),
                current_topic_id=_current_ids(topics, around)[rows.topic],
            ),
            recreated=_recreated(topics, around, at),
            subscribed=wanted.subscribed,
            owner=wanted.owner,
            hidden=np.array([name in hidden for name in rows.groups], np.bool_)[rows.group] if hidden else None,
            expiry=None if expiry is None else np.minimum(rows.take(expiry.offset, _NO_EXPIRY), LATEST),
            retention=None if lookups.retention is None else _retention(topics, lookups.retention)[rows.topic],
            tails=None if lookups.tails is None else _renumbered(lookups.tails, fleet.row_order.topics, topics),
            transactions=_transactions(topics, lookups.transactions),
            reasons=reasons,
            read_until=reach.read_until,
            answered_since=reach.answered_since,
        )
        return TickInputs(rows, ends, end_row, odd), seen


def _spans(spans: Spans, rows: InputRows) -> Spans:
    """Bring the spans into the order of the rows; of a row without a commit all is -1, and there are no commits."""
    nothing = {"reset": False, "commits": 0, "rewinds": 0}
    return Spans(
        **{
            field.name: rows.take(getattr(spans, field.name), nothing.get(field.name, NO_COMMIT))
            for field in dataclasses.fields(Spans)
        }
    )


def _renumbered(tails: LogTails, before: Sequence[str], topics: Sequence[str]) -> LogTails:
    """Give tails numbers by the topics of the moment: those of the fleet in the same order, and perhaps more."""
    if len(before) == len(topics):
        return tails
    number = {name: at for at, name in enumerate(topics)}
    numbers = np.array([number[name] for name in before] or [0], np.int64)
    place, unreadable = (
        (numbers[column >> 32] << 32) | (column & 0xFFFFFFFF) for column in (tails.place, tails.unreadable)
    )
    return dataclasses.replace(tails, place=place, unreadable=unreadable)


def _current_ids(topics: Sequence[str], around: ClusterContext) -> NDArray[np.uint64]:
    """Give the id that each topic has now, in the form of `beyond.topic_ids`; zeros where it is not known."""
    return beyond.topic_ids(pa.array([around.topic_ids.get(name, _NO_ID) for name in topics] or [_NO_ID], TOPIC_ID))


def _recreated(topics: Sequence[str], around: ClusterContext, moment: int) -> Ints:
    """Give the numbers of the topics that were found at this tick to be others than before."""
    anew = [number for number, name in enumerate(topics) if around.recreated.get(name, -1) >= moment]
    return np.array(anew, np.int64)


def _retention(topics: Sequence[str], retention: Mapping[str, int]) -> Ints:
    return np.array([retention.get(name, NOT_KNOWN) for name in topics] or [NOT_KNOWN], np.int64)


def _transactions(topics: Sequence[str], tables: Mapping[str, pa.Table]) -> dict[tuple[int, int], OpenTransaction]:
    """Give the first open transaction of each partition: the one that holds the others back."""
    held: dict[tuple[int, int], OpenTransaction] = {}
    for number, name in enumerate(topics):
        if name in tables:
            for partition, transaction in _open(tables[name]):
                held.setdefault((number, partition), transaction)
    return held


def _open(table: pa.Table) -> Iterator[tuple[int, OpenTransaction]]:
    """Give each partition with its open transactions; a row without a start says only that nobody could be asked."""
    started = table.filter(table.column("start_offset").is_valid())
    since = started.column("start_time").cast(pa.int64()).to_pylist()
    names = ("partition", "producer_id", "transactional_id", "hanging")
    columns = (started.column(name).to_pylist() for name in names)
    for partition, producer, name, hanging, time in zip(*columns, since, strict=True):
        yield partition, OpenTransaction(producer, name, time, hanging)
