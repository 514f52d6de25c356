"""The schemas of the tables about groups, which a snapshot holds."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from exporters.readmodel.columns import NAME, TIMESTAMP

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
        # Partitions with a committed offset; of a share group those with a start offset, null if they are not known.
        ("partitions", pa.int32()),
        # Sum and maximum over the partitions whose lag is known; null when none is. Of a share group the records that
        # are not finished.
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
        # The mean time in seconds between the commits of the partition that the group commits most often, over the
        # commit window; and the greatest share of a partition's offsets (0 to 1) that it has not read.
        ("commit_interval", pa.float64()),
        ("unread_ratio", pa.float64()),
        # Offsets that it went past without reading them, since the process started; null for a dead group.
        ("records_skipped", pa.int64()),
        # Its commits that were read after the process had caught up; null for a dead group, and in a capture.
        ("commits", pa.int64()),
        # The labels of its configured owner; null: not given.
        ("team", NAME),
        ("tier", NAME),
        ("link", NAME),
        # The highest severity of alerts about it: critical, warning or info.
        ("max_severity", NAME),
        # When the configured maintenance window that is open ends; null: none is open.
        ("maintenance_until", TIMESTAMP),
        # Why a configured silence mutes its alerts; null: none does. When the silence ends; null: not by itself.
        ("silence_reason", NAME),
        ("silence_until", TIMESTAMP),
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
        # As in GROUPS.
        ("partitions", pa.int32()),
        ("lag_sum", pa.int64()),
        ("lag_max", pa.int64()),
        ("time_lag_max", pa.float64()),
        ("time_lag_max_exact", pa.bool_()),
        ("partitions_lag_unknown", pa.int32()),
        # The worst verdict of its partitions; null before the first evaluation.
        ("verdict", NAME),
        # Members that own partitions of the topic, and these partitions; null while the assignment is not known.
        ("members", pa.int32()),
        ("partitions_assigned", pa.int32()),
    ]
)
"""One row per group and topic in PARTITIONS, and per topic that a share group reads.

A share group reads a topic if brokers record its progress in it, or if a member subscribes to it. It has no rows in
PARTITIONS, no time lag, and no partitions of a member.
"""

LOG_ENDS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        # As in PARTITIONS; null if the cluster returned none for the partition.
        ("high_watermark", pa.int64()),
        ("log_start_offset", pa.int64()),
        # high watermark - last stable offset: hidden from read_committed consumers behind an open transaction.
        ("stable_gap", pa.int64()),
        # Growth in offsets per second over the commit window, divided by the mean of the topic's other partitions.
        # Null unless the partition is hot: at least three times the mean.
        ("hot_ratio", pa.float64()),
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
        # What the groups share: offsets_partition, topic, client_host, leader, coordinator or follower; and which
        # one: a number, a topic, or the number of a finding about a host, whose sentence names it.
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
        # How many of them raise no alert: in maintenance, silenced, or with a fault that is not paged.
        ("muted", pa.int32()),
    ]
)
"""One row per common cause: many groups that became unhealthy together and share something. At most five."""

COVERED_GROUPS: Final = pa.schema([("group", NAME), ("dimension", NAME), ("key", NAME)])
"""One row per group that a common cause explains, sorted by name."""

FINDINGS: Final = pa.schema(
    [
        ("group", NAME),
        ("verdict", NAME),
        # The partition that has had this verdict for longest, so that it stays the same while others come and go.
        ("topic", NAME),
        ("partition", pa.int32()),
        # The client of the member that owns it; null: none, not known, or members are hidden.
        ("client_id", NAME),
        # As in PARTITIONS; null also of a share group.
        ("committed_offset", pa.int64()),
    ]
)
"""One row per group whose verdict needs attention, sorted by name, for the texts of alerts."""

TRANSITIONS: Final = pa.schema([("group", NAME), ("transition", NAME), ("count", pa.int64())])
"""Number of transitions per group: created, rebalanced, emptied, reborn, converted, forgotten (some of its offsets were
removed), dead."""

UNKNOWN_LAGS: Final = pa.schema([("group", NAME), ("reason", NAME), ("partitions", pa.int32())])
"""Number of partitions with unknown lag, per group and reason. Only rows above zero."""

TARGETS: Final = pa.schema([("group", NAME), ("time_lag_target", pa.float64())])
"""Groups with a configured target: the highest acceptable time lag in seconds."""

OWNERS: Final = pa.schema([("group", NAME), ("team", NAME), ("tier", NAME), ("link", NAME), ("max_severity", NAME)])
"""Groups with a configured owner: the part of GROUPS that /metrics shows of it (`exporters.selection`)."""

MAINTENANCE: Final = pa.schema([("group", NAME), ("in_maintenance", pa.bool_())])
"""Groups in a configured maintenance window or silence; true in every row (`exporters.selection`)."""

UNPAGED: Final = pa.schema([("group", NAME), ("unpaged", pa.bool_())])
"""Groups whose faults raise no alert; true in every row (`exporters.selection`)."""
