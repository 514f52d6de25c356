"""The stories of the alerts about lagwarden itself (rules/monitor.yaml)."""

from collections.abc import Mapping
from typing import Final

from tests.chart.alerts.case import (
    CLUSTER,
    MONITOR,
    OTHER,
    Story,
    after,
    before,
    dead,
    edge,
    instances,
    odd,
    of,
    stories,
    vanished,
)

JOB: Final = {"job": "lagwarden"}
UP: Final = of("up")
SECOND_UP: Final = of("up", OTHER)
OTHER_UP: Final = of("up", job="other")
TAKEN: Final = of("lagwarden_snapshot_timestamp_seconds")
READY: Final = of("lagwarden_ready")
RATIO: Final = of("lagwarden_catch_up_ratio")
# The series of a healthy monitor over 60 minutes, at 30 s a sample.
FRESH: Final = {TAKEN: "0+30x120"}


def phase(word: str) -> str:
    return of("lagwarden_phase_info", phase=word)


STARTED: Final = of("process_start_time_seconds")


def offsets(metric: str, partition: int) -> str:
    """Return a series of a partition of the offsets topic."""
    return of(f"lagwarden_offsets_partition_{metric}", offsets_partition=str(partition))


POSITION: Final = offsets("position", 0)
DISTANCE: Final = offsets("distance", 0)
PHASE: Final = phase("running")
RUNNING: Final = {PHASE: "1x200"}
DURATION: Final = of("lagwarden_last_batch_duration_seconds")
BATCHES: Final = of("lagwarden_batches_total")
JVM_PROCESS: Final = {**MONITOR, "role": "jvm"}
OPEN: Final = of("lagwarden_open_descriptors", JVM_PROCESS)
LIMIT: Final = of("lagwarden_descriptor_limit", JVM_PROCESS)
MEMORY_LIMIT: Final = of("lagwarden_memory_limit_bytes")
JVM: Final = of("lagwarden_memory_bytes", JVM_PROCESS)
DRIVER: Final = of("lagwarden_memory_bytes", MONITOR, role="driver")
FREE: Final = of("lagwarden_checkpoint_volume_free_bytes")
VOLUME: Final = of("lagwarden_checkpoint_volume_bytes")
OLDEST: Final = of("lagwarden_webhook_oldest_event_timestamp_seconds")


def errors(reason: str) -> Story:
    """Return the stories of a counter that increases or appears."""
    labels = {**MONITOR, "record_type": "offset_commit", "version": "9", "reason": reason}
    series = of("lagwarden_decode_errors_total", labels)
    return (
        edge("4m30s", "5m", {series: "_x10 3x60"}, [labels])
        + after("51m", {series: "3x100 4x60"}, [labels])
        + odd("20m", {series: "3x100"})
        + vanished("31m", {series: "3x60 stale"})
        + dead("45m", {series: "3x60"})
    )


def failures(reason: str) -> dict[str, str]:
    """Return the series of records that cannot be decoded for a reason."""
    return {of("lagwarden_decode_errors_total", record_type="x", version="1", reason=reason): "0+1x60"}


_GAP: Final = {**MONITOR, "offsets_partition": "7"}
GAP: Final = of("lagwarden_offsets_partition_stable_gap_since_timestamp_seconds", _GAP)
SUSPECT: Final = of("lagwarden_offsets_topic_cleaner_suspect")
OVER: Final = of("lagwarden_series_over_budget", metric="lagwarden_partition_progress_timestamp_seconds")
NOT_EVALUATED: Final = of("lagwarden_groups_not_evaluated")


def down(partition: int, groups: str, since: str) -> dict[str, str]:
    """Return the series of an offsets partition that is not available."""
    labels = {**MONITOR, "offsets_partition": str(partition), "reason": "no_leader"}
    return {
        of("lagwarden_offsets_partition_hidden_groups", labels): groups,
        of("lagwarden_offsets_partition_unavailable_since_timestamp_seconds", labels): since,
    } | instances(MONITOR)


def hidden_group(partition: int, group: str) -> str:
    """Return the series of a group of an offsets partition that is not available."""
    metric = "lagwarden_offsets_partition_hidden_group_info"
    return of(metric, MONITOR, offsets_partition=str(partition), group=group)


def quorum(voters: int, behind: str) -> dict[str, str]:
    series = {of("lagwarden_quorum_voters"): f"{voters}x120", of("lagwarden_quorum_voters_behind"): behind}
    return series | instances(MONITOR)


def no_controller(reason: str, values: str) -> dict[str, str]:
    return {of("lagwarden_cluster_facts_unknown", fact="controller", reason=reason): values} | instances(MONITOR)


def shared(instances_of_all: int, *parts: Mapping[str, str]) -> dict[str, str]:
    """Return the series of instances that share a cluster: the values of each instance's part, by part."""
    found = {}
    for number, part in enumerate(parts):
        labels = {"job": "lagwarden", "instance": f"watch-{number}:10848"}
        found |= instances(labels) | {of("lagwarden_instances", labels): f"{instances_of_all}x200"}
        found |= {of("lagwarden_instance_info", labels, part=name): values for name, values in part.items()}
    return found


STORIES: Final = {
    "LagwardenMonitorDown": {
        "down for less than five minutes; down for five minutes": edge(
            "10m", "10m30s", {UP: "1x10 0x60"}, [MONITOR]
        ).says("lagwarden cannot be scraped", "Groups are not monitored, and none of their alerts can fire."),
        "one of two is down, and only that one has an alert": odd("20m", {UP: "0x60", SECOND_UP: "1x60"}, [MONITOR]),
        "Prometheus has no series of the monitor any more": vanished("11m", {UP: "1x10 stale"}, [MONITOR]),
        "a pod that is back with another address is not down": odd("30m", {UP: "1x10 stale", SECOND_UP: "_x14 1x60"}),
        "Prometheus has never had a series of it": dead("4m30s", {OTHER_UP: "1x60"}),
        "Prometheus has had no series of it for five minutes": after("5m", {OTHER_UP: "1x60"}, [JOB]),
    },
    "LagwardenMonitorStale": {
        "three minutes old; older than two minutes for a minute": edge(
            "7m30s", "8m30s", {TAKEN: "0+30x10 300x60", of("lagwarden_kafka_reachable"): "1x10 0x60"}, [MONITOR]
        ).says(
            "The snapshot of lagwarden is 3m 30s old",
            "lagwarden answers, but has not read the end offsets since then. Kafka does not answer. The reason is in"
            " /readyz.",
        ),
        "a tick of two minutes now and then": odd("8m30s", {TAKEN: "0x3 120x3 240x3 360x3 480x1"}),
        "it restarts": vanished("9m", {TAKEN: "0+30x10 300x3 stale"}),
        "the monitor is down": dead("71m", FRESH),
    },
    "LagwardenMonitorNotReady": {
        "it has caught up for less than a quarter of an hour; it makes no progress": edge(
            "14m30s", "15m", {READY: "0x60", phase("starting"): "1x60"}, [MONITOR]
        ).says(
            "lagwarden runs, but shows no groups", "Its phase is starting, without progress. The reason is in /readyz."
        ),
        "a stuck catch-up": after(
            "46m", {READY: "0x120", phase("catching up"): "1x120", RATIO: "0+0.01x40 0.4x80"}, [MONITOR]
        ),
        "a long catch-up": odd("60m", {READY: "0x120", phase("catching up"): "1x120", RATIO: "0+0.001x120"}),
        "it is ready": vanished("20m", {READY: "0x20 1x60"}),
        "the monitor is down": dead("30m", {READY: "0x10 stale"}),
    },
    "LagwardenMonitorRestarts": {
        "two restarts": before("59m", {STARTED: "1x10 300x10 600x100"}),
        "three restarts": after("21m", {STARTED: "1x10 _x3 300x10 _x3 600x10 _x3 900x60"}, [MONITOR]).says(
            "lagwarden restarted 3 times within an hour",
            "The last log line before the exit and the exit code (docs/config.md) give the reason.",
        ),
        "a rollout": odd("20m", {STARTED: "1x10 stale", of("process_start_time_seconds", OTHER): "_x14 600x60"}),
        "another program": vanished("3m", {of("process_start_time_seconds", job="other"): "1 2 3 4 5 6 7 8"}),
        "a monitor that does not run does not start": dead("30m", {STARTED: "1x10 stale"}),
    },
    "LagwardenReaderBehind": {
        "exactly a minute behind": before("40m", RUNNING | {POSITION: "0+300x200", DISTANCE: "600x200"}),
        "more than a minute behind for ten minutes": after(
            "30m30s",
            RUNNING
            | {
                POSITION: "0+150x200",
                offsets("position", 1): "0+150x200",
                DISTANCE: "300x40 301x100",
                offsets("distance", 1): "300x200",
            },
            [MONITOR],
        ).says(
            "lagwarden does not keep up with __consumer_offsets",
            "601 offsets are not read yet. Commits are shown late, so lag is shown too large.",
        ),
        "a cluster at rest: nothing to read": odd("60m", RUNNING | {POSITION: "900x200", DISTANCE: "0x200"}),
        "a catch-up": odd("60m", {phase("catching up"): "1x200", POSITION: "0+300x200", DISTANCE: "1000000x200"}),
        "the end offsets are not known": vanished("30m", RUNNING | {POSITION: "900x200", DISTANCE: "1x10 stale"}),
        "the monitor is down": dead("30m", {PHASE: "1x10 stale", POSITION: "900x10 stale", DISTANCE: "1x10 stale"}),
    },
    "LagwardenBatchSlow": {
        "slow for less than a quarter of an hour; slow for a quarter of an hour": edge(
            "24m", "25m30s", RUNNING | {DURATION: "2x19 40x100", BATCHES: "0+1x120"}, [MONITOR]
        ).says(
            "No batch of lagwarden took less than 40s for ten minutes",
            "Reading, keeping the state and writing the checkpoint are one batch: one of them is slow, most often the"
            " disk.",
        ),
        "one slow batch, then no batches": odd("60m", RUNNING | {DURATION: "40x200", BATCHES: "7x200"}),
        "a catch-up": odd("60m", {phase("catching up"): "1x200", DURATION: "90x200", BATCHES: "0+1x200"}),
        "a new process": vanished("25m30s", RUNNING | {DURATION: "40x20 stale", BATCHES: "0+1x20 0x60"}),
        "the monitor is down": dead("30m", {PHASE: "1x20 stale", DURATION: "40x20 stale", BATCHES: "0+1x20 stale"}),
    },
    "LagwardenDescriptorsLow": {
        "four fifths of the limit, and not more": before("30m", {OPEN: "700x20 3276x60", LIMIT: "4096x80"}),
        "more than four fifths for five minutes": after(
            "15m30s", {OPEN: "700x19 3600x60", LIMIT: "4000x80"}, [JVM_PROCESS]
        ).says(
            "lagwarden (jvm) uses 90% of its file descriptors",
            "At the limit it cannot open sockets and files: batches fail, scrapes are refused, and the process exits."
            " The limit is 4000.",
        ),
        "a burst of connections": odd("14m30s", {OPEN: "100x20 950x8 100x60", LIMIT: "1024x90"}),
        "another role is far from its own limit": odd(
            "20m",
            {
                of("lagwarden_open_descriptors", MONITOR, role="driver"): "900x60",
                of("lagwarden_descriptor_limit", MONITOR, role="driver"): "1048576x60",
                OPEN: "700x60",
                LIMIT: "1024x60",
            },
        ),
        "a new process": vanished("16m", {OPEN: "3600x20 stale", LIMIT: "4000x20 stale"}),
        "the monitor is down": dead("30m", {OPEN: "3600x20 stale", LIMIT: "4000x20 stale"}),
    },
    "LagwardenMemoryNearLimit": {
        "nine tenths of the limit": before("25m", {JVM: "700x60", DRIVER: "200x60", MEMORY_LIMIT: "1000x60"}),
        "the roles together use more than nine tenths for ten minutes": after(
            "10m", {JVM: "700x60", DRIVER: "250x60", MEMORY_LIMIT: "1000x60"}, [MONITOR]
        ).says(
            "lagwarden uses 95% of its memory limit",
            "At the limit the kernel kills one of its processes, and lagwarden starts again from its checkpoint. The"
            " limit must hold the heap of the JVM, the Python processes and the state.",
        ),
        "there is no limit": odd("25m", {JVM: "4000000x60"}),
        "a new process": vanished("21m", {JVM: "950x30 stale", MEMORY_LIMIT: "1000x30 stale"}),
        "the monitor is down": dead("30m", {JVM: "950x20 stale", MEMORY_LIMIT: "1000x20 stale"}),
    },
    "LagwardenCheckpointVolumeFilling": {
        "a tenth of the volume is left": before("25m", {FREE: "200000000x60", VOLUME: "2000000000x60"}),
        "less than a tenth is left for ten minutes": after(
            "10m", {FREE: "160000000x60", VOLUME: "2000000000x60"}, [MONITOR]
        ).says(
            "The volume of lagwarden's checkpoint has 8% left",
            "Without space no batch can end, and lagwarden exits with code 23.",
        ),
        "a large volume has gigabytes left": odd("25m", {FREE: "50000000000x60", VOLUME: "1000000000000x60"}),
        "the volume was replaced": vanished("21m", {FREE: "50000000x30 1900000000x30", VOLUME: "2000000000x60"}),
        "the monitor is down": dead("30m", {FREE: "50000000x20 stale", VOLUME: "2000000000x20 stale"}),
    },
    "LagwardenWebhookFailing": {
        "an event has waited for exactly 15 minutes; an event has waited for longer": edge(
            "25m", "25m30s", {OLDEST: "_x20 600x60", of("lagwarden_webhook_events_queued"): "0x20 7x60"}, [MONITOR]
        ).says(
            "The webhook does not accept the events of lagwarden",
            "Receivers do not know the latest verdicts. In the queue: 7 events. lagwarden_webhook_failures_total has"
            " the reasons.",
        ),
        "events are dropped while the oldest one is always young": after(
            "12m",
            {
                of("lagwarden_webhook_events_dropped_total", reason="queue_full"): "0x20 5x60",
                of("lagwarden_webhook_events_dropped_total", reason="refused"): "0x80",
                OLDEST: "0+30x80",
            },
            [MONITOR],
        ),
        "there are always events, and all are new": odd("30m", {OLDEST: "0+30x80"}),
        "all are sent": vanished("36m", {OLDEST: "_x20 600x40 stale"}),
        "the monitor is down": dead("45m", {OLDEST: "_x20 600x40"}),
    },
    "LagwardenDecodeErrors": {
        "first and further ones": errors("short").says(
            "Records of type offset_commit cannot be decoded (short)",
            "The content of these records is not known: a commit, a member or the removal of a group may be missing.",
        ),
        "LagwardenUnknownRecords fires instead": odd("20m", failures("unknown_type") | failures("unknown_version")),
    },
    "LagwardenUnknownRecords": {
        "first and further ones": errors("unknown_version").says(
            "The brokers write records that lagwarden does not know: type offset_commit, version 9",
            "The brokers are newer than lagwarden. The content of these records is not shown.",
        ),
        "LagwardenDecodeErrors fires instead": odd("20m", failures("length_past_end")),
    },
    "LagwardenOffsetsHeldBack": {
        "for six minutes; for a little more": edge(
            "16m", "16m30s", {GAP: "_x20 600x60", of("lagwarden_groups_held_back"): "1x90"}, [_GAP]
        ).says(
            "An open transaction has blocked partition 7 of __consumer_offsets for 6m 30s",
            "What is shown of the groups of that partition is read behind the last stable offset and not yet stable."
            " So far 1 groups.",
        ),
        "transactions that end": odd("13m", {GAP: "0x5 stale 210x5 stale 390x5 stale 570x5 stale 750x5"}),
        "it has ended": vanished("16m", {GAP: "0x20 stale"}),
        "the monitor is down": dead("30m", {GAP: "0x20"}),
    },
    "LagwardenLogCleanerSuspect": {
        "for less than an hour; for an hour": edge("64m30s", "65m", {SUSPECT: "0x9 1x200"}, [MONITOR]).says(
            "The log cleaner seems to have stopped; __consumer_offsets grows without compaction",
            "A stopped cleaner fills the brokers' disks and makes every failover and every first start of lagwarden"
            " longer.",
        ),
        "suspected for 50 minutes between two runs of the cleaner": odd("100m", {SUSPECT: "1x100 0x5 1x100 0x5"}),
        "not known any more": vanished("70m", {SUSPECT: "1x100 stale"}),
        "the monitor is down": dead("70m", {SUSPECT: "1x100"}),
    },
    "LagwardenSeriesDropped": {
        "for less than ten minutes": before("14m30s", {OVER: "_x10 4000x60"}),
        "for ten minutes": after(
            "15m", {OVER: "_x10 4000x60", of("lagwarden_series_over_budget", metric="b"): "8500x80"}, [MONITOR]
        ).says(
            "12.5k series are not in /metrics because of the series budget",
            "Series of dead groups or whole metrics are missing; lagwarden_series_over_budget names them.",
        ),
        "a burst of short-lived groups": odd("15m", {OVER: "4000x10 stale _x10 4000x5 stale"}),
        "everything fits again": vanished("36m", {OVER: "4000x60 stale"}),
        "the monitor is down": dead("30m", {OVER: "4000x30"}),
    },
    "LagwardenEvaluationFails": {
        "for less than five minutes; for five minutes": edge(
            "9m30s", "10m", {NOT_EVALUATED: "0x9 2x60"}, [MONITOR]
        ).says(
            "lagwarden cannot evaluate 2 groups because of a fault of its own",
            "They are shown as unknown with the reason internal_error, and none of their alerts can fire. All other"
            " groups are evaluated. The log names each group with the error.",
        ),
        "a group that can soon be evaluated again": odd("15m", {NOT_EVALUATED: "0x5 1x6 0x5 1x6 0x20"}),
        "it starts again": vanished("16m", {NOT_EVALUATED: "1x20 stale"}),
        "the monitor is down": dead("30m", {NOT_EVALUATED: "1x20"}),
    },
    "LagwardenOffsetsPartitionDown": {
        "no leader for a minute, as at a restart of its broker; for a minute and a half": edge(
            "6m",
            "6m30s",
            down(3, "_x10 12x60", "_x10 300x60")
            | down(17, "_x10 5x60", "_x10 300x60")
            | {hidden_group(3, "billing"): "_x10 1x60", hidden_group(17, "audit"): "_x10 1x60"},
            [CLUSTER],
        ).says(
            "Partitions of __consumer_offsets are not available; 17 groups can neither commit nor be evaluated",
            "Partitions with their reason and number of groups: 17 (no leader, 5) 3 (no leader, 12). Among the groups:"
            " audit (17) billing (3). These groups have the verdict unknown; lagwarden explain GROUP names their"
            " partition.",
        ),
        "one partition after the other loses its leader for a moment in a rolling restart": odd(
            "5m",
            down(1, "4x1 stale", "0x1 stale")
            | down(2, "_x4 4x1 stale", "_x4 120x1 stale")
            | down(3, "_x8 4x1 stale", "_x8 240x1 stale"),
        ),
        "its broker is back": vanished("16m", down(3, "12x20 stale", "0x20 stale")),
        "a restart resolves no alert": dead("11m", down(3, "12x20 stale _x3 12x40", "0x20 stale _x3 0x40"), [CLUSTER]),
    },
    "LagwardenQuorumVoterBehind": {
        "one of five voters is away for less than five minutes; for five minutes": edge(
            "9m30s", "10m", quorum(5, "0x9 1x60"), [CLUSTER]
        ).says(
            "1 controllers of cluster north do not follow the leader of the metadata quorum",
            "The quorum still works after the loss of another voter.",
        ),
        "with three voters LagwardenQuorumAtRisk fires instead": odd("20m", quorum(3, "1x60")),
        "a rolling restart of five controllers": odd("20m", quorum(5, "0x3 1x4 0x3 1x4 0x3 1x4 0x3 1x4 0x3 1x4 0x9")),
        "not known any more": vanished("16m", quorum(5, "1x20 stale")),
        "the monitor is down": dead("21m", quorum(5, "1x20")),
    },
    "LagwardenQuorumAtRisk": {
        "one of three voters is away for less than five minutes; for five minutes": edge(
            "9m30s", "10m", quorum(3, "0x9 1x60"), [CLUSTER]
        ).says(
            "The metadata quorum of cluster north does not survive the loss of another controller",
            "1 of 3 voters do not follow its leader.",
        ),
        "a rolling restart of three controllers": odd("15m", quorum(3, "0x3 1x6 0x3 1x6 0x3 1x6 0x30")),
        "not known any more": vanished("16m", quorum(3, "1x20 stale")),
        "the monitor is down": dead("21m", quorum(3, "1x20")),
    },
    "LagwardenQuorumNoLeader": {
        "no answer during two elections and a restart": before("7m30s", no_controller("timed_out", "_x10 1x60")),
        "for three minutes, with changing reasons": after(
            "8m30s",
            no_controller("timed_out", "_x10 1x4 stale _x1 1x60") | no_controller("no_leader", "_x15 1x2 stale"),
            [CLUSTER],
        ).says(
            "Cluster north has no active controller, or none that answers",
            "Without one no partition gets a new leader, no topic or setting changes, and no broker can start.",
        ),
        "lagwarden may not describe the cluster": odd("20m", no_controller("not_authorized", "1x60")),
        "the quorum has a leader again": vanished("16m", no_controller("timed_out", "1x20 stale")),
        "the monitor is down": dead("21m", no_controller("timed_out", "1x20")),
    },
    "LagwardenInstanceMissing": {
        "one of three restarts": before("24m", shared(3, {"0/3": "1x80"}, {"1/3": "1x80"}, {"2/3": "1x9 _x70"})),
        "the third of three does not run": after("15m", shared(3, {"0/3": "1x80"}, {"1/3": "1x80"}), [CLUSTER]).says(
            "1 of the instances of lagwarden for cluster north are missing",
            "The groups of an instance that does not run, or whose job.instance another one has, are not monitored."
            " There are 0/3 (watch-0:10848) 1/3 (watch-1:10848).",
        ),
        "a single instance has all groups": odd("30m", shared(1, {"0/1": "1x80"})),
        "the third is back": vanished("26m", shared(3, {"0/3": "1x120"}, {"1/3": "1x120"}, {"2/3": "_x40 1x80"})),
        "another one restarts": dead("32m", shared(3, {"0/3": "1x120"}, {"1/3": "1x60 stale _x4 1x50"}), [CLUSTER]),
    },
}

CASES: Final = stories(STORIES)
