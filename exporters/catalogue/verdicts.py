"""The tables about all groups: verdicts and common causes, with their columns and metrics."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from exporters.catalogue.metric import SCRAPE, SNAPSHOT, Source
from exporters.catalogue.table import (
    EXPERIMENTAL,
    GROUP,
    INT32,
    INT64,
    LEAN,
    NAME,
    STANDARD,
    TEXT,
    TIMESTAMP,
    Column,
    Exported,
    Table,
)

_NO_CAUSE: Final = "there is no such finding"
_CAUSE: Final = (
    Column("dimension", NAME,
           "What the groups share: offsets_partition, topic, client_host, leader, coordinator or follower."),
    # The number of a finding about a host, whose sentence names the host.
    Column("key", NAME, "Which one: a number, a topic, or the number of a finding about a host."),
)  # fmt: skip

VERDICT_GROUPS: Final = Table(
    Source("verdict_groups", SNAPSHOT),
    (
        Column("verdict", NAME, "The verdict.", Exported(
            "lagwarden_verdict_info", STANDARD,
            "What an operator does about a verdict, to join by its label; the same for all groups.",
            "the severity of the verdict is fine", labels=("verdict", "next_step"), omits_fine=True),
            stability=EXPERIMENTAL),
        Column("severity", NAME, "The severity of the verdict."),
    ),
    (
        Column("groups", INT64, "Number of groups per verdict; every verdict has a sample, also with 0 groups.",
               Exported("lagwarden_groups_by_verdict", LEAN)),
        Column("meaning", TEXT, "What the verdict means, in one sentence or more."),
        Column("next_step", TEXT, "What an operator does, in one sentence or more."),
    ),
    importance=110,
)  # fmt: skip
"""Number of groups per verdict, and the severity of each verdict: one row for every verdict of the rules, also with 0
groups. Empty before the first evaluation."""

SUMMARY: Final = Table(
    Source("summary", SNAPSHOT),
    (),
    (
        Column("held_back", INT64,
               "Groups whose latest commits an open transaction hides from readers of committed records.",
               Exported("lagwarden_groups_held_back", LEAN), null="before the first evaluation"),
        Column("odd_times", INT64,
               "Groups with impossible times in their records: in the future, before 1970 or after the year 9999.",
               Exported("lagwarden_groups_with_odd_times", LEAN)),
    ),
    importance=100,
)  # fmt: skip
"""One row about all groups."""

COMMON_CAUSES: Final = Table(
    Source("common_causes", SNAPSHOT),
    _CAUSE,
    (
        Column("unhealthy", INT32,
               "Unhealthy groups with one common cause, such as their coordinator; at most five causes at a time.",
               Exported("lagwarden_common_cause_groups", LEAN, absent=_NO_CAUSE), null=None),
        Column("muted", INT32, "Those of lagwarden_common_cause_groups that raise no alert: in maintenance, silenced,"
               " or with a fault that is not paged.", Exported("lagwarden_common_cause_muted_groups", LEAN,
               absent=_NO_CAUSE), null=None, stability=EXPERIMENTAL),
        Column("affected", INT32, "The greatest number of unhealthy groups that there was.", null=None),
        Column("compared", INT32, "The unhealthy groups and the healthy ones that share it.", null=None),
        Column("since", TIMESTAMP, "When the first of the groups with this common cause became unhealthy.",
               Exported("lagwarden_common_cause_timestamp_seconds", STANDARD, absent=_NO_CAUSE), null=None),
        Column("sentence", TEXT, "The finding in one sentence.", null=None),
        Column("next_step", TEXT, "What an operator does.", null=None),
        Column("groups", pa.list_(pa.string()), "The names of the groups that are unhealthy now, sorted.", null=None),
    ),
    importance=120,
)  # fmt: skip
"""One row per common cause: many groups that became unhealthy together and share something. At most five."""

COVERED_GROUPS: Final = Table(
    Source("covered_groups", SNAPSHOT),
    (GROUP, _CAUSE[0].with_metric(Exported(
        "lagwarden_group_common_cause", LEAN, "1 for an unhealthy group with a common cause; the cause has its own"
        " alert.", "no common cause explains the group, or its name is folded")), _CAUSE[1]),
    (),
    importance=60,
)  # fmt: skip
"""One row per group that a common cause explains, sorted by name."""

FINDINGS: Final = Table(
    Source("findings", SNAPSHOT),
    (Column("group", NAME, GROUP.meaning, Exported(
        "lagwarden_group_finding_info", STANDARD, "Where an unhealthy group has its verdict: the partition that has had"
        " it for longest, and the client of the member that owns it.",
        "the verdict is neither a warning nor critical, or the name of the group is folded; client_id is missing"
        " without an owner, and with http.hide_members", ("verdict", "topic", "partition", "client_id")),
        stability=EXPERIMENTAL),),
    (
        Column("verdict", NAME, "The verdict of the group."),
        # It stays the same while others come and go.
        Column("topic", NAME, "The topic of the partition that has had this verdict for longest."),
        Column("partition", INT32, "The number of that partition."),
        Column("client_id", NAME, "The client of the member that owns it.", null="none, not known, or hidden"),
        Column("committed_offset", INT64,
               "The committed offset of the group in the partition of lagwarden_group_finding_info.",
               Exported("lagwarden_group_finding_offset", STANDARD), stability=EXPERIMENTAL, null="as "
               "lagwarden_group_finding_info, or the group has no committed offset there; always for a share group"),
    ),
    importance=50,
)  # fmt: skip
"""One row per group whose verdict needs attention, sorted by name, for the texts of alerts."""

VERDICT_CHANGES: Final = Table(
    Source("verdict_changes", SCRAPE),
    (Column("verdict", NAME, "The verdict."),),
    (Column("groups", INT64, "Changes of groups to each verdict since the process was ready; changes between fine"
            " verdicts are not counted.", Exported("lagwarden_verdict_changes_total"),
            null="before the first evaluation"),),
)  # fmt: skip
"""Changes to each verdict since the process was ready, in groups."""

UNREADABLE_TAILS: Final = Table(
    Source("unreadable_tails", SCRAPE),
    (Column("reason", NAME, "Why they cannot be read."),),
    (Column("partitions", INT64, "Partitions whose last records cannot be read although a group has stopped before"
            " their end: transaction markers cannot be distinguished from unread records; not_authorized: the ACL to"
            " Read the topic is missing.", Exported("lagwarden_unreadable_tails"),
            null="there is no such partition", stability=EXPERIMENTAL),),
)  # fmt: skip
"""Partitions whose last records cannot be read, by reason. Only rows above zero."""

COMMON_CAUSE_METRICS: Final = COMMON_CAUSES.metrics + COVERED_GROUPS.metrics
VERDICT_CHANGE_METRICS: Final = VERDICT_CHANGES.metrics + UNREADABLE_TAILS.metrics
