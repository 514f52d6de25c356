"""The read model: the state of all groups at one time, as columns. The only interface from the job to its readers.

A `Snapshot` is a frozen set of Arrow tables with the schemas below. Rules for every table:

- *Unknown is null.* An unknown number is a null in its column, never 0, -1 or NaN. Where a reader needs the cause, a
  reason column has it.
- Times are `timestamp("ms")` in UTC. Durations and ages are not stored: readers subtract from their own clock.
- Names (groups, topics, states) are dictionary-encoded strings: thousands of rows share few names.
- A table is sorted by its label columns, so that two snapshots can be compared line by line.

`MonitorStatus` is the health of the monitor itself, readable before the first snapshot and while Kafka is unreachable.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.wording import FINE

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME: Final = pa.dictionary(pa.int32(), pa.string())
TIMESTAMP: Final = pa.timestamp("ms")

PARTITIONS: Final = pa.schema(
    [
        ("group", NAME),
        ("topic", NAME),
        ("partition", pa.int32()),
        # What the group committed: the next offset it will read, and when the broker stored that.
        ("committed_offset", pa.int64()),
        ("commit_time", TIMESTAMP),
        # When the committed offset was first reached: it stays while the same offset is committed again.
        ("progress_time", TIMESTAMP),
        # The partition's offsets, read after the commits; null if the cluster returned none for it.
        ("high_watermark", pa.int64()),
        ("last_stable_offset", pa.int64()),
        ("log_start_offset", pa.int64()),
        # high watermark - max(committed, log start); null if unknown, with the reason in the next column.
        ("lag", pa.int64()),
        ("lag_unknown_reason", NAME),
        # When the broker will expire this offset, by its own rules; null: never, or unknown.
        ("offset_expiry_time", TIMESTAMP),
        # All columns below are null before the first evaluation, and in a capture.
        # Offsets after the commit that retention deleted unread, and offsets between log start and commit.
        ("lost", pa.int64()),
        ("margin", pa.int64()),
        # Age of the oldest unread record in seconds, exactly 0 if nothing is unread; a lower bound if not exact.
        ("time_lag", pa.float64()),
        ("time_lag_exact", pa.bool_()),
        # Offsets per second over the commit window, and the seconds until nothing is unread at these rates; null also
        # if the group does not catch up.
        ("produce_rate", pa.float64()),
        ("consume_rate", pa.float64()),
        ("catch_up_seconds", pa.float64()),
        # Trend of the lag left after each commit: growing, shrinking, steady; null if there are too few commits.
        ("trend", NAME),
        ("verdict", NAME),
        ("verdict_since", TIMESTAMP),
        # The commit is behind the last stable offset, where an open transaction hides it: it is not yet stable.
        ("offset_hidden", pa.bool_()),
        # True if a time in the commit is impossible: in the future, before 1970 or after the year 9999. Commit and
        # progress time are then when the monitor first read that commit, and an expiry is the latest time shown.
        ("odd_time", pa.bool_()),
    ]
)
"""One row per (group, topic, partition) that has a committed offset, or that belongs to the group without one.

A partition belongs to a group if a member owns it or subscribes to its topic. Without a commit, its committed offset,
commit time and lag are null, and the reason for the unknown lag is `never_committed`.
"""

GROUPS: Final = pa.schema(
    [
        ("group", NAME),
        # classic, consumer, share, streams or simple (offsets without membership).
        ("kind", NAME),
        # As Kafka's tools print it; null if the log does not contain it.
        ("state", NAME),
        ("protocol_type", NAME),
        ("protocol", NAME),
        ("generation", pa.int32()),
        ("members", pa.int32()),
        ("partitions", pa.int32()),
        # Sum and maximum over the partitions whose lag is known; null when none is.
        ("lag_sum", pa.int64()),
        ("lag_max", pa.int64()),
        ("partitions_lag_unknown", pa.int32()),
        ("last_commit_time", TIMESTAMP),
        # True if the state was requested from the coordinator, because the log does not contain it.
        ("state_asked", pa.bool_()),
        # When the group entered this state, as far as the log reaches back; and when its first record was written.
        ("state_since", TIMESTAMP),
        ("created_time", TIMESTAMP),
        # Only of consumer, share and streams groups; null for the others.
        ("group_epoch", pa.int32()),
        ("assignment_epoch", pa.int32()),
        # Members without an assignment, and static members that left temporarily and keep their partitions.
        ("members_idle", pa.int32()),
        ("members_away", pa.int32()),
        # Partitions of subscribed topics without an owner; topics with offsets but without a subscriber.
        ("partitions_unowned", pa.int32()),
        ("topics_unsubscribed", pa.int32()),
        # When the broker expires the first of the group's offsets, and the group itself; null: never, or unknown.
        ("first_offset_expiry_time", TIMESTAMP),
        ("group_expiry_time", TIMESTAMP),
        # Of a Dead group, which is kept for a while: when and why it died (expired, deleted, topic deleted, unknown).
        ("died_time", TIMESTAMP),
        ("death_cause", NAME),
        # The group's verdict, its severity (`exporters.wording.SEVERITIES`), and when the verdict began; null before
        # the first evaluation, and for dead groups.
        ("verdict", NAME),
        ("severity", NAME),
        ("verdict_since", TIMESTAMP),
        # Number of its partitions with that verdict; 0 if the group has no partitions.
        ("verdict_partitions", pa.int32()),
        # The verdict in one sentence with its numbers; null if the severity is fine.
        ("sentence", pa.string()),
        # The greatest time lag among its partitions, in seconds; null if none is known.
        ("time_lag_max", pa.float64()),
        # False if it is only a lower bound.
        ("time_lag_max_exact", pa.bool_()),
        # True while an open transaction hides the group's latest commits from readers of committed records.
        ("held_back", pa.bool_()),
        # Number of its partitions with an odd time, plus the number of the group's own odd times; null: none.
        ("odd_times", pa.int32()),
        # Sum of `lost` over its partitions where it is known; null if it is for none.
        ("lost_sum", pa.int64()),
        # Completed rebalances since its first record in the log; null without a history.
        ("rebalances", pa.int64()),
        # The part of `lag_sum` that more members would cure, and the number of members that can have work; null if the
        # assignment or a lag is unknown.
        ("scalable_lag", pa.int64()),
        ("members_useful", pa.int32()),
        # Offsets that it went past without reading them, since the process started; null for a dead group.
        ("records_skipped", pa.int64()),
        # The labels of its configured owner; null: not given.
        ("team", NAME),
        ("tier", NAME),
        ("link", NAME),
        # The highest severity of alerts about it: critical, warning or info.
        ("max_severity", NAME),
        # When the configured maintenance window that is open ends; null: none is open.
        ("maintenance_until", TIMESTAMP),
        # True if its faults are shown and raise no alert (`health.day_one`); null before the first evaluation, and for
        # dead groups.
        ("unpaged", pa.bool_()),
    ]
)
"""One row per group. A group that died stays in state Dead, without partitions, until its retention period ends."""

BURROW_COMMIT: Final = pa.struct([("offset", pa.int64()), ("timestamp", pa.int64()), ("lag", pa.int64())])
COMPATIBILITY: Final = pa.schema(
    [
        ("group", NAME),
        ("topic", NAME),
        ("partition", pa.int32()),
        # The member that owns the partition, numbered within the snapshot; null: none, or unknown.
        ("owner", pa.int32()),
        # The member's client; null also if members are hidden (`HiddenMembers`).
        ("member_id", NAME),
        ("client_id", NAME),
        ("client_host", NAME),
        # The status by Burrow's rules, as Burrow names it; null: without a commit, or not evaluated.
        ("burrow_status", NAME),
        # True if every slot of Burrow's window is filled.
        ("burrow_complete", pa.bool_()),
        # The commits in Burrow's window, the newest last: offset, commit time (Unix ms), and the lag at that moment or
        # null. A null list: not evaluated, or `metrics.compatibility` does not have `burrow`.
        ("burrow_window", pa.list_(BURROW_COMMIT)),
        # Number of partitions of the topic; null: not known.
        ("topic_partitions", pa.int32()),
    ]
)
"""What only the metrics under the names of other exporters need (`exporters.compatibility`).

One row per row of PARTITIONS, in the same order; no rows unless `metrics.compatibility` names an exporter.
"""

DEAD_GROUPS: Final = pa.schema([("group", NAME), ("died_time", TIMESTAMP), ("death_cause", NAME)])
"""One row per dead group: the part of GROUPS that /metrics shows of it (`exporters.selection`)."""

FOLDED_GROUPS: Final = pa.schema([("group", NAME), ("groups", pa.int64())])
"""One row per pattern of generated names: the number of groups that /metrics shows as one (`exporters.selection`)."""

TOPICS: Final = pa.schema(
    [
        ("group", NAME),
        ("topic", NAME),
        # Partitions with a committed offset; sum and maximum are over those whose lag is known, null if none is.
        ("partitions", pa.int32()),
        ("lag_sum", pa.int64()),
        ("lag_max", pa.int64()),
        ("time_lag_max", pa.float64()),
        ("time_lag_max_exact", pa.bool_()),
        ("partitions_lag_unknown", pa.int32()),
        # The worst verdict of its partitions; null before the first evaluation.
        ("verdict", NAME),
    ]
)
"""One row per group and topic in PARTITIONS."""

LOG_ENDS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        # As in PARTITIONS; null if the cluster returned none for the partition.
        ("high_watermark", pa.int64()),
        ("log_start_offset", pa.int64()),
        # high watermark - last stable offset: hidden from read_committed consumers behind an open transaction.
        ("stable_gap", pa.int64()),
    ]
)
"""One row per partition in PARTITIONS, whatever the number of its groups."""

SUMMARY: Final = pa.schema([("held_back", pa.int64()), ("odd_times", pa.int64())])
"""One row: the number of groups whose `held_back` is true, and of those with odd times. Null: not known."""

VERDICT_GROUPS: Final = pa.schema(
    [
        ("verdict", NAME),
        ("severity", NAME),
        ("groups", pa.int64()),
        # What the verdict means, and what an operator does: one sentence or more each.
        ("meaning", pa.string()),
        ("next_step", pa.string()),
    ]
)
"""Number of groups per verdict, and the severity of each verdict: one row for every verdict of the rules, also with 0
groups. Empty before the first evaluation."""

COMMON_CAUSES: Final = pa.schema(
    [
        # What the groups share: offsets_partition, topic, client_host, leader or coordinator; and which one: a number,
        # a topic, or the number of a finding about a host, whose sentence names it.
        ("dimension", NAME),
        ("key", NAME),
        # Groups that are unhealthy now; the most that there were; these and the healthy ones that share it.
        ("sick", pa.int32()),
        ("affected", pa.int32()),
        ("compared", pa.int32()),
        # When the first of them became unhealthy.
        ("since", TIMESTAMP),
        # The finding in one sentence, and the action of an operator.
        ("sentence", pa.string()),
        ("next_step", pa.string()),
        # The names of the groups that are unhealthy now, sorted.
        ("groups", pa.list_(pa.string())),
        # How many of them raise no alert: in maintenance, or with a fault that is not paged.
        ("muted", pa.int32()),
    ]
)
"""One row per common cause: many groups that became unhealthy together and share something. At most five."""

COVERED_GROUPS: Final = pa.schema([("group", NAME), ("dimension", NAME), ("key", NAME)])
"""One row per group that a common cause explains, sorted by name."""

TRANSITIONS: Final = pa.schema([("group", NAME), ("transition", NAME), ("count", pa.int64())])
"""Number of transitions per group: created, rebalanced, emptied, reborn, converted, forgotten (some of its offsets were
removed), dead."""

UNKNOWN_LAGS: Final = pa.schema([("group", NAME), ("reason", NAME), ("partitions", pa.int32())])
"""Number of partitions with unknown lag, per group and reason. Only rows above zero."""

OFFSETS_PARTITIONS: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # The next offset that the job will read; all records before it are in the state.
        ("position", pa.int64()),
        ("high_watermark", pa.int64()),
        ("last_stable_offset", pa.int64()),
        # Offsets between the position and the last stable offset: readable, but not read yet.
        ("distance", pa.int64()),
        # high watermark - last stable offset: records hidden behind an open transaction.
        ("stable_gap", pa.int64()),
        # Since when the last stable offset has its value, below the high watermark; null if there is no gap.
        ("stable_gap_since", TIMESTAMP),
    ]
)
"""One row per partition of `__consumer_offsets`."""

OFFSETS_HELD_BACK: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # When the transaction began; if unknown, when the gap was first seen.
        ("since", TIMESTAMP),
        # The producer of the oldest open transaction; null if unknown.
        ("producer_id", pa.int64()),
        ("transactional_id", NAME),
        # True if its transaction coordinator does not know it, so that it will never end (KIP-664); null if unknown.
        ("hanging", pa.bool_()),
        # Offsets behind the last stable offset that the last read did not reach; null before the first read.
        ("unread", pa.int64()),
    ]
)
"""One row per partition of `__consumer_offsets` that an open transaction has blocked for longer than usual."""

RECORDS_READ: Final = pa.schema([("record_type", NAME), ("tracking", NAME), ("records", pa.int64())])
"""Records read since the process started, by type. `tracking` is `tracked`, `known` (not tracked yet) or `unknown`."""

DEATHS: Final = pa.schema([("cause", NAME), ("groups", pa.int64())])
"""Groups that died since the process was ready, by cause. Deaths replayed by the initial catch-up are not counted."""

VERDICT_CHANGES: Final = pa.schema([("verdict", NAME), ("groups", pa.int64())])
"""Changes to each verdict since the process was ready, in groups. Changes between two fine verdicts are not counted."""

OFFSETS_UNAVAILABLE: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # Why its end is not known, as `no_leader`; and since when.
        ("reason", NAME),
        ("since", TIMESTAMP),
        # Groups whose commits it stores. They can neither commit nor be evaluated.
        ("groups", pa.int64()),
    ]
)
"""One row per partition of `__consumer_offsets` without a known end offset."""

OFFSETS_UNAVAILABLE_GROUPS: Final = pa.schema([("offsets_partition", pa.int32()), ("group", NAME)])
"""The first ten groups, by name, of each row of OFFSETS_UNAVAILABLE."""

UNREADABLE_TAILS: Final = pa.schema([("reason", NAME), ("partitions", pa.int64())])
"""Partitions whose last records cannot be read although a group has stopped before their end, by reason. Only rows
above zero."""

EXPIRY_CHECKS: Final = pa.schema([("outcome", NAME), ("offsets", pa.int64())])
"""Predicted offset expiries compared with the tombstones, since the process was ready: `kept` (the tombstone came in
time), `early` (shortly before), `deleted` (long before: an administrator deleted the offset), `late`, `missing` (no
tombstone long after: the broker does not expire offsets, or the log cleaner or the reader has stopped)."""

TARGETS: Final = pa.schema([("group", NAME), ("time_lag_target", pa.float64())])
"""Groups with a configured target: the highest acceptable time lag in seconds."""

OWNERS: Final = pa.schema([("group", NAME), ("team", NAME), ("tier", NAME), ("link", NAME), ("max_severity", NAME)])
"""Groups with a configured owner: the part of GROUPS that /metrics shows of it (`exporters.selection`)."""

MAINTENANCE: Final = pa.schema([("group", NAME), ("in_maintenance", pa.bool_())])
"""Groups in a configured maintenance window; true in every row (`exporters.selection`)."""

UNPAGED: Final = pa.schema([("group", NAME), ("unpaged", pa.bool_())])
"""Groups whose faults raise no alert; true in every row (`exporters.selection`)."""

HTTP_REFUSALS: Final = pa.schema([("reason", NAME), ("refusals", pa.int64())])
"""Connections and requests that the HTTP server refused or closed since the process started, by reason."""

DESCRIPTORS: Final = pa.schema([("role", NAME), ("open", pa.int64()), ("limit", pa.int64())])
"""Open file descriptors and their limit, per role, of the role's process that is nearest to its limit."""

PROCESSES: Final = pa.schema(
    [("role", NAME), ("processes", pa.int64()), ("memory", pa.int64()), ("cpu_seconds", pa.float64())]
)
"""Running processes per role, their proportional set size in bytes (null: not known), and the CPU time that all
processes of the role have used since the monitor started."""

FILE_FAILURES: Final = pa.schema([("file", NAME), ("failures", pa.int64())])
"""Failed writes since the process started, by the kind of file."""

SERIES_DROPPED: Final = pa.schema([("metric", NAME), ("series_now", pa.int64()), ("series_ever", pa.int64())])
"""Series left out by the series budget, per metric: of the snapshot that is served (null: none), and summed over all
snapshots since the process started."""

INTERNAL_ERRORS: Final = pa.schema([("part", NAME), ("errors", pa.int64())])
"""Internal errors of lagwarden since the process started, by the part that failed: `group` (evaluation of a group),
`ending` (cause of the end of a group or an offset), `answer` (an HTTP response)."""

WEBHOOK_FAILURES: Final = pa.schema([("reason", NAME), ("failures", pa.int64())])
"""Failed requests to the webhook since the process started, by reason; every reason has a row. Empty without a
webhook."""

WEBHOOK_DROPS: Final = pa.schema([("reason", NAME), ("events", pa.int64())])
"""Events dropped before the webhook accepted them, by reason; every reason has a row. Empty without a webhook."""

DECODE_ERRORS: Final = pa.schema([("record_type", NAME), ("version", NAME), ("reason", NAME), ("records", pa.int64())])
"""Records that could not be decoded since the process started, by record type, version of the value and reason."""

OFFSETS_SKIPPED: Final = pa.schema([("reason", NAME), ("offsets", pa.int64())])
"""Offsets of the offsets topic that were passed without being read since the process started, by reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of all groups. `taken_at` (Unix seconds) is when the end offsets had been read.

    `targets`, `dead_groups`, `folded_groups`, `owners`, `maintenance`, `unpaged` and `summary` are
    filled by `exporters.selection`, for /metrics.
    """

    taken_at: float
    partitions: pa.Table
    groups: pa.Table
    unknown_lags: pa.Table
    transitions: pa.Table = dataclasses.field(default_factory=TRANSITIONS.empty_table)
    topics: pa.Table = dataclasses.field(default_factory=TOPICS.empty_table)
    verdict_groups: pa.Table = dataclasses.field(default_factory=VERDICT_GROUPS.empty_table)
    targets: pa.Table = dataclasses.field(default_factory=TARGETS.empty_table)
    dead_groups: pa.Table = dataclasses.field(default_factory=DEAD_GROUPS.empty_table)
    folded_groups: pa.Table = dataclasses.field(default_factory=FOLDED_GROUPS.empty_table)
    owners: pa.Table = dataclasses.field(default_factory=OWNERS.empty_table)
    maintenance: pa.Table = dataclasses.field(default_factory=MAINTENANCE.empty_table)
    unpaged: pa.Table = dataclasses.field(default_factory=UNPAGED.empty_table)
    log_ends: pa.Table = dataclasses.field(default_factory=LOG_ENDS.empty_table)
    summary: pa.Table = dataclasses.field(default_factory=SUMMARY.empty_table)
    common_causes: pa.Table = dataclasses.field(default_factory=COMMON_CAUSES.empty_table)
    covered_groups: pa.Table = dataclasses.field(default_factory=COVERED_GROUPS.empty_table)
    compatibility: pa.Table = dataclasses.field(default_factory=COMPATIBILITY.empty_table)

    @property
    def fine_verdicts(self) -> tuple[str, ...]:
        """The verdicts of severity `fine`; empty before the first evaluation."""
        verdicts = self.verdict_groups
        fine = pc.equal(verdicts.column("severity").cast(pa.string()), FINE)
        return tuple(verdicts.column("verdict").filter(fine).to_pylist())


@dataclasses.dataclass(frozen=True, slots=True)
class MemberDetail:
    """One member of a group. None: not in the log, or hidden (`HiddenMembers`).

    `assignment` has the partitions by topic (name, else id).
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rack: str | None
    epoch: int | None
    state: str | None
    # A static member that left temporarily and keeps its partitions.
    away: bool
    assignor: str | None
    subscription: tuple[str, ...]
    regex: str | None
    assignment: tuple[tuple[str, tuple[int, ...]], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TransitionDetail:
    """A transition of a group: created, rebalanced, emptied, reborn, converted, forgotten, dead.

    `time` (Unix seconds) is the time of the record that caused it. `live` is false if the initial catch-up replayed it.
    """

    time: float
    transition: str
    # A description, and the cause of an end.
    text: str
    cause: str | None
    live: bool
    # Number of members that joined and left.
    came: int
    went: int


@dataclasses.dataclass(frozen=True, slots=True)
class FindingDetail:
    """A verdict with its explanation. `since` is Unix seconds.

    `evidence` has the numbers behind the sentence: names ending in `_time` and `_since` are RFC 3339 times, `time_lag`
    and names ending in `_seconds` are seconds, names ending in `_rate` are offsets per second. None: unknown.
    """

    verdict: str
    severity: str
    since: float | None
    sentence: str
    evidence: Mapping[str, str | float | int | bool | None]
    next_step: str


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictChange:
    """A change of a group's verdict at `time` (Unix seconds), with its sentence. `before` is None for the first one."""

    time: float
    before: str | None
    verdict: str
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDetail:
    """Members, history and findings of one group. Too large to publish for all groups."""

    group: str
    members: tuple[MemberDetail, ...]
    # Oldest first; only the newest are kept.
    transitions: tuple[TransitionDetail, ...]
    # Partitions of subscribed topics without an owner, by topic; None if the subscriptions are unknown.
    unowned: tuple[tuple[str, tuple[int, ...]], ...] | None
    # Topics with offsets of the group but without a subscriber; None if the subscriptions are unknown.
    unsubscribed: tuple[str, ...] | None
    # The group's verdict; None before the first evaluation, and for dead groups.
    finding: FindingDetail | None = None
    # Topic, partition and finding of the partitions whose verdict is not fine, the worst first; limited in number.
    partition_findings: tuple[tuple[str, int, FindingDetail], ...] = ()
    # Oldest first; only the newest are kept, also across restarts.
    verdicts: tuple[VerdictChange, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Histogram:
    """Observations since the process started: the cumulative number per bound, and their count and sum."""

    bounds: tuple[float, ...]
    cumulative: tuple[int, ...]
    count: int
    total: float


@dataclasses.dataclass(frozen=True, slots=True)
class OtherInstance:
    """The instance that monitors a group which this one does not: its part as `i/n`, its base URL if that is known."""

    part: str
    url: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorStatus:
    """The health of the monitor at this moment. None: not known (yet). Counters are never None."""

    version: str
    cluster_id: str | None
    # One of: connecting, waiting for topic, starting, catching up, running, stopping, failed.
    phase: str
    ready: bool
    # The reasons why it is not ready, each one sentence; empty if ready.
    not_ready_reasons: tuple[str, ...]
    started_at: float
    snapshot_taken_at: float | None
    kafka_reachable: bool
    # The initial catch-up: share of the records that has been read (0 to 1), speed, and time left.
    catch_up_ratio: float | None
    catch_up_records_per_second: float | None
    catch_up_seconds_left: float | None
    batches: int
    last_batch_seconds: float | None
    last_batch_at: float | None
    # Number of times that the state was set aside and the topic was read from its start.
    resyncs: int
    series: int
    records_read: pa.Table
    decode_errors: pa.Table
    offsets_partitions: pa.Table
    # How long the brokers keep offsets, how often they check, and the source (broker, configuration, unknown).
    offsets_retention_seconds: float | None = None
    offsets_retention_check_seconds: float | None = None
    offsets_retention_source: str = "unknown"
    deaths: pa.Table = dataclasses.field(default_factory=DEATHS.empty_table)
    expiry_checks: pa.Table = dataclasses.field(default_factory=EXPIRY_CHECKS.empty_table)
    verdict_changes: pa.Table = dataclasses.field(default_factory=VERDICT_CHANGES.empty_table)
    offsets_held_back: pa.Table = dataclasses.field(default_factory=OFFSETS_HELD_BACK.empty_table)
    unreadable_tails: pa.Table = dataclasses.field(default_factory=UNREADABLE_TAILS.empty_table)
    offsets_unavailable: pa.Table = dataclasses.field(default_factory=OFFSETS_UNAVAILABLE.empty_table)
    offsets_unavailable_groups: pa.Table = dataclasses.field(default_factory=OFFSETS_UNAVAILABLE_GROUPS.empty_table)
    # Seconds from the predicted to the actual expiry of offsets; positive: the tombstone came later.
    expiry_error_seconds: Histogram | None = None
    # Groups that cannot be evaluated because of an internal error, and the internal errors by part.
    groups_not_evaluated: int = 0
    internal_errors: pa.Table = dataclasses.field(default_factory=INTERNAL_ERRORS.empty_table)
    # Series that the series budget left out of /metrics.
    series_dropped: pa.Table = dataclasses.field(default_factory=SERIES_DROPPED.empty_table)
    # Open connections of the HTTP server, and its refusals by reason.
    http_connections: int | None = None
    http_refusals: pa.Table = dataclasses.field(default_factory=HTTP_REFUSALS.empty_table)
    # Failed writes of optional files.
    file_failures: pa.Table = dataclasses.field(default_factory=FILE_FAILURES.empty_table)
    # Offsets of the offsets topic that could not be read, by reason.
    offsets_skipped: pa.Table = dataclasses.field(default_factory=OFFSETS_SKIPPED.empty_table)
    # Open file descriptors of the processes, by role.
    descriptors: pa.Table = dataclasses.field(default_factory=DESCRIPTORS.empty_table)
    # Memory and CPU of the processes, by role, and the limit on the memory of all of them.
    processes: pa.Table = dataclasses.field(default_factory=PROCESSES.empty_table)
    memory_limit_bytes: int | None = None
    # Heap of the JVM: used now, including garbage, and the maximum.
    heap_used_bytes: int | None = None
    heap_max_bytes: int | None = None
    # The checkpoint and its volume; when the newest full snapshot of the state was written.
    checkpoint_bytes: int | None = None
    checkpoint_files: int | None = None
    checkpoint_volume_free_bytes: int | None = None
    checkpoint_volume_bytes: int | None = None
    state_snapshot_at: float | None = None
    # The webhook, None without one: accepted events, events in the queue, and the time of the oldest one.
    webhook_sent: int | None = None
    webhook_queued: int | None = None
    webhook_oldest_at: float | None = None
    webhook_failures: pa.Table = dataclasses.field(default_factory=WEBHOOK_FAILURES.empty_table)
    webhook_drops: pa.Table = dataclasses.field(default_factory=WEBHOOK_DROPS.empty_table)
    # Damaged snapshots of the state that Spark replaced by an older one with its changelog.
    state_repairs: int = 0
    # The registered and the configured executors, None with a local master.
    executors: int | None = None
    executors_expected: int | None = None
    # Which of several instances this is, as `i/n`, and n.
    part: str = "0/1"
    instances: int = 1
    # The base URLs of all instances, in their order; empty if not configured.
    siblings: tuple[str, ...] = ()


def empty(schema: pa.Schema) -> pa.Table:
    """Return a table with this schema and no rows."""
    return schema.empty_table()
