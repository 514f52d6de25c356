"""The Group dashboard: one group over time, by partition, with its rebalances and verdicts as annotations."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard

from deploy.dashboards.parts import OF_GROUP, SCOPE, Panel, Query, Unit, board, choice, marks

_PARTITIONS: Final = '{OF_GROUP, topic=~"$topic"}'
_OF_TOPIC: Final = '{SCOPE, topic=~"$topic"}'
_SAME_PARTITION: Final = "on (job, instance, cluster, topic, partition)"
_PLACE: Final = "{{topic}} {{partition}} {{cluster}}"
_LAG: Final = f"lagwarden_partition_lag{_PARTITIONS}"
_END: Final = f"lagwarden_topic_partition_end_offset{_OF_TOPIC}"
_START: Final = f"lagwarden_topic_partition_start_offset{_OF_TOPIC}"


def group() -> Dashboard:
    """Return the dashboard."""
    rows: dict[str, dict[str, Panel]] = {
        "Now": {
            "Verdict": Unit.COUNT.figure(
                "The verdict of the group. lagwarden explain GROUP has the finding in words.",
                Query("lagwarden_group_verdict{OF_GROUP}", "{{verdict}} {{cluster}}"),
                named=True,
            ),
            "For": Unit.SECONDS.figure(
                "Time since the group has this verdict.",
                Query("time() - lagwarden_group_verdict_timestamp_seconds{OF_GROUP}"),
            ),
            "State": Unit.COUNT.figure(
                "The state of the group, as Kafka's tools print it.",
                Query("lagwarden_group_info{OF_GROUP}", "{{kind}} {{state}} {{cluster}}"),
                named=True,
            ),
            "Time lag": Unit.SECONDS.figure(
                "Age of the oldest record that the group has not read.",
                Query("lagwarden_group_time_lag_seconds{OF_GROUP}"),
            ),
            "Lag": Unit.COUNT.figure(
                "Offsets that the group has not read, over the partitions whose lag is known.",
                Query("lagwarden_group_lag{OF_GROUP}"),
            ),
            "Offsets expire in": Unit.SECONDS.figure(
                "Time until the broker removes the first committed offset of the group. Empty: none will expire.",
                Query("lagwarden_group_first_offset_expiry_timestamp_seconds{OF_GROUP} - time()"),
                colours=("red", ((86_400.0, "orange"), (259_200.0, "green"))),
            ),
        },
        "Lag over time": {
            "Time lag against target": Unit.SECONDS.graph(
                "Age of the oldest unread record, and the target of the group, if configured.",
                Query("lagwarden_group_time_lag_seconds{OF_GROUP}", "time lag {{cluster}}"),
                Query("lagwarden_group_target_seconds{OF_GROUP}", "target {{cluster}}"),
            ),
            "Time lag by topic": Unit.SECONDS.graph(
                "Age of the oldest unread record of each topic.",
                Query(f"lagwarden_group_topic_time_lag_seconds{_PARTITIONS}", "{{topic}} {{cluster}}"),
            ),
            "Lag by topic": Unit.COUNT.graph(
                "Unread offsets of each topic.",
                # The second one with metrics.granularity: topic.
                Query(
                    f"sum by (job, instance, cluster, topic) ({_LAG})"
                    f" or sum by (job, instance, cluster, topic) (lagwarden_group_topic_lag{_PARTITIONS})",
                    "{{topic}} {{cluster}}",
                ),
                stacked=True,
            ),
            "Lag by partition": Unit.COUNT.graph("Unread offsets of each partition.", Query(_LAG, _PLACE)),
        },
        "Rates and commits": {
            "Produce rate": Unit.RATE.graph(
                "Offsets written per second, by partition.",
                Query(f"deriv({_END}[RATE]) and {_SAME_PARTITION} {_LAG}", _PLACE),
            ),
            "Hot partitions": Unit.COUNT.graph(
                "Produce rate of a partition divided by the mean of the topic's other partitions; from 3 on.",
                Query(f"lagwarden_topic_partition_hot_ratio{_OF_TOPIC} and {_SAME_PARTITION} {_LAG}", _PLACE),
            ),
            "Consume rate": Unit.RATE.graph(
                "Offsets committed per second, by partition; below 0 at a rewind or a reset.",
                Query(f"deriv({_END}[RATE]) - {_SAME_PARTITION} deriv({_LAG}[RATE])", _PLACE),
            ),
            "Committed offset": Unit.COUNT.graph(
                "The committed offset, or the log start if that is above it. A step down is a rewind or a reset.",
                Query(f"{_END} - {_SAME_PARTITION} {_LAG}", _PLACE),
            ),
            "Time to catch up": Unit.SECONDS.graph(
                "Time until nothing is unread if the lag goes on falling as now. Absent while it does not fall.",
                Query(f"{_LAG} / (0 - deriv({_LAG}[RATE]) > 0)", _PLACE),
            ),
            "Unread share": Unit.RATIO.graph(
                "Unread share of the offsets that a partition retains. At 1 retention removes unread records.",
                Query(f"{_LAG} / {_SAME_PARTITION} group_left () ({_END} - {_START} > 0)", _PLACE),
            ),
            "Since the last commit": Unit.SECONDS.graph(
                "Time since the last commit of the group for any partition.",
                Query("time() - lagwarden_group_last_commit_timestamp_seconds{OF_GROUP}", "{{group}} {{cluster}}"),
            ),
        },
        "Findings": {
            "Partitions by verdict": Unit.COUNT.graph(
                "Number of partitions per verdict, without fine ones.",
                Query(
                    "sum by (cluster, verdict) (lagwarden_group_partitions_by_verdict{OF_GROUP})",
                    "{{verdict}} {{cluster}}",
                ),
                stacked=True,
            ),
            "Margin until retention": Unit.COUNT.graph(
                "Offsets between log start offset and committed offset. At 0 retention removes unread records.",
                Query(f"{_END} - {_START} - {_SAME_PARTITION} {_LAG}", _PLACE),
            ),
            "Lost to retention": Unit.COUNT.graph(
                "Offsets that retention removed before the group read them, over all partitions.",
                Query("lagwarden_group_lost_offsets{OF_GROUP}", "{{group}} {{cluster}}"),
            ),
            "Lag not known": Unit.COUNT.graph(
                "Partitions whose lag is not known, by reason.",
                Query("lagwarden_group_partitions_lag_unknown{OF_GROUP}", "{{reason}} {{cluster}}"),
                stacked=True,
            ),
        },
        "Members and transitions": {
            "Members": Unit.COUNT.graph(
                "Number of members. lagwarden groups describe NAME lists them with their partitions.",
                Query("lagwarden_group_members{OF_GROUP}", "members {{cluster}}"),
            ),
            "Rebalances": Unit.COUNT.graph(
                "Number of completed rebalances.",
                Query("increase(lagwarden_group_rebalances_total{OF_GROUP}[RATE])", "rebalances {{cluster}}"),
            ),
            "Transitions": Unit.COUNT.graph(
                "Type and state of the group: a line begins with a state and ends with it.",
                Query("lagwarden_group_info{OF_GROUP}", "{{kind}} {{state}} {{cluster}}"),
            ),
            "Expiry": Unit.SECONDS.graph(
                "Time until the broker removes the first committed offset of the group.",
                Query(
                    "lagwarden_group_first_offset_expiry_timestamp_seconds{OF_GROUP} - time()", "{{group}} {{cluster}}"
                ),
            ),
        },
        "Share group": {
            "Unfinished records": Unit.COUNT.graph(
                "Records of a share group that are neither acknowledged nor archived, by partition.",
                Query(f"lagwarden_share_partition_lag{_PARTITIONS}", _PLACE),
            ),
            "Finished and archived": Unit.RATE.graph(
                "Offsets per second by which the start of a share group advances, and records that it gave up.",
                Query(f"deriv(lagwarden_share_partition_start_offset{_PARTITIONS}[RATE])", f"finished: {_PLACE}"),
                Query(f"rate(lagwarden_share_partition_archived_total{_PARTITIONS}[RATE])", f"archived: {_PLACE}"),
            ),
        },
    }
    made = board(
        "Group",
        "One consumer group: its verdict, lag and time lag per partition, rates, members, rebalances and expiry.",
        rows,
        [
            choice("group", "Group", f"label_values(lagwarden_group_info{{{SCOPE}}}, group)", several=False),
            choice("topic", "Topic", f"label_values(lagwarden_partition_lag{{{OF_GROUP}}}, topic)"),
        ],
    )
    for mark in (
        marks("Rebalance", "increase(lagwarden_group_rebalances_total{OF_GROUP}[1m]) > 0", "rebalance", "blue"),
        marks(
            "Verdict",
            "lagwarden_group_verdict_timestamp_seconds{OF_GROUP} * 1000"
            " * on (job, instance, cluster, group) group_left (verdict) lagwarden_group_verdict{OF_GROUP}",
            "{{verdict}} {{cluster}}",
            "orange",
            at_value=True,
        ),
    ):
        made = made.annotation(mark)
    return made
