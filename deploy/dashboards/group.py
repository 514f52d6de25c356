"""The Group dashboard: one group over time, partition by partition, with what happened to it as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.dashboards.parts import Query, Unit, board, choice, figure, graph, marks

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard

_PARTITIONS: Final = '{OF_GROUP, topic=~"$topic"}'
_PLACE: Final = "{{topic}} {{partition}}"


def group() -> Dashboard:
    """Give the dashboard."""
    made = board(
        "Group",
        "One consumer group: its verdict, lag and time lag per partition, rates, members, rebalances and expiry.",
        {
            "Now": [
                figure(
                    "Verdict",
                    "What is the matter with the group. lagwarden explain GROUP says it in a sentence.",
                    Unit.COUNT,
                    Query("lagwarden_group_verdict{OF_GROUP}", "{{verdict}}"),
                    named=True,
                ),
                figure(
                    "For",
                    "How long the group has had this verdict.",
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
                    "When the broker forgets the first of the group's offsets. Empty: not as things stand.",
                    Unit.SECONDS,
                    Query("lagwarden_group_first_offset_expiry_timestamp_seconds{OF_GROUP} - time()"),
                    colours=("red", ((86_400.0, "orange"), (259_200.0, "green"))),
                ),
            ],
            "How late": [
                graph(
                    "Time lag against target",
                    "Age of the oldest unread record, and the target that the group was given, if any.",
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
                    Query(f"lagwarden_topic_lag{_PARTITIONS}", "{{topic}}"),
                    stacked=True,
                ),
                graph(
                    "Lag by partition",
                    "Unread offsets of each partition.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_lag{_PARTITIONS}", _PLACE),
                ),
            ],
            "How fast": [
                graph(
                    "Produce rate",
                    "Offsets written per second, by partition.",
                    Unit.RATE,
                    Query(f"lagwarden_partition_produce_rate{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Consume rate",
                    "Offsets read per second, by partition, as the commits tell.",
                    Unit.RATE,
                    Query(f"lagwarden_partition_consume_rate{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Committed offset",
                    "What the group committed, by partition. A step down is a rewind or a reset.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_committed_offset{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Time to catch up",
                    "How long until nothing is unread at the present rates. Absent where it never would be.",
                    Unit.SECONDS,
                    Query(f"lagwarden_partition_catch_up_seconds{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Since the last commit",
                    "How long ago each partition's last commit was.",
                    Unit.SECONDS,
                    Query(f"time() - lagwarden_partition_commit_timestamp_seconds{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Since the last progress",
                    "How long ago a commit last moved each partition's offset; commits that repeat it do not count.",
                    Unit.SECONDS,
                    Query(f"time() - lagwarden_partition_progress_timestamp_seconds{_PARTITIONS}", _PLACE),
                ),
            ],
            "What is wrong with it": [
                graph(
                    "Partitions by verdict",
                    "How many partitions have each verdict that is not fine.",
                    Unit.COUNT,
                    Query(f"count by (verdict) (lagwarden_partition_verdict{_PARTITIONS})", "{{verdict}}"),
                    stacked=True,
                ),
                graph(
                    "Margin until retention",
                    "Offsets between the start of the log and the commit: at 0, retention deletes what is unread.",
                    Unit.COUNT,
                    Query(f"lagwarden_partition_margin_offsets{_PARTITIONS}", _PLACE),
                ),
                graph(
                    "Lost to retention",
                    "Offsets that retention deleted before the group read them.",
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
            "What happens to it": [
                graph(
                    "Members",
                    "Members, those without partitions, static ones that are away, and partitions that nobody owns.",
                    Unit.COUNT,
                    Query("lagwarden_group_members{OF_GROUP}", "members"),
                    Query("lagwarden_group_members_idle{OF_GROUP}", "idle"),
                    Query("lagwarden_group_members_away{OF_GROUP}", "away"),
                    Query("lagwarden_group_partitions_unowned{OF_GROUP}", "partitions unowned"),
                ),
                graph(
                    "Rebalances",
                    "How often the group settled anew.",
                    Unit.COUNT,
                    Query(
                        'increase(lagwarden_group_transitions_total{OF_GROUP, transition="rebalanced"}'
                        "[$__rate_interval])",
                        "rebalances",
                    ),
                ),
                graph(
                    "Transitions",
                    "What else happened to the group: created, emptied, reborn, converted, offsets forgotten, dead.",
                    Unit.COUNT,
                    Query(
                        'increase(lagwarden_group_transitions_total{OF_GROUP, transition!="rebalanced"}'
                        "[$__rate_interval])",
                        "{{transition}}",
                    ),
                ),
                graph(
                    "Expiry",
                    "How long until the broker forgets each offset, and the group itself, as things stand.",
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
                'label_values(lagwarden_topic_lag{job=~"$job", instance=~"$instance", group="$group"}, topic)',
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
