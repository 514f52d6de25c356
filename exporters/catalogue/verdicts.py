"""The tables about all groups: verdicts and common causes, with their columns and metrics."""

from typing import Final

from exporters.catalogue.metric import SCRAPE, SNAPSHOT, Source
from exporters.catalogue.table import EXPERIMENTAL, GROUP, LEAN, STANDARD, Column, Exported, Table

_NO_CAUSE: Final = "there is none"
_CAUSE: Final = (
    Column("dimension", "name",
           "What the groups share: offsets_partition, topic, client_host, leader, coordinator or follower."),
    # The number of a finding about a host, whose sentence names the host.
    Column("key", "name", "Which one: a number, a topic, or the number of a finding about a host."),
)  # fmt: skip

VERDICT_GROUPS: Final = Table(
    Source("verdict_groups", SNAPSHOT),
    (
        Column("verdict", "name", "The verdict.",
               Exported("lagwarden_verdict_info", STANDARD, "The next step of a verdict, to join by its label.",
                        "the verdict is fine", labels=("verdict", "next_step"), omits_fine=True),
               stability=EXPERIMENTAL),
        Column("severity", "name", "The severity of the verdict."),
    ),
    (
        Column("groups", "int64", "Number of groups per verdict, also 0.",
               Exported("lagwarden_groups_by_verdict", LEAN)),
        Column("meaning", "text", "What the verdict means, in one sentence or more."),
        Column("next_step", "text", "What an operator does, in one sentence or more."),
    ),
    importance=110,
)  # fmt: skip
"""Number of groups per verdict, and the severity of each verdict: one row for every verdict of the rules, also with 0
groups. Empty before the first evaluation."""

PARTITION_VERDICTS: Final = Table(
    Source("partition_verdicts", SNAPSHOT),
    (GROUP, Column("verdict", "name", "A verdict on partitions of the group that is not fine.")),
    (Column("partitions", "int64", "Partitions of the group per verdict, without fine ones.",
            Exported("lagwarden_group_partitions_by_verdict", STANDARD,
                     absent="there is none, or folded"), null=None),),
    importance=45,
)  # fmt: skip
"""Number of partitions per group and verdict, without fine ones (`exporters.selection`). Only rows above zero."""

SUMMARY: Final = Table(
    Source("summary", SNAPSHOT),
    (),
    (
        Column("held_back", "int64", "Groups whose latest commits an open transaction hides.",
               Exported("lagwarden_groups_held_back", LEAN), null="before the first evaluation"),
        Column("odd_times", "int64", "Groups with impossible times in their records.",
               Exported("lagwarden_groups_with_odd_times", LEAN)),
    ),
    importance=100,
)  # fmt: skip
"""One row about all groups."""

COMMON_CAUSES: Final = Table(
    Source("common_causes", SNAPSHOT),
    _CAUSE,
    (
        Column("unhealthy", "int32", "Unhealthy groups with one common cause; at most five causes.",
               Exported("lagwarden_common_cause_groups", LEAN, absent=_NO_CAUSE), null=None),
        Column("muted", "int32", "Groups with one common cause that raise no alert: muted, or not paged.",
               Exported("lagwarden_common_cause_muted_groups", LEAN,
               absent=_NO_CAUSE), null=None, stability=EXPERIMENTAL),
        Column("affected", "int32", "The greatest number of unhealthy groups that there was.", null=None),
        Column("compared", "int32", "The unhealthy groups and the healthy ones that share it.", null=None),
        Column("since", "timestamp", "When the first group with this common cause became unhealthy.",
               Exported("lagwarden_common_cause_timestamp_seconds", STANDARD, absent=_NO_CAUSE), null=None),
        Column("sentence", "text", "The finding in one sentence.", null=None),
        Column("next_step", "text", "What an operator does.", null=None),
        Column("groups", "names", "The names of the groups that are unhealthy now, sorted.", null=None),
    ),
    importance=120,
)  # fmt: skip
"""One row per common cause: many groups that became unhealthy together and share something. At most five."""

COVERED_GROUPS: Final = Table(
    Source("covered_groups", SNAPSHOT),
    (GROUP, _CAUSE[0].with_metric(Exported(
        "lagwarden_group_common_cause", LEAN, "1 for an unhealthy group with a common cause.",
        "there is none, or the name is folded")), _CAUSE[1]),
    (),
    importance=60,
)  # fmt: skip
"""One row per group that a common cause explains, sorted by name."""

FINDINGS: Final = Table(
    Source("findings", SNAPSHOT),
    (Column("group", "name", GROUP.meaning, Exported(
        "lagwarden_group_finding_info", STANDARD,
        "The partition that has been unhealthy for longest, and the client that owns it.",
        "neither warning nor critical, or folded", ("verdict",
        "topic", "partition", "client_id")),
        stability=EXPERIMENTAL),),
    (
        Column("verdict", "name", "The verdict of the group."),
        # It stays the same while others come and go.
        Column("topic", "name", "The topic of the partition that has had this verdict for longest."),
        Column("partition", "int32", "The number of that partition."),
        Column("client_id", "name", "The client of the member that owns it.", null="none, not known, or hidden"),
        Column("committed_offset", "int64", "The committed offset in the partition of lagwarden_group_finding_info.",
               Exported("lagwarden_group_finding_offset", STANDARD), stability=EXPERIMENTAL,
               null="as lagwarden_group_finding_info, or no committed offset"),
    ),
    importance=50,
)  # fmt: skip
"""One row per group whose verdict needs attention, sorted by name, for the texts of alerts."""

VERDICT_CHANGES: Final = Table(
    Source("tick.verdict_changes", SCRAPE),
    (Column("verdict", "name", "The verdict."),),
    (Column("groups", "int64", "Changes of groups to each verdict, but between fine ones.",
            Exported("lagwarden_verdict_changes_total"),
            null="before the first evaluation"),),
)  # fmt: skip
"""Changes to each verdict since the process was ready, in groups."""

UNREADABLE_TAILS: Final = Table(
    Source("tick.unreadable_tails", SCRAPE),
    (Column("reason", "name", "Why they cannot be read."),),
    (Column("partitions", "int64", "Partitions whose end (maybe markers only) cannot be read; not_authorized: no Read.",
            Exported("lagwarden_unreadable_tails"),
            null="there is none", stability=EXPERIMENTAL),),
)  # fmt: skip
"""Partitions whose last records cannot be read, by reason. Only rows above zero."""

COMMON_CAUSE_METRICS: Final = COMMON_CAUSES.metrics + COVERED_GROUPS.metrics
VERDICT_CHANGE_METRICS: Final = VERDICT_CHANGES.metrics + UNREADABLE_TAILS.metrics
