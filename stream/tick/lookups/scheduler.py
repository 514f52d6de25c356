"""Runs the lookups of each tick: requests to the cluster in addition to end offsets and the cluster context.

Retention is looked up here; each other kind of lookup has a module, here or in `stream.tick.hidden_commits`, with
limits in `stream.tick.lookups.budget`. No method raises: what is not answered is not known.

Order within a tick: `hidden.read` before the end offsets are read, then `look_up` and `hidden.apply`; after the
evaluation `schedule` and `search_offset_times`. `backfill_ends` is called once, at the first tick.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from stream.cluster.configs import Settings, read_topic_configs
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ErrorReason
from stream.groups.placement import EVERY_GROUP, InstancePart
from stream.health.columns import Ints
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window
from stream.health.inputs import HealthInputs
from stream.tick.context import LookupResults
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.groups import BlockedPartitions, HiddenGroups
from stream.tick.lookups import open_transactions
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.log_tails import LogTailLookup
from stream.tick.lookups.offset_time_backfill import backfill, drop_odd_records
from stream.tick.lookups.offset_time_search import OffsetTimeSearch

UNLIMITED: Final = -1
"""The retention of a topic that is only compacted or has no time limit."""

_POLICY: Final = "cleanup.policy"
_RETENTION: Final = "retention.ms"
_SIZE: Final = "retention.bytes"
_TRANSIENT: Final = frozenset({ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT})


class TopicRetentionLookup:
    """Caches retention.ms, retention.bytes and cleanup.policy of topics. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits) -> None:
        self._cluster = cluster
        self._limits = limits
        self._retention: dict[str, int] = {}
        self.gapless: set[str] = set()
        """The topics that are known not to be compacted: their offsets have no gaps."""
        self.any_size: set[str] = set()
        """The topics that are known to keep records whatever their size."""
        self._due: dict[str, float] = {}

    def update(self, topics: Collection[str], now: float) -> Mapping[str, int]:
        """Return retention.ms by topic at `now` (Unix seconds): UNLIMITED, or no entry where it is not known.

        Topics without a request so far come first, then due ones, longest waiting first. Topics that are not in
        `topics` are dropped from the cache.
        """
        self._due = {topic: self._due.get(topic, 0.0) for topic in topics}
        self._retention = {topic: retention for topic, retention in self._retention.items() if topic in self._due}
        self.gapless &= self._due.keys()
        self.any_size &= self._due.keys()
        due = sorted((when, topic) for topic, when in self._due.items() if when <= now)
        requested = [topic for _, topic in due[: self._limits.retention_topics]]
        if requested:
            configs = read_topic_configs(self._cluster, requested, (_POLICY, _RETENTION, _SIZE))
            for topic, settings in configs.items():
                self._record(topic, settings, now)
        return dict(self._retention)

    def _record(self, topic: str, settings: Settings, now: float) -> None:
        if settings[_RETENTION].reason in _TRANSIENT:
            return  # the cached value stays, and the topic is requested again at the next tick
        self._due[topic] = now + self._limits.slow_refresh
        policy, size = settings[_POLICY].value, settings[_SIZE].number()
        is_gapless, has_any_size = policy is not None and "compact" not in policy, size is not None and size < 0
        (self.gapless.add if is_gapless else self.gapless.discard)(topic)
        (self.any_size.add if has_any_size else self.any_size.discard)(topic)
        retention = retention_ms(settings)
        if retention is None:
            self._retention.pop(topic, None)
        else:
            self._retention[topic] = retention


def retention_ms(settings: Settings) -> int | None:
    """Return retention.ms; UNLIMITED where no record is deleted for its age, None where the config is not known."""
    policy = settings[_POLICY].value
    if policy is not None and "compact" in policy and "delete" not in policy:
        return UNLIMITED
    retention = settings[_RETENTION].number()
    return retention if retention is None else max(retention, UNLIMITED)


class LookupScheduler:
    """All lookups of a tick. Used by the tick thread only. `clock` is monotonic seconds; `now` is Unix seconds."""

    def __init__(
        self,
        cluster: Cluster,
        limits: LookupLimits | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        part: InstancePart = EVERY_GROUP,
    ) -> None:
        """Look up what concerns the groups of this instance."""
        self._cluster = cluster
        self._limits = limits = limits or LookupLimits()
        self._clock = clock
        self._tails = LogTailLookup(cluster, limits, clock)
        self._retention = TopicRetentionLookup(cluster, limits)
        transaction_log = open_transactions.TransactionLogLookup(cluster, limits, clock)
        self._transactions = open_transactions.OpenTransactionLookup(cluster, limits, clock, transaction_log)
        blocking_transactions = open_transactions.OpenTransactionLookup(cluster, limits, clock, transaction_log)
        self._offsets_partitions = BlockedPartitions(limits, blocking_transactions, part)
        self.hidden = HiddenGroups(cluster, limits, clock)
        """What open transactions hide in the log."""
        self._offset_times = OffsetTimeSearch(cluster, limits, clock)
        self._blocked: dict[open_transactions.TopicPartition, int] = {}

    def look_up(self, ends: EndsIndex, now: float) -> LookupResults:
        """Run the lookups that are due, after the end offsets were read at `now` (Unix seconds)."""
        now_ms = int(now * 1000)
        blocked = self._offsets_partitions.update(ends, now_ms)
        return LookupResults(
            retention=self._retention.update(ends.described_topics, now),
            any_size=frozenset(self._retention.any_size),
            gapless=frozenset(self._retention.gapless),
            transactions=self._transactions.update(open_transactions.still_blocked(self._blocked, ends), now_ms),
            tails=self._tails.update(ends),
            blocked=blocked,
        )

    def schedule(self, window: Window) -> None:
        """Choose the tails and transactions to look up at the next tick."""
        self._tails.schedule(window)
        self._blocked = open_transactions.blocked_partitions(window, int(self._limits.transaction_grace * 1000))

    def search_offset_times(self, window: Window, history: PartitionHistory) -> bool:
        """Search write times of unread records that are not known to within a tick; return whether there were any."""
        return self._offset_times.update(window, history)

    def backfill_ends(self, ends: EndsIndex, inputs: HealthInputs) -> tuple[Ints, Ints] | None:
        """Return past times and end offsets for the histories of a process that has just started."""
        leaders = ends.leaders()
        found = backfill(self._cluster, inputs, leaders, self._limits, self._clock)
        if found is not None:
            self._offset_times.odd = drop_odd_records(
                self._cluster, inputs, leaders, found[1], limits=self._limits, clock=self._clock
            )
        return found
