"""The stories of two clusters in one Prometheus, of which one is unhealthy (`metrics.cluster_name`).

The series of both have the same job and instance, as behind one OpenTelemetry collector, and the same names of groups:
only the label `cluster` differs.
"""

from typing import Final

from tests.chart.alerts.case import CLUSTER, MONITOR, after, instances, odd, of, of_cluster, stories
from tests.chart.alerts.groups import COMMON, GROUP, IN_CLUSTER, LAG, SINCE, cause, groups_of, stuck, verdict
from tests.chart.alerts.monitor import READY, TAKEN, UP, down, hidden_group, phase, quorum, shared

EAST: Final = {"cluster": "east"}
_TARGET: Final = of("lagwarden_group_target_seconds", GROUP)
_OWNER: Final = of("lagwarden_group_owner_info", GROUP, team="payments", link="https://wiki.example.com")
_OTHER_OWNER: Final = of("lagwarden_group_owner_info", GROUP, team="search", max_severity="info")
_MAINTENANCE: Final = of("lagwarden_group_maintenance", GROUP)
_STUCK: Final = {verdict("stalled", "critical"): "_x10 1x120"}
_FINE: Final = {verdict("ok", "fine"): "1x130"}


def two(east: dict[str, str], west: dict[str, str]) -> dict[str, str]:
    return of_cluster("east", east) | of_cluster("west", west)


STORIES: Final = {
    "LagwardenGroupStuck": {
        "two clusters have a group of the same name: the text names the cluster of the stuck one": after(
            "6m", two(_STUCK | {LAG: "0x9 300x120"}, _FINE | {LAG: "9000x130"}), [GROUP | EAST]
        ).says("Group billing of cluster east is stuck: stalled", stuck("5m 0s")),
        "the owner is that of the own cluster, and maintenance in the other one mutes nothing": after(
            "6m",
            two(_STUCK | {_OWNER: "1x130"}, _STUCK | {_OTHER_OWNER: "1x130", _MAINTENANCE: "1x130"}),
            [GROUP | EAST | {"team": "payments"}],
        ),
    },
    "LagwardenGroupTargetFastBurn": {
        "a time lag is compared with the target of the own cluster": after(
            "90m30s",
            two({LAG: "0x120 61x200", _TARGET: "60x400"}, {LAG: "0x120 61x200", _TARGET: "600x400"}),
            [GROUP | EAST],
        ).says(
            "Group billing of cluster east was over its target for 30m 30s of the last hour, and still is",
            "The oldest unread record is 1m 1s old, the target is 1m 0s. Cause: lagwarden explain billing",
        )
    },
    "LagwardenCommonCause": {
        "the groups of two clusters are not one cause": after(
            "5m", two(cause("_x10 17x60", "_x10 210x60"), cause("4x70", "0x70", muted="4x70")), [COMMON | EAST]
        ).says("17 groups became unhealthy together and share the client host 1 (cluster east)", SINCE)
    },
    "LagwardenClusterUnhealthy": {
        "the share is of the groups of the own cluster": after(
            "5m", two(groups_of(10, 20), groups_of(0, 100)), [CLUSTER | EAST]
        ).says("Cluster east is unhealthy: 33.33% of its groups are critical", f"Critical groups: 10. {IN_CLUSTER}"),
        "five critical groups in each of two clusters are not ten": odd("20m", two(groups_of(5, 5), groups_of(5, 5))),
    },
    "LagwardenGroupInUnhealthyCluster": {
        "a critical group of another cluster has no alert": after(
            "5m",
            two(groups_of(10, 20), groups_of(1, 20)),
            [MONITOR | EAST | {"group": f"sick-{number}"} for number in range(10)],
        )
    },
    "LagwardenOffsetsPartitionDown": {
        "a partition of the other cluster has only just lost its leader": after(
            "6m30s",
            two(
                down(3, "_x10 12x60", "_x10 300x60") | {hidden_group(3, "billing"): "_x10 1x60"},
                down(3, "_x13 7x60", "_x13 385x60"),
            ),
            [CLUSTER | EAST],
        ).says(
            "Partitions of __consumer_offsets are not available; 12 groups can neither commit nor be evaluated"
            " (cluster east)",
            "Partitions with their reason and number of groups: 3 (no leader, 12). Among the groups: billing (3)."
            " These groups have the verdict unknown; lagwarden explain GROUP names their partition.",
        )
    },
    "LagwardenQuorumVoterBehind": {
        "the voters of another cluster follow their leader": after(
            "10m", two(quorum(5, "0x9 1x60"), quorum(5, "0x70")), [CLUSTER | EAST]
        ).says(
            "1 controllers of cluster east do not follow the leader of the metadata quorum",
            "The quorum still works after the loss of another voter.",
        )
    },
    "LagwardenInstanceMissing": {
        "an instance of another cluster does not replace the missing one": after(
            "15m", two(shared(2, {"0/2": "1x80"}), shared(2, {"0/2": "1x80"}, {"1/2": "1x80"})), [CLUSTER | EAST]
        ).says(
            "1 of the instances of lagwarden for cluster east are missing",
            "The groups of an instance that does not run, or whose job.instance another one has, are not monitored."
            " There are 0/2 (watch-0:10848).",
        )
    },
    "LagwardenMonitorStale": {
        "the snapshot of another cluster is fresh": after(
            "8m30s",
            two(
                {TAKEN: "0+30x10 300x60", of("lagwarden_kafka_reachable"): "1x10 0x60"},
                {TAKEN: "0+30x70", of("lagwarden_kafka_reachable"): "1x70"},
            ),
            [MONITOR | EAST],
        ).says(
            "The snapshot of lagwarden is 3m 30s old (cluster east)",
            "lagwarden answers, but has not read the end offsets since then. Kafka does not answer. The reason is in"
            " /readyz.",
        )
    },
    "LagwardenMonitorNotReady": {
        "a fresh snapshot of another cluster does not prevent the alert": after(
            "20m",
            two(
                {READY: "0x60", phase("starting"): "1x60"}, {READY: "1x60", TAKEN: "0+30x60", phase("running"): "1x60"}
            ),
            [MONITOR | EAST],
        ).says(
            "lagwarden runs, but shows no groups (cluster east)",
            "Its phase is starting, without progress. The reason is in /readyz.",
        )
    },
    "LagwardenMonitorDown": {
        "the last known name of its cluster is in the text": after(
            "10m30s", {UP: "1x10 0x60"} | of_cluster("east", instances(MONITOR)), [MONITOR]
        ).says(
            "lagwarden cannot be scraped (cluster east)", "Groups are not monitored, and none of their alerts can fire."
        )
    },
}

CASES: Final = stories(STORIES)
