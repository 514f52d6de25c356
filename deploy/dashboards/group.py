"""The Group dashboard: one group over time, by partition, with its transitions as annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.dashboards.parts import Query, Unit, board, choice, figure, graph, marks

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_PARTITIONS: Final = '{OF_GROUP, topic=~"$topic"}'
_PLACE: Final = "{{topic}} {{partition}}"


def group() -> Dashboard:
    """Return the dashboard."""
    made = board(
        "Group",
        "One consumer group: its verdict, lag and time lag per partition, rates, members, rebalances and expiry.",
        {
            "Now": [
                figure(
                    "Verdict",
                    "The verdict of the group. lagwarden explain GROUP has the finding in words.",
                    Unit.COUNT,
                    Query("lagwarden_group_verdict{OF_GROUP}", "{{verdict}}"),
                    named=True,
                ),
                figure(
                    "For",
                    "Time since the group has this verdict.",
                    Unit.SECONDS,
                    Query("time() - lagwarden_group_verdict_timestamp_seconds{OF_GROUP}"),
                ),
                figure(
                    "State",
                    "The state of the group, as Kafka's tools print it.",
                    Unit.COUNT,
                    Query("lagwarden_group_info{OF_GROUP}", "{{kind}} {{state}}"),
                    named=True,
                ),
                figure(
                    "Time lag",
                    "Age of the oldest record that the group has not read.",
                    Unit.SECONDS,
                    Query("lagwarden_group_time_lag_seconds{OF_GROUP}"),
                ),
                figure(
                    "Lag",
                    "Offsets that the group has not read, over the partitions whose lag is known.",
                    Unit.COUNT,
                    Query("lagwarden_group_lag{OF_GROUP}"),
                ),
                figure(
                    "Offsets expire in",
                    "Time until the broker removes the first committed offset of the group. Empty: none will expire.",
                    Unit.SECONDS,
                    Query("lagwarden_group_first_offset_expiry_timestamp_seconds{OF_GROUP} - time()"),
                    colours=("red", ((86_400.0, "orange"), (259_200.0, "green"))),
                ),
            ],
            "Lag over time": [
                graph(
                    "Time lag against target",
                    "Age of the oldest unread record, and the target of the group, if configured.",
                    Unit.SECONDS,
                    Query("lagwarden_group_time_lag_seconds{OF_GROUP}", "time lag"),
                    Query("lagwarden_group_target_seconds{OF_GROUP}", "target"),
                ),
                graph(
                    "Time lag by partition",
                    "Age of the oldest unread record of each partition.",
                    Unit.SECONDS,
                    Query(f"lagwarden_partition_time_lag_seconds{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Lag by topic",
                    "Unread offsets of each topic.",
                    Unit.COUNT,
                    Query(f"lagwarden_group_topic_lag{_PARTITIONS}", "{{topic}}"),
                    stacked=True,
                ),
                graph(
                    "Lag by partition",
                    "Unread offsets of each partition.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_lag{_PARTITIONS}", _PLACE),
                ),
            ],
            "Rates and commits": [
                graph(
                    "Produce rate",
                    "Offsets written per second, by partition.",
                    Unit.RATE,
                    Query(f"lagwarden_partition_produce_rate{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Consume rate",
                    "Offsets read per second, by partition, from the commits.",
                    Unit.RATE,
                    Query(f"lagwarden_partition_consume_rate{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Committed offset",
                    "The committed offset, by partition. A step down is a rewind or a reset.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_committed_offset{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Time to catch up",
                    "Time until nothing is unread at the current rates. Absent if that is never.",
                    Unit.SECONDS,
                    Query(f"lagwarden_partition_catch_up_seconds{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Since the last commit",
                    "Time since the last commit, by partition.",
                    Unit.SECONDS,
                    Query(f"time() - lagwarden_partition_commit_timestamp_seconds{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Since the last progress",
                    "Time since a commit last advanced the offset, by partition; commits that repeat it do not count.",
                    Unit.SECONDS,
                    Query(f"time() - lagwarden_partition_progress_timestamp_seconds{_PARTITIONS}", _PLACE),
                ),
            ],
            "Findings": [
                graph(
                    "Partitions by verdict",
                    "Number of partitions per verdict, without fine ones.",
                    Unit.COUNT,
                    Query(f"count by (verdict) (lagwarden_partition_verdict{_PARTITIONS})", "{{verdict}}"),
                    stacked=True,
                ),
                graph(
                    "Margin until retention",
                    "Offsets between log start offset and committed offset. At 0 retention removes unread records.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_margin_offsets{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Lost to retention",
                    "Offsets that retention removed before the group read them.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_lost_offsets{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Lag not known",
                    "Partitions whose lag is not known, by reason.",
                    Unit.COUNT,
                    Query("lagwarden_group_partitions_lag_unknown{OF_GROUP}", "{{reason}}"),
                    stacked=True,
                ),
            ],
            "Members and transitions": [
                graph(
                    "Members",
                    "Members, members without partitions, absent static members, and partitions without an owner.",
                    Unit.COUNT,
                    Query("lagwarden_group_members{OF_GROUP}", "members"),
                    Query("lagwarden_group_members_idle{OF_GROUP}", "idle"),
                    Query("lagwarden_group_members_away{OF_GROUP}", "away"),
                    Query("lagwarden_group_partitions_unowned{OF_GROUP}", "partitions unowned"),
                ),
                graph(
                    "Rebalances",
                    "Number of completed rebalances.",
                    Unit.COUNT,
                    Query(
                        'increase(lagwarden_group_transitions_total{OF_GROUP, transition="rebalanced"}'
                        "[$__rate_interval])",
                        "rebalances",
                    ),
                ),
                graph(
                    "Transitions",
                    "Other transitions: created, emptied, reborn, converted, offsets removed, dead.",
                    Unit.COUNT,
                    Query(
                        'increase(lagwarden_group_transitions_total{OF_GROUP, transition!="rebalanced"}'
                        "[$__rate_interval])",
                        "{{transition}}",
                    ),
                ),
                graph(
                    "Expiry",
                    "Time until the broker removes each committed offset, and the group itself.",
                    Unit.SECONDS,
                    Query(f"lagwarden_partition_offset_expiry_timestamp_seconds{_PARTITIONS} - time()", _PLACE),
                    Query("lagwarden_group_expiry_timestamp_seconds{OF_GROUP} - time()", "the group"),
                ),
            ],
        },
        [
            choice(
                "group",
                "Group",
                'label_values(lagwarden_group_info{job=~"$job", instance=~"$instance"}, group)',
                several=False,
            ),
            choice(
                "topic",
                "Topic",
                'label_values(lagwarden_group_topic_lag{job=~"$job", instance=~"$instance", group="$group"}, topic)',
            ),
        ],
    )
    for mark in (
        marks(
            "Transition",
            "increase(lagwarden_group_transitions_total{OF_GROUP}[1m]) > 0",
            "{{transition}}",
            "blue",
        ),
        marks(
            "Verdict",
            "lagwarden_group_verdict_timestamp_seconds{OF_GROUP} * 1000"
            " * on (job, instance, group) group_left (verdict) lagwarden_group_verdict{OF_GROUP}",
            "{{verdict}}",
            "orange",
            at_value=True,
        ),
    ):
        made = made.annotation(mark)
    return made
