"""The read model: everything lagwarden knows at one moment, as columns. The only door from the job to its readers.

A `Snapshot` is a frozen set of Arrow tables with the schemas below. Rules that hold for every table:

- *Unknown is null.* A number that is not known is a null in its column, never 0, -1 or NaN; where a reader needs to
  know why, a reason column stands beside it.
- Points in time are `timestamp("ms")` in UTC; durations and ages are not stored, readers subtract from their own clock.
- Names (groups, topics, states) are dictionary-encoded strings: thousands of rows share few names.
- A table is sorted by its label columns, so that two snapshots can be compared line by line.

`MonitorStatus` is the small live part: the health of the monitor itself, which must be readable before there is a first
snapshot and while Kafka is away.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pyarrow as pa

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
        # The partition's own ends, read after the commits; null when the cluster did not answer for it.
        ("high_watermark", pa.int64()),
        ("last_stable_offset", pa.int64()),
        ("log_start_offset", pa.int64()),
        # high watermark - max(committed, log start); null when not known, and then the reason says why.
        ("lag", pa.int64()),
        ("lag_unknown_reason", NAME),
        # When the broker will forget this offset, by its own rules; null when it never will, or that is not known.
        ("offset_expiry_time", TIMESTAMP),
        # From here on null in all rows as long as nothing has been judged, as in a capture.
        # Offsets after the commit that retention deleted unread, and offsets between the log start and the commit.
        ("lost", pa.int64()),
        ("margin", pa.int64()),
        # Age of the oldest unread record in seconds, exactly 0 where nothing is unread; not exact: it is at least that.
        ("time_lag", pa.float64()),
        ("time_lag_exact", pa.bool_()),
        # Offsets per second over the commit window, and in how many seconds nothing will be unread at these rates; null
        # also where that is never.
        ("produce_rate", pa.float64()),
        ("consume_rate", pa.float64()),
        ("catch_up_seconds", pa.float64()),
        # Of the lag left after each commit: growing, shrinking, steady; null where there is too little to tell.
        ("trend", NAME),
        ("verdict", NAME),
        ("verdict_since", TIMESTAMP),
        # The commit was asked from the coordinator, because an open transaction hides it from the log.
        ("offset_asked", pa.bool_()),
        # Whether a time in the row's commit cannot be right: in the future, before 1970 or beyond the year 9999. Then
        # commit and progress time are when the monitor first saw that commit, and an expiry is the latest time shown.
        ("odd_time", pa.bool_()),
    ]
)
"""One row per (group, topic, partition) that has a committed offset, or that belongs to the group without one.

A partition belongs to a group if a member owns it or subscribes to its topic. Without any commit its committed offset,
commit time and lag are null, and the reason for the latter is `never_committed`.
"""

GROUPS: Final = pa.schema(
    [
        ("group", NAME),
        # classic, consumer, share, streams or simple (offsets without membership).
        ("kind", NAME),
        # As Kafka's tools print it; null where the log does not tell.
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
        # Whether the state was asked from the cluster, because the log does not tell it.
        ("state_asked", pa.bool_()),
        # Since when it is in this state, as far as the log tells; and when its first record was written.
        ("state_since", TIMESTAMP),
        ("created_time", TIMESTAMP),
        # Of the newer kinds (consumer, share, streams); null for the others.
        ("group_epoch", pa.int32()),
        ("assignment_epoch", pa.int32()),
        # Members with nothing assigned, and static members that are away and keep what they own.
        ("members_idle", pa.int32()),
        ("members_away", pa.int32()),
        # Partitions of subscribed topics that nobody owns; topics with offsets that nobody subscribes to.
        ("partitions_unowned", pa.int32()),
        ("topics_unsubscribed", pa.int32()),
        # When the broker forgets the first of the group's offsets, and the group itself; null: never, or not known.
        ("first_offset_expiry_time", TIMESTAMP),
        ("group_expiry_time", TIMESTAMP),
        # A Dead group stays for a grace time: when it died and why (expired, deleted, topic deleted, unknown).
        ("died_time", TIMESTAMP),
        ("death_cause", NAME),
        # What there is to say of the group, how bad that is (fine, unknown, notice, warning, critical), and since when
        # it holds; null before there is a judgement, and of the dead.
        ("verdict", NAME),
        ("severity", NAME),
        ("verdict_since", TIMESTAMP),
        # How many of its partitions have that verdict; 0 where the group has none.
        ("verdict_partitions", pa.int32()),
        # The verdict in one sentence with its numbers; null when the severity is fine.
        ("sentence", pa.string()),
        # The greatest time lag among its partitions, in seconds; null where none is known.
        ("time_lag_max", pa.float64()),
        # Whether it is no more than that; where false, it is at least so much (of any of its partitions).
        ("time_lag_max_exact", pa.bool_()),
        # An open transaction hides the group's commits from the log: its coordinator is asked for them meanwhile.
        ("held_back", pa.bool_()),
        # How many partitions of the group have an odd time, and how many of the group's own times are odd; null: none.
        ("odd_times", pa.int32()),
    ]
)
"""One row per group; one that has died is in state Dead, without partitions, until its grace time is over."""

TOPICS: Final = pa.schema(
    [
        ("group", NAME),
        ("topic", NAME),
        # With a committed offset; sum and maximum are over those whose lag is known, null when none is.
        ("partitions", pa.int32()),
        ("lag_sum", pa.int64()),
        ("lag_max", pa.int64()),
        ("time_lag_max", pa.float64()),
        ("time_lag_max_exact", pa.bool_()),
        ("partitions_lag_unknown", pa.int32()),
        # The worst of the partitions' verdicts; null before there is a judgement.
        ("verdict", NAME),
    ]
)
"""One row per group and topic of which PARTITIONS has rows."""

VERDICT_GROUPS: Final = pa.schema([("verdict", NAME), ("severity", NAME), ("groups", pa.int64())])
"""How many groups have each verdict; all verdicts that there are, also with none. Empty before there is a judgement."""

TRANSITIONS: Final = pa.schema([("group", NAME), ("transition", NAME), ("count", pa.int64())])
"""Per group, how often it was created, rebalanced, emptied, reborn, converted, forgotten (some offsets), dead."""

UNKNOWN_LAGS: Final = pa.schema([("group", NAME), ("reason", NAME), ("partitions", pa.int32())])
"""Per group and reason: how many of its partitions have no known lag. Only rows above zero."""

OFFSETS_PARTITIONS: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # The next offset that the job will read; what is before it is in the state.
        ("position", pa.int64()),
        ("high_watermark", pa.int64()),
        ("last_stable_offset", pa.int64()),
        # Offsets between the position and the last stable offset: what the job could have read but has not.
        ("distance", pa.int64()),
        # high watermark - last stable offset: what an open transaction holds back.
        ("stable_gap", pa.int64()),
        # Since when the last stable offset stands where it does, below the high watermark; null when there is no gap.
        ("stable_gap_since", TIMESTAMP),
    ]
)
"""One row per partition of `__consumer_offsets`."""

OFFSETS_HELD_BACK: Final = pa.schema(
    [
        ("offsets_partition", pa.int32()),
        # When the transaction began; where that is not known, when the gap was first seen.
        ("since", TIMESTAMP),
        # The producer of the oldest open transaction; null where nobody could tell.
        ("producer_id", pa.int64()),
        ("transactional_id", NAME),
        # Whether its coordinator has forgotten it, so that nobody is going to end it; null where that is not known.
        ("hanging", pa.bool_()),
    ]
)
"""One row per partition of `__consumer_offsets` that an open transaction has held back for longer than is usual."""

RECORDS_READ: Final = pa.schema([("record_type", NAME), ("tracking", NAME), ("records", pa.int64())])
"""Records read since the process started, by type; tracking is `tracked`, `known` (not tracked yet) or `unknown`."""

DEATHS: Final = pa.schema([("cause", NAME), ("groups", pa.int64())])
"""Groups that died since the process was ready, by cause. What the initial catch-up replays is not counted."""

VERDICT_CHANGES: Final = pa.schema([("verdict", NAME), ("groups", pa.int64())])
"""Groups that turned to each verdict since the process was ready. Turns from one fine verdict to another are none."""

UNREADABLE_TAILS: Final = pa.schema([("reason", NAME), ("partitions", pa.int64())])
"""Partitions before whose end a group rests and whose last records cannot be read, by reason. Only rows above zero."""

EXPIRY_CHECKS: Final = pa.schema([("outcome", NAME), ("offsets", pa.int64())])
"""Predicted expiries held against what came, since the process was ready: `kept` (the tombstone came in time), `early`
(shortly before its time), `deleted` (long before it: somebody deleted it), `late`, `missing` (no tombstone long after
its time: the broker does not expire, or the log cleaner or the reader stands still)."""

TARGETS: Final = pa.schema([("group", NAME), ("time_lag_target", pa.float64())])
"""Groups that were given a target: the time lag, in seconds, that is still good."""

HTTP_REFUSALS: Final = pa.schema([("reason", NAME), ("refusals", pa.int64())])
"""Connections and requests that the HTTP server refused or cut off since the process started."""

DESCRIPTORS: Final = pa.schema([("role", NAME), ("open", pa.int64()), ("limit", pa.int64())])
"""Open file descriptors and their limit, per role, of the process of the role that is nearest to its limit."""

FILE_FAILURES: Final = pa.schema([("file", NAME), ("failures", pa.int64())])
"""Failed writes since the process started, by the kind of file."""

SERIES_DROPPED: Final = pa.schema([("metric", NAME), ("series_now", pa.int64()), ("series_ever", pa.int64())])
"""Metrics that the series budget left out: how many series of the snapshot that is served (null: none), and added up
over all snapshots since the process started."""

INTERNAL_ERRORS: Final = pa.schema([("part", NAME), ("errors", pa.int64())])
"""Faults of lagwarden itself since the process started, by the part of the work that failed: `group` (a group could not
be evaluated), `ending` (nor why something ended), `answer` (an HTTP answer could not be made)."""

DECODE_ERRORS: Final = pa.schema([("record_type", NAME), ("version", NAME), ("reason", NAME), ("records", pa.int64())])
"""Records that could not be decoded since the process started, by type, value version and reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of all groups. `taken_at` (Unix seconds) is when the ends of the partitions had been read."""

    taken_at: float
    partitions: pa.Table
    groups: pa.Table
    unknown_lags: pa.Table
    transitions: pa.Table = dataclasses.field(default_factory=TRANSITIONS.empty_table)
    topics: pa.Table = dataclasses.field(default_factory=TOPICS.empty_table)
    verdict_groups: pa.Table = dataclasses.field(default_factory=VERDICT_GROUPS.empty_table)
    targets: pa.Table = dataclasses.field(default_factory=TARGETS.empty_table)


@dataclasses.dataclass(frozen=True, slots=True)
class MemberDetail:
    """One member of a group. None: the log does not tell. `assignment` gives partitions by topic (name, else id)."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None
    epoch: int | None
    state: str | None
    # A static member that has left for a while and keeps what it owns.
    away: bool
    assignor: str | None
    subscription: tuple[str, ...]
    regex: str | None
    assignment: tuple[tuple[str, tuple[int, ...]], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TransitionDetail:
    """Something that happened to a group: created, rebalanced, emptied, reborn, converted, forgotten, dead.

    `time` is Unix seconds, of the record that made it true. `live` is false for what the initial catch-up replayed.
    """

    time: float
    transition: str
    # A sentence for a person, and for an end its cause.
    text: str
    cause: str | None
    live: bool
    came: int
    went: int


@dataclasses.dataclass(frozen=True, slots=True)
class FindingDetail:
    """A verdict in words. `since` is Unix seconds.

    `evidence` has the numbers that the sentence was drawn from: names in `_time` and `_since` are moments (RFC 3339),
    `time_lag` and names in `_seconds` are seconds, names in `_rate` offsets per second; None: not known.
    """

    verdict: str
    severity: str
    since: float | None
    sentence: str
    evidence: Mapping[str, str | float | int | bool | None]
    next_step: str


@dataclasses.dataclass(frozen=True, slots=True)
class VerdictChange:
    """When a group's verdict turned to another (Unix seconds), and what was said of it then. `before` None: nothing."""

    time: float
    before: str | None
    verdict: str
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDetail:
    """What is only told of one group at a time, because it would be too much for all: members, history, findings."""

    group: str
    members: tuple[MemberDetail, ...]
    # Oldest first; the newest that are kept.
    transitions: tuple[TransitionDetail, ...]
    # Partitions of subscribed topics that nobody owns, by topic; None when the subscriptions are not known.
    unowned: tuple[tuple[str, tuple[int, ...]], ...] | None
    # Topics that the group has offsets for and nobody subscribes to; None when the subscriptions are not known.
    unsubscribed: tuple[str, ...] | None
    # The group's verdict in words; None before there is a judgement, and of the dead.
    finding: FindingDetail | None = None
    # Topic, partition and finding of those whose verdict is not fine, the worst first; of many only these.
    partition_findings: tuple[tuple[str, int, FindingDetail], ...] = ()
    # Oldest first; the newest that are kept, over restarts too.
    verdicts: tuple[VerdictChange, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Histogram:
    """Observations since the process started: how many fell at or below each bound, cumulative; `count` has all."""

    bounds: tuple[float, ...]
    cumulative: tuple[int, ...]
    count: int
    total: float


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorStatus:
    """The monitor's own health at this moment. Every field but the counters may be None: not known (yet)."""

    version: str
    cluster_id: str | None
    # One of: connecting, waiting for topic, starting, catching up, running, stopping, failed.
    phase: str
    ready: bool
    # Why it is not ready, each a sentence for a person; empty when ready.
    not_ready_reasons: tuple[str, ...]
    started_at: float
    snapshot_taken_at: float | None
    kafka_reachable: bool
    # The catch-up: the share of the records to read at start that has been read (0 to 1), how fast, how long still.
    catch_up_ratio: float | None
    catch_up_records_per_second: float | None
    catch_up_seconds_left: float | None
    batches: int
    last_batch_seconds: float | None
    last_batch_at: float | None
    # How often the state was set aside, and the topic read from its start.
    resyncs: int
    series: int
    records_read: pa.Table
    decode_errors: pa.Table
    offsets_partitions: pa.Table
    # How long the brokers keep offsets, how often they look, where that is known from (broker, configuration, unknown).
    offsets_retention_seconds: float | None = None
    offsets_retention_check_seconds: float | None = None
    offsets_retention_source: str = "unknown"
    deaths: pa.Table = dataclasses.field(default_factory=DEATHS.empty_table)
    expiry_checks: pa.Table = dataclasses.field(default_factory=EXPIRY_CHECKS.empty_table)
    verdict_changes: pa.Table = dataclasses.field(default_factory=VERDICT_CHANGES.empty_table)
    offsets_held_back: pa.Table = dataclasses.field(default_factory=OFFSETS_HELD_BACK.empty_table)
    unreadable_tails: pa.Table = dataclasses.field(default_factory=UNREADABLE_TAILS.empty_table)
    # Seconds between the predicted and the true end of offsets that expired; positive: the tombstone came later.
    expiry_error_seconds: Histogram | None = None
    # Groups that cannot be evaluated because of a fault of lagwarden, and how often which part of the work failed so.
    groups_not_evaluated: int = 0
    internal_errors: pa.Table = dataclasses.field(default_factory=INTERNAL_ERRORS.empty_table)
    # What the series budget left out of /metrics.
    series_dropped: pa.Table = dataclasses.field(default_factory=SERIES_DROPPED.empty_table)
    # The HTTP server itself: open connections, and what it refused or cut off by reason.
    http_connections: int | None = None
    http_refusals: pa.Table = dataclasses.field(default_factory=HTTP_REFUSALS.empty_table)
    # Writes of files that a run can do without, and that failed.
    file_failures: pa.Table = dataclasses.field(default_factory=FILE_FAILURES.empty_table)
    # Open file descriptors of the processes.
    descriptors: pa.Table = dataclasses.field(default_factory=DESCRIPTORS.empty_table)


def empty(schema: pa.Schema) -> pa.Table:
    """Give a table of this schema without rows."""
    return schema.empty_table()
