"""What health must ask from the cluster beside the ends, tick after tick.

Owns the order of the questions and what one tick's answers leave for the next; each kind of question is a module
of its own (`enquiries_tails`, `enquiries_retention`, `enquiries_transactions` with `enquiries_transaction_log`,
`held_back_gaps`, `held_back_groups`, `enquiries_seeding`, `enquiries_narrowing`), and each is bounded
(`enquiries_limits`). Nothing here raises: what is not answered is not known.

In a tick: `ask_first` before the ends are read, then `held_back`, then `asked` for the fleet that it gave; when health
has judged, `note` and `narrow`. `seeding` once, after the first look of health's memory.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stream.tick.context import LookupResults
from stream.tick.hidden_commits.blocked_partitions import BlockedPartitions
from stream.tick.hidden_commits.groups import HiddenGroups
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.log_tails import LogTailLookup
from stream.tick.lookups.offset_time_backfill import backfill
from stream.tick.lookups.offset_time_search import OffsetTimeSearch
from stream.tick.lookups.open_transactions import OpenTransactionLookup, blocked_partitions, still_blocked
from stream.tick.lookups.topic_retention import TopicRetentionLookup
from stream.tick.lookups.transaction_log import TransactionLogLookup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Ints
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs
    from stream.tick.ends_index import EndsIndex
    from stream.tick.hidden_commits.model import BlockedOffsetsPartition, HiddenCommits
    from stream.tick.lookups.open_transactions import TopicPartition


class LookupScheduler:
    """Used by the thread of the ticks alone. `clock` gives seconds that only rise; every `now` is Unix seconds."""

    def __init__(
        self,
        cluster: Cluster,
        allowances: LookupLimits | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._allowances = allowances = allowances or LookupLimits()
        self._clock = clock
        self._tails = LogTailLookup(cluster, allowances, clock)
        self._retentions = TopicRetentionLookup(cluster, allowances)
        log = TransactionLogLookup(cluster, allowances, clock)
        self._culprits = OpenTransactionLookup(cluster, allowances, clock, log)
        self._gaps = BlockedPartitions(allowances, OpenTransactionLookup(cluster, allowances, clock, log))
        self._hidden = HiddenGroups(cluster, allowances, clock)
        self._narrowing = OffsetTimeSearch(cluster, allowances, clock)
        self._held: dict[TopicPartition, int] = {}

    @property
    def offsets_held_back(self) -> tuple[BlockedOffsetsPartition, ...]:
        """The offsets partitions that an open transaction holds back as of the last tick, and its producers."""
        return self._gaps.blocked

    @property
    def topics(self) -> frozenset[str]:
        """Topics that groups have commits of which the log may not tell yet: their ends are needed too."""
        return self._hidden.topics

    @property
    def touched(self) -> frozenset[str]:
        """Groups whose membership records the fleet of the next tick must have."""
        return self._hidden.groups_with_records

    def follow(self, positions: Mapping[int, int]) -> None:
        """Note how far the offsets partitions had been read before the fleet was made."""
        self._hidden.set_read_positions(positions)

    def ask_first(self, fleet: GroupColumns, now: float) -> None:
        """Ask for commits that were hidden at the last tick, before the ends of this one are read.

        Left out, `held_back` asks for the next tick instead, and its answers are one tick older.
        """
        self._hidden.fetch(fleet, int(now * 1000))

    def held_back(self, fleet: GroupColumns, ends: EndsIndex, now: float) -> HiddenCommits:
        """Put into the fleet what the log cannot tell because an open transaction hides it.

        `ends` had been read at `now`. Gives the very same fleet where nothing is hidden.
        """
        moment = int(now * 1000)
        return self._hidden.apply(fleet, ends, self._gaps.update(ends, moment), moment)

    def asked(self, fleet: GroupColumns, ends: EndsIndex, now: float) -> LookupResults:
        """Ask what is due; places in the answer are numbered by the topics of this very fleet."""
        moment = int(now * 1000)
        return LookupResults(
            retention=self._retentions.update(ends.described_topics, now),
            transactions=self._culprits.update(still_blocked(self._held, ends), moment),
            tails=self._tails.update(fleet.row_order.topics, ends),
        )

    def note(self, window: Window) -> None:
        """Take note of what health saw, for the questions of the next tick."""
        self._tails.schedule(window)
        self._held = blocked_partitions(window, int(self._allowances.transaction_grace * 1000))

    def narrow(self, window: Window, memory: PartitionHistory) -> None:
        """Ask for what would make the ages of unread records known to the tick; the memory learns of it."""
        self._narrowing.update(window, memory)

    def seeding(self, seen: HealthInputs) -> tuple[Ints, Ints] | None:
        """Ask where the partitions ended in the past: times and answers for `PartitionHistory.seed`."""
        return backfill(self._cluster, seen, self._allowances, self._clock)
