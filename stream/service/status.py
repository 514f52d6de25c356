"""The health of the monitor itself: what its parts report, combined into the status that readers see.

Nothing here is computed from groups.
"""

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog

from decoders.tables import BY_NUMBER, tracking
from exporters import readmodel
from stream.checkpoint.usage import SideFiles
from stream.groups.decode_stats import DecodeStats
from stream.groups.placement import EVERY_GROUP, InstancePart, owner_of
from stream.service.catch_up import CatchUpProgress
from stream.service.processes import Descriptors, ProcessUsage
from stream.service.system_limits import memory_limit
from stream.tick.offsets_topic_lag import UnansweredPartition
from stream.tick.run_tick import TickResult
from stream.wording import ranges

_log = structlog.get_logger(__name__)
_ANSWER_LOG_SECONDS: Final = 60.0
"""Minimum interval between two log lines about requests that failed."""
CONNECTING: Final = "connecting"
WAITING: Final = "waiting for topic"
STARTING: Final = "starting"
CATCHING_UP: Final = "catching up"
RUNNING: Final = "running"
STOPPING: Final = "stopping"
FAILED: Final = "failed"
NO_LEADER: Final = "no_leader"


@dataclasses.dataclass(eq=False)
class ServiceStatus:
    """The health of the monitor itself. One instance per process; it starts with nothing known.

    The main thread sets the phase and what the query reports, the tick thread calls `record_tick`,
    `record_unanswered` and `record_unreachable`; each attribute has one writer at a time.
    """

    version: str
    freshness_limit: float
    clock: Callable[[], float] = time.time
    part: InstancePart = EVERY_GROUP
    """That of the groups that are monitored."""
    siblings: Sequence[str] = ()
    """The base URLs of all instances, in their order."""
    cluster_name: str | None = None
    """The configured name."""
    trigger_interval: float = 0.0
    phase: str = CONNECTING
    cluster_id: str | None = None
    trouble: str | None = None
    """Why Kafka does not answer now, as a sentence; None while it does."""
    progress: CatchUpProgress | None = None
    partitions_added: tuple[int, ...] = ()
    """Partitions that were added to the offsets topic while it is read, and are not read to their ends yet."""
    query: readmodel.QueryStatus = dataclasses.field(default_factory=readmodel.QueryStatus)
    query_seen_at: float | None = None
    """When the query last reported a batch, a poll of the source or progress of a task; None before the first."""
    resyncs: int = 0
    tick: readmodel.TickStatus = dataclasses.field(default_factory=readmodel.TickStatus)
    """The status of the last tick."""
    shown: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """Next offset to read per offsets partition, before which the last tick has shown all records."""
    unanswered: Sequence[UnansweredPartition] = ()
    """Offsets partitions without an end offset at the last poll."""
    failure_of: Callable[[int], object] = lambda _: None
    """Returns why the last request to a broker failed; None if it was answered."""
    files: SideFiles = dataclasses.field(default_factory=SideFiles)
    heap: readmodel.HeapUsage = dataclasses.field(default_factory=readmodel.HeapUsage)
    checkpoint: readmodel.CheckpointSpace = dataclasses.field(default_factory=readmodel.CheckpointSpace)
    """As of the last poll, as the heap."""
    executors: Callable[[], readmodel.ExecutorCount] | None = None
    """Returns how many executors there are; None with a local master."""
    storage_trouble: Callable[[], str | None] = lambda: None
    """Returns why the storage of the checkpoint does not answer now, as a sentence; None while it does."""
    webhook: Callable[[], readmodel.WebhookStatus] | None = None
    """Returns the state of the webhook; None if there is none."""
    otlp: Callable[[], readmodel.OtlpStatus] | None = None
    """Returns the counters of the export by OTLP; None if there is none."""

    def __post_init__(self) -> None:
        self.started_at = self.clock()
        self._lock = threading.Lock()
        self._decode_stats = DecodeStats()
        self._records = readmodel.RecordCounts()
        self._descriptors = Descriptors(os.getpid())
        self._processes = ProcessUsage(os.getpid())
        self._answer_faults = 0
        self._answer_logged_at: float | None = None

    @property
    def silence_limit(self) -> float:
        """Seconds without a report of the query after which new commits may be missing."""
        return max(self.freshness_limit, 3 * self.trigger_interval)

    def record_tick(self, result: TickResult) -> None:
        """Apply the result of a tick."""
        self.record_unanswered(result.unanswered)
        self.tick, self.shown = result.status, result.facts.positions

    def record_unanswered(self, unanswered: Sequence[UnansweredPartition]) -> None:
        """Record that Kafka answers, and the offsets partitions without an end offset."""
        if self.trouble is not None:
            _log.info("kafka reachable again")
        self.trouble = None
        since = {each.offsets_partition: each.since for each in self.unanswered}
        self.unanswered = tuple(
            dataclasses.replace(each, since=min(each.since, since.get(each.offsets_partition, each.since)))
            for each in unanswered
        )

    def record_unreachable(self, cause: str) -> None:
        """Record that Kafka does not answer; logged once until it answers again."""
        if self.trouble is None:
            _log.warning("kafka unreachable", cause=cause)
        self.trouble = cause

    def count(self, stats: DecodeStats) -> None:
        """Add the decode statistics of a batch; skipped offsets are also logged."""
        if stats.skipped:
            _log.warning("offsets of __consumer_offsets skipped", **stats.skipped)
        with self._lock:
            self._decode_stats.add(stats)
            self._records = record_counts(self._decode_stats)

    def answer_failed(self, path: str, error: Exception) -> None:
        """Count an HTTP request that failed because of an internal error; one per minute is logged."""
        with self._lock:
            self._answer_faults += 1
            now, last = self.clock(), self._answer_logged_at
            if last is not None and now - last < _ANSWER_LOG_SECONDS:
                return
            self._answer_logged_at = now
        _log.error("internal error while answering a request", path=path, exc_info=error)

    def other_instance(self, group: str) -> readmodel.OtherInstance | None:
        """Return the instance of a group; None if it is this one, or not known before the first tick."""
        partitions = self.tick.topic_partitions
        if self.part.is_whole or not partitions:
            return None
        owner = owner_of(group, partitions, self.part.instances)
        if owner == self.part:
            return None
        return readmodel.OtherInstance(str(owner), self.siblings[owner.index] if self.siblings else None)

    def monitor_status(self) -> readmodel.MonitorStatus:
        """Return the status as of now."""
        reasons = self._not_ready()
        with self._lock:
            records = self._records
        return readmodel.MonitorStatus(
            version=self.version,
            cluster_id=self.cluster_id,
            phase=self.phase,
            ready=not reasons,
            not_ready_reasons=reasons,
            started_at=self.started_at,
            kafka_reachable=self.trouble is None and self.cluster_id is not None,
            part=str(self.part),
            instances=self.part.instances,
            siblings=tuple(self.siblings),
            cluster_name=self.cluster_name,
            catch_up=None if self.progress is None else self.progress.catch_up(time.monotonic()),
            query=self.query,
            resyncs=self.resyncs,
            records=records,
            tick=self.tick,
            internal_errors=readmodel.rows_table(
                sorted({**self.tick.faults, "answer": self._answer_faults}.items()), readmodel.INTERNAL_ERRORS
            ),
            file_failures=self.files.table(),
            descriptors=self._descriptors.table(),
            processes=self._processes.table(),
            memory_limit_bytes=memory_limit(),
            heap=self.heap,
            checkpoint=self.checkpoint,
            executors=None if self.executors is None else self.executors(),
            webhook=None if self.webhook is None else self.webhook(),
            otlp=None if self.otlp is None else self.otlp(),
        )

    def _not_ready(self) -> tuple[str, ...]:
        reasons = []
        if self.phase == WAITING:
            reasons.append("the cluster has no topic __consumer_offsets yet: no group has ever committed")
        elif self.phase in (STARTING, STOPPING, FAILED):
            reasons.append(f"the monitor is {self.phase}")
        elif self.phase == CATCHING_UP and self.progress is not None:
            reasons.append(f"offsets partitions not read to their ends yet: {len(self.progress.behind)}")
        elif self.phase == CONNECTING and self.trouble is None:
            reasons.append("no broker has answered yet")
        if self.partitions_added:
            reasons.append(f"offsets partitions not read yet: {ranges(self.partitions_added)}")
        if self.trouble is not None and (self.phase != RUNNING or self._is_stale()):
            reasons.append(self.trouble)
        if self.phase == RUNNING:
            reasons += self._age_reasons()
        reasons += self._executor_reasons()
        away = self.storage_trouble()
        if away is not None:
            reasons.append(away)
        if self.phase in (STARTING, CATCHING_UP, RUNNING):
            reasons += self.unanswered_reasons()
        return tuple(reasons)

    def _is_stale(self) -> bool:
        taken_at = self.tick.taken_at
        return taken_at is None or self.clock() - taken_at > self.freshness_limit

    def unanswered_reasons(self) -> list[str]:
        """Return a sentence per cause of missing end offsets: groups of these partitions are not updated.

        A new leader is elected within seconds, so a ready monitor stays ready for the freshness limit.
        """
        grace = self.freshness_limit if self.phase == RUNNING else 0.0
        late = [each for each in self.unanswered if self.clock() - each.since >= grace]
        reasons = []
        for reason, leader in dict.fromkeys((each.reason, each.leader) for each in late):
            numbers = ranges(each.offsets_partition for each in late if (each.reason, each.leader) == (reason, leader))
            why = "have no leader" if reason == NO_LEADER else f"have no known end offsets ({reason})"
            failure = None if leader is None else self.failure_of(leader)
            cause = "" if failure is None else f"; they are led by broker {leader}: {failure}"
            reasons.append(f"offsets partitions that {why}: {numbers}{cause}")
        return reasons

    def _executor_reasons(self) -> list[str]:
        """Return as a sentence that there is no executor: nothing is read.

        A lost executor is replaced within seconds, so a ready monitor stays ready for the freshness limit.
        """
        executors = None if self.executors is None else self.executors()
        if executors is None or executors.none_since is None:
            return []
        seconds = self.clock() - executors.none_since
        if self.phase == RUNNING and seconds < self.freshness_limit:
            return []
        return [f"no executor has been registered with Spark for {seconds:.0f} s (expected {executors.expected})"]

    def _age_reasons(self) -> list[str]:
        """Return what is too old: the snapshot, and the commits in it."""
        reasons, taken_at, seen_at = [], self.tick.taken_at, self.query_seen_at
        if taken_at is None:
            reasons.append("no snapshot yet")
        elif self._is_stale():
            age = self.clock() - taken_at
            reasons.append(f"the snapshot is {age:.0f} s old (limit {self.freshness_limit:g} s)")
        # Without a broker, its requests may take as long.
        if seen_at is not None and self.trouble is None and self.clock() - seen_at > self.silence_limit:
            silence = self.clock() - seen_at
            reasons.append(f"the query has reported nothing for {silence:.0f} s (limit {self.silence_limit:g} s)")
        return reasons


def _type_name(number: int | None) -> str:
    if number is None:
        return "none"
    known = BY_NUMBER.get(number)
    return str(number) if known is None else known.name


def record_counts(stats: DecodeStats) -> readmodel.RecordCounts:
    """Return decode statistics as tables, sorted by their labels."""
    read = ((_type_name(n), "unknown" if n is None else tracking(n), count) for n, count in stats.records.items())
    errors = (
        (_type_name(fault.record_type), "" if fault.version is None else str(fault.version), fault.reason, count)
        for fault, count in stats.faults.items()
    )
    return readmodel.RecordCounts(
        readmodel.rows_table(sorted(read), readmodel.RECORDS_READ),
        readmodel.rows_table(sorted(errors), readmodel.DECODE_ERRORS),
        readmodel.rows_table(sorted(stats.skipped.items()), readmodel.OFFSETS_SKIPPED),
    )
