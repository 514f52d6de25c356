"""The stories of the alerts about lagwarden itself (rules/monitor.yaml)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.chart.alerts.case import CLUSTER, MONITOR, OTHER, Case, Kind, Text, instances, of

if TYPE_CHECKING:
    from collections.abc import Mapping

UP: Final = of("up")
TAKEN: Final = of("lagwarden_snapshot_timestamp_seconds")
READY: Final = of("lagwarden_ready")
RATIO: Final = of("lagwarden_catch_up_ratio")
# The series of a healthy monitor over 60 minutes, at 30 s a sample.
FRESH: Final = {TAKEN: "0+30x120"}


def phase(word: str) -> str:
    """Return the series of a phase."""
    return of("lagwarden_phase_info", phase=word)


DOWN: Final = [
    Case("LagwardenMonitorDown", Kind.BEFORE, "down for less than five minutes", {UP: "1x10 0x60"}, "10m"),
    Case(
        "LagwardenMonitorDown",
        Kind.AFTER,
        "down for five minutes",
        {UP: "1x10 0x60"},
        "10m30s",
        [MONITOR],
        Text("lagwarden cannot be scraped", "Groups are not monitored, and none of their alerts can fire."),
    ),
    Case("LagwardenMonitorDown", Kind.ODD, "a restart, and another", {UP: "1x10 0x3 1x10 0x3 1x40"}, "15m"),
    Case(
        "LagwardenMonitorDown",
        Kind.ODD,
        "one of two is down, and only that one has an alert",
        {UP: "0x60", of("up", OTHER): "1x60"},
        "20m",
        [MONITOR],
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.VANISHED,
        "Prometheus has no series of the monitor any more",
        {UP: "1x10 stale"},
        "11m",
        [MONITOR],
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.VANISHED,
        "the node is lost, then the pod is deleted: still the same alert",
        {UP: "1x10 0x12 stale _x100"},
        "40m",
        [MONITOR],
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.VANISHED,
        "of two monitors one is gone",
        {UP: "1x10 stale", of("up", OTHER): "1x60"},
        "11m",
        [MONITOR],
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.VANISHED,
        "a pod that is back on another node after twenty minutes",
        {UP: "1x10 0x12 stale _x20 1x20"},
        "25m",
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.ODD,
        "a pod that is back with another address is not down, even if instance is that address",
        {UP: "1x10 stale", of("up", OTHER): "_x14 1x60"},
        "30m",
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.AFTER,
        "six hours after its last sample",
        {UP: "1x10 stale"},
        "6h20m",
        [{"job": "lagwarden"}],
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.DEAD,
        "Prometheus has never had a series of it",
        {of("up", job="other"): "1x60"},
        "4m30s",
    ),
    Case(
        "LagwardenMonitorDown",
        Kind.AFTER,
        "Prometheus has had no series of it for five minutes",
        {of("up", job="other"): "1x60"},
        "5m",
        [{"job": "lagwarden"}],
    ),
]

STALE: Final = [
    Case("LagwardenMonitorStale", Kind.BEFORE, "three minutes old", {TAKEN: "0+30x10 300x60"}, "7m30s"),
    Case(
        "LagwardenMonitorStale",
        Kind.AFTER,
        "older than two minutes for a minute",
        {TAKEN: "0+30x10 300x60", of("lagwarden_kafka_reachable"): "1x10 0x60"},
        "8m30s",
        [MONITOR],
        Text(
            "The snapshot of lagwarden is 3m 30s old",
            "lagwarden answers, but has not read the end offsets since then. Kafka does not answer. The reason is in"
            " /readyz.",
        ),
    ),
    Case(
        "LagwardenMonitorStale",
        Kind.ODD,
        "a tick that takes two minutes now and then",
        {TAKEN: "0 0 0 0 120 120 120 120 240 240 240 240 360 360 360 360 480 480"},
        "8m30s",
    ),
    Case("LagwardenMonitorStale", Kind.VANISHED, "it restarts", {TAKEN: "0+30x10 300x3 stale"}, "9m"),
    Case("LagwardenMonitorStale", Kind.DEAD, "LagwardenMonitorDown fires instead", FRESH, "71m"),
]

NOT_READY: Final = [
    Case(
        "LagwardenMonitorNotReady",
        Kind.BEFORE,
        "it has caught up for less than a quarter of an hour",
        {READY: "0x60", phase("starting"): "1x60"},
        "14m30s",
    ),
    Case(
        "LagwardenMonitorNotReady",
        Kind.AFTER,
        "it makes no progress",
        {READY: "0x60", phase("starting"): "1x60"},
        "15m",
        [MONITOR],
        Text(
            "lagwarden runs, but shows no groups",
            "Its phase is starting, without progress. The reason is in /readyz.",
        ),
    ),
    Case(
        "LagwardenMonitorNotReady",
        Kind.AFTER,
        "a catch-up without progress",
        {READY: "0x120", phase("catching up"): "1x120", RATIO: "0+0.01x40 0.4x80"},
        "46m",
        [MONITOR],
    ),
    Case(
        "LagwardenMonitorNotReady",
        Kind.ODD,
        "a long catch-up with progress",
        {READY: "0x120", phase("catching up"): "1x120", RATIO: "0+0.001x120"},
        "60m",
    ),
    Case(
        "LagwardenMonitorNotReady",
        Kind.ODD,
        "a cluster on which no group has ever committed",
        {READY: "0x120", phase("waiting for topic"): "1x120"},
        "60m",
    ),
    Case(
        "LagwardenMonitorNotReady",
        Kind.ODD,
        "LagwardenMonitorStale fires for an old snapshot",
        {READY: "0x120", phase("running"): "1x120", TAKEN: "0x120"},
        "60m",
    ),
    Case("LagwardenMonitorNotReady", Kind.VANISHED, "it is ready", {READY: "0x20 1x60"}, "20m"),
    Case("LagwardenMonitorNotReady", Kind.DEAD, "LagwardenMonitorDown fires instead", {READY: "0x10 stale"}, "30m"),
]

STARTED: Final = of("process_start_time_seconds")
RESTARTS: Final = [
    Case("LagwardenMonitorRestarts", Kind.BEFORE, "two restarts", {STARTED: "1x10 300x10 600x100"}, "59m"),
    Case(
        "LagwardenMonitorRestarts",
        Kind.AFTER,
        "three restarts",
        {STARTED: "1x10 _x3 300x10 _x3 600x10 _x3 900x60"},
        "21m",
        [MONITOR],
        Text(
            "lagwarden restarted 3 times within an hour",
            "The last log line before the exit and the exit code (docs/config.md) give the reason.",
        ),
    ),
    Case(
        "LagwardenMonitorRestarts",
        Kind.AFTER,
        "three pods that are gone, and a fourth, each with an address of its own",
        {
            of("process_start_time_seconds", {"job": "lagwarden", "instance": f"192.0.2.{pod}:10848"}): (
                f"{'_ ' * 20 * pod}{600 * pod}x15 stale"
            )
            for pod in range(4)
        },
        "31m",
        [{"job": "lagwarden"}],
    ),
    Case(
        "LagwardenMonitorRestarts",
        Kind.ODD,
        "a rollout with a new address",
        {STARTED: "1x10 stale", of("process_start_time_seconds", OTHER): "_x14 600x60"},
        "20m",
    ),
    Case(
        "LagwardenMonitorRestarts",
        Kind.ODD,
        "a rollout, a day after another",
        {STARTED: "1x100 3000x200 9000x10"},
        "155m",
    ),
    Case(
        "LagwardenMonitorRestarts",
        Kind.VANISHED,
        "restarts of another program have no alert",
        {of("process_start_time_seconds", job="other"): "1 2 3 4 5 6 7 8"},
        "3m",
    ),
    Case(
        "LagwardenMonitorRestarts",
        Kind.DEAD,
        "a monitor that does not run does not start",
        {STARTED: "1x10 stale"},
        "30m",
    ),
]


def offsets(metric: str, partition: int) -> str:
    """Return a series of a partition of the offsets topic."""
    return of(f"lagwarden_offsets_partition_{metric}", offsets_partition=str(partition))


RUNNING: Final = {phase("running"): "1x200"}
READER: Final = [
    Case(
        "LagwardenReaderBehind",
        Kind.BEFORE,
        "exactly a minute behind, at ten offsets a second",
        RUNNING | {offsets("position", 0): "0+300x200", offsets("distance", 0): "600x200"},
        "40m",
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.AFTER,
        "more than a minute behind for ten minutes",
        RUNNING
        | {
            offsets("position", 0): "0+150x200",
            offsets("position", 1): "0+150x200",
            offsets("distance", 0): "300x40 301x100",
            offsets("distance", 1): "300x200",
        },
        "30m30s",
        [MONITOR],
        Text(
            "lagwarden does not keep up with __consumer_offsets",
            "601 offsets are not read yet. Commits are shown late, so lag is shown too large.",
        ),
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.AFTER,
        "the position does not move, and there are records to read",
        RUNNING | {offsets("position", 0): "900x200", offsets("distance", 0): "1x200"},
        "15m",
        [MONITOR],
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.ODD,
        "a cluster at rest: nothing to read and nothing read",
        RUNNING | {offsets("position", 0): "900x200", offsets("distance", 0): "0x200"},
        "60m",
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.ODD,
        "a very busy topic, five seconds behind at any time",
        RUNNING | {offsets("position", 0): "0+3000000x200", offsets("distance", 0): "500000x200"},
        "60m",
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.ODD,
        "the distance of a catch-up does not count",
        {phase("catching up"): "1x200", offsets("position", 0): "0+300x200", offsets("distance", 0): "1000000x200"},
        "60m",
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.VANISHED,
        "the end offsets are not known",
        RUNNING | {offsets("position", 0): "900x200", offsets("distance", 0): "1x10 stale"},
        "30m",
    ),
    Case(
        "LagwardenReaderBehind",
        Kind.DEAD,
        "LagwardenMonitorDown fires instead",
        {
            phase("running"): "1x10 stale",
            offsets("position", 0): "900x10 stale",
            offsets("distance", 0): "1x10 stale",
        },
        "30m",
    ),
]

DURATION: Final = of("lagwarden_last_batch_duration_seconds")
BATCHES: Final = of("lagwarden_batches_total")
BATCH: Final = [
    Case(
        "LagwardenBatchSlow",
        Kind.BEFORE,
        "slow for less than a quarter of an hour",
        RUNNING | {DURATION: "2x19 40x100", BATCHES: "0+1x120"},
        "24m",
    ),
    Case(
        "LagwardenBatchSlow",
        Kind.AFTER,
        "slow for a quarter of an hour",
        RUNNING | {DURATION: "2x19 40x100", BATCHES: "0+1x120"},
        "25m30s",
        [MONITOR],
        Text(
            "No batch of lagwarden took less than 40s for ten minutes",
            "Reading, keeping the state and writing the checkpoint are one batch: one of them is slow, most often the"
            " disk.",
        ),
    ),
    Case(
        "LagwardenBatchSlow",
        Kind.ODD,
        "one slow batch, then no batches",
        RUNNING | {DURATION: "40x200", BATCHES: "7x200"},
        "60m",
    ),
    Case(
        "LagwardenBatchSlow",
        Kind.ODD,
        "the catch-up reads in great batches",
        {phase("catching up"): "1x200", DURATION: "90x200", BATCHES: "0+1x200"},
        "60m",
    ),
    Case(
        "LagwardenBatchSlow",
        Kind.VANISHED,
        "a new process has no last batch yet",
        RUNNING | {DURATION: "40x20 stale", BATCHES: "0+1x20 0x60"},
        "25m30s",
    ),
    Case(
        "LagwardenBatchSlow",
        Kind.DEAD,
        "LagwardenMonitorDown fires instead",
        {phase("running"): "1x20 stale", DURATION: "40x20 stale", BATCHES: "0+1x20 stale"},
        "30m",
    ),
]


JVM_PROCESS: Final = {**MONITOR, "role": "jvm"}
OPEN: Final = of("lagwarden_open_descriptors", JVM_PROCESS)
LIMIT: Final = of("lagwarden_descriptor_limit", JVM_PROCESS)
DESCRIPTORS: Final = [
    Case(
        "LagwardenDescriptorsLow",
        Kind.BEFORE,
        "four fifths of the limit, and not more",
        {OPEN: "700x20 3276x60", LIMIT: "4096x80"},
        "30m",
    ),
    Case(
        "LagwardenDescriptorsLow",
        Kind.AFTER,
        "more than four fifths for five minutes",
        {OPEN: "700x19 3600x60", LIMIT: "4000x80"},
        "15m30s",
        [JVM_PROCESS],
        Text(
            "lagwarden (jvm) uses 90% of its file descriptors",
            "At the limit it cannot open sockets and files: batches fail, scrapes are refused, and the process"
            " exits. The limit is 4000.",
        ),
    ),
    Case(
        "LagwardenDescriptorsLow",
        Kind.ODD,
        "a burst of connections",
        {OPEN: "100x20 950x8 100x60", LIMIT: "1024x90"},
        "14m30s",
    ),
    Case(
        "LagwardenDescriptorsLow",
        Kind.ODD,
        "another role is far from its own limit",
        {
            of("lagwarden_open_descriptors", MONITOR, role="driver"): "900x60",
            of("lagwarden_descriptor_limit", MONITOR, role="driver"): "1048576x60",
            OPEN: "700x60",
            LIMIT: "1024x60",
        },
        "20m",
    ),
    Case(
        "LagwardenDescriptorsLow",
        Kind.VANISHED,
        "a new process",
        {OPEN: "3600x20 stale", LIMIT: "4000x20 stale"},
        "16m",
    ),
    Case(
        "LagwardenDescriptorsLow",
        Kind.DEAD,
        "LagwardenMonitorDown fires instead",
        {OPEN: "3600x20 stale", LIMIT: "4000x20 stale"},
        "30m",
    ),
]


MEMORY_LIMIT: Final = of("lagwarden_memory_limit_bytes")
JVM_MEMORY: Final = of("lagwarden_memory_bytes", JVM_PROCESS)
DRIVER_MEMORY: Final = of("lagwarden_memory_bytes", MONITOR, role="driver")
MEMORY: Final = [
    Case(
        "LagwardenMemoryNearLimit",
        Kind.BEFORE,
        "nine tenths of the limit, and not more",
        {JVM_MEMORY: "700x60", DRIVER_MEMORY: "200x60", MEMORY_LIMIT: "1000x60"},
        "25m",
    ),
    Case(
        "LagwardenMemoryNearLimit",
        Kind.AFTER,
        "the roles together use more than nine tenths for ten minutes",
        {JVM_MEMORY: "700x60", DRIVER_MEMORY: "250x60", MEMORY_LIMIT: "1000x60"},
        "10m",
        [MONITOR],
        Text(
            "lagwarden uses 95% of its memory limit",
            "At the limit the kernel kills one of its processes, and lagwarden starts again from its checkpoint. The"
            " limit must hold the heap of the JVM, the Python processes and the state.",
        ),
    ),
    Case(
        "LagwardenMemoryNearLimit",
        Kind.ODD,
        "a catch-up that needs more for nine minutes",
        {JVM_MEMORY: "700x10 920x18 700x60", MEMORY_LIMIT: "1000x90"},
        "20m",
    ),
    Case("LagwardenMemoryNearLimit", Kind.ODD, "there is no limit", {JVM_MEMORY: "4000000x60"}, "25m"),
    Case(
        "LagwardenMemoryNearLimit",
        Kind.VANISHED,
        "a new process",
        {JVM_MEMORY: "950x30 stale", MEMORY_LIMIT: "1000x30 stale"},
        "21m",
    ),
    Case(
        "LagwardenMemoryNearLimit",
        Kind.DEAD,
        "LagwardenMonitorDown fires instead",
        {JVM_MEMORY: "950x20 stale", MEMORY_LIMIT: "1000x20 stale"},
        "30m",
    ),
]

FREE: Final = of("lagwarden_checkpoint_volume_free_bytes")
VOLUME: Final = of("lagwarden_checkpoint_volume_bytes")
CHECKPOINT_VOLUME: Final = [
    Case(
        "LagwardenCheckpointVolumeFilling",
        Kind.BEFORE,
        "a tenth of the volume is left",
        {FREE: "200000000x60", VOLUME: "2000000000x60"},
        "25m",
    ),
    Case(
        "LagwardenCheckpointVolumeFilling",
        Kind.AFTER,
        "less than a tenth is left for ten minutes",
        {FREE: "160000000x60", VOLUME: "2000000000x60"},
        "10m",
        [MONITOR],
        Text(
            "The volume of lagwarden's checkpoint has 8% left",
            "Without space no batch can end, and lagwarden exits with code 23.",
        ),
    ),
    Case(
        "LagwardenCheckpointVolumeFilling",
        Kind.ODD,
        "a large volume that others fill, too, has many gigabytes left",
        {FREE: "50000000000x60", VOLUME: "1000000000000x60"},
        "25m",
    ),
    Case(
        "LagwardenCheckpointVolumeFilling",
        Kind.ODD,
        "another program fills the volume for a few minutes",
        {FREE: "900000000x10 50000000x15 900000000x60", VOLUME: "2000000000x90"},
        "12m",
    ),
    Case(
        "LagwardenCheckpointVolumeFilling",
        Kind.VANISHED,
        "the volume was replaced",
        {FREE: "50000000x30 1900000000x30", VOLUME: "2000000000x60"},
        "21m",
    ),
    Case(
        "LagwardenCheckpointVolumeFilling",
        Kind.DEAD,
        "LagwardenMonitorDown fires instead",
        {FREE: "50000000x20 stale", VOLUME: "2000000000x20 stale"},
        "30m",
    ),
]


OLDEST: Final = of("lagwarden_webhook_oldest_event_timestamp_seconds")
WEBHOOK: Final = [
    Case(
        "LagwardenWebhookFailing",
        Kind.BEFORE,
        "an event has waited for exactly 15 minutes",
        {OLDEST: "_x20 600x60"},
        "25m",
    ),
    Case(
        "LagwardenWebhookFailing",
        Kind.AFTER,
        "an event has waited for longer",
        {OLDEST: "_x20 600x60", of("lagwarden_webhook_events_queued"): "0x20 7x60"},
        "25m30s",
        [MONITOR],
        Text(
            "The webhook does not accept the events of lagwarden",
            "Receivers do not know the latest verdicts. In the queue: 7 events. lagwarden_webhook_failures_total has"
            " the reasons.",
        ),
    ),
    Case(
        "LagwardenWebhookFailing",
        Kind.AFTER,
        "events are dropped while the oldest one is always young",
        {
            of("lagwarden_webhook_events_dropped_total", reason="queue_full"): "0x20 5x60",
            of("lagwarden_webhook_events_dropped_total", reason="refused"): "0x80",
            OLDEST: "0+30x80",
        },
        "12m",
        [MONITOR],
    ),
    Case("LagwardenWebhookFailing", Kind.ODD, "there are always events, and all are new", {OLDEST: "0+30x80"}, "30m"),
    Case("LagwardenWebhookFailing", Kind.VANISHED, "all are sent", {OLDEST: "_x20 600x40 stale"}, "36m"),
    Case("LagwardenWebhookFailing", Kind.DEAD, "LagwardenMonitorDown fires instead", {OLDEST: "_x20 600x40"}, "45m"),
]


def errors(alert: str, reason: str, text: Text, odd: Case) -> list[Case]:
    """Return the stories of a counter that increases or appears."""
    labels = {**MONITOR, "record_type": "offset_commit", "version": "9", "reason": reason}
    series = of("lagwarden_decode_errors_total", labels)
    return [
        Case(alert, Kind.BEFORE, "none yet", {series: "_x10 3x60"}, "4m30s"),
        Case(alert, Kind.AFTER, "the first ones", {series: "_x10 3x60"}, "5m", [labels], text),
        Case(alert, Kind.AFTER, "one more", {series: "3x100 4x60"}, "51m", [labels]),
        Case(alert, Kind.ODD, "no new ones", {series: "3x100"}, "20m"),
        odd,
        Case(alert, Kind.VANISHED, "a new process counts from 0", {series: "3x60 stale"}, "31m"),
        Case(alert, Kind.DEAD, "LagwardenMonitorDown fires instead", {series: "3x60"}, "45m"),
    ]


def _of_reason(reason: str) -> dict[str, str]:
    return {of("lagwarden_decode_errors_total", record_type="x", version="1", reason=reason): "0+1x60"}


DECODE: Final = errors(
    "LagwardenDecodeErrors",
    "short",
    Text(
        "Records of type offset_commit cannot be decoded (short)",
        "The content of these records is not known: a commit, a member or the removal of a group may be missing.",
    ),
    Case(
        "LagwardenDecodeErrors",
        Kind.ODD,
        "LagwardenUnknownRecords fires for records of a newer broker",
        _of_reason("unknown_type") | _of_reason("unknown_version"),
        "20m",
    ),
)
UNKNOWN: Final = errors(
    "LagwardenUnknownRecords",
    "unknown_version",
    Text(
        "The brokers write records that lagwarden does not know: type offset_commit, version 9",
        "The brokers are newer than lagwarden. The content of these records is not shown.",
    ),
    Case(
        "LagwardenUnknownRecords",
        Kind.ODD,
        "LagwardenDecodeErrors fires for broken bytes",
        _of_reason("length_past_end"),
        "20m",
    ),
)

_GAP: Final = {**MONITOR, "offsets_partition": "7"}
GAP: Final = of("lagwarden_offsets_partition_stable_gap_since_timestamp_seconds", _GAP)
HELD: Final = [
    Case("LagwardenOffsetsHeldBack", Kind.BEFORE, "for six minutes", {GAP: "_x20 600x60"}, "16m"),
    Case(
        "LagwardenOffsetsHeldBack",
        Kind.AFTER,
        "for a little more",
        {GAP: "_x20 600x60", of("lagwarden_groups_held_back"): "1x90"},
        "16m30s",
        [_GAP],
        Text(
            "An open transaction has blocked partition 7 of __consumer_offsets for 6m 30s",
            "What is shown of the groups of that partition is read behind the last stable offset and not yet stable. So"
            " far 1 groups.",
        ),
    ),
    Case(
        "LagwardenOffsetsHeldBack",
        Kind.ODD,
        "transactions that end, one after the other",
        {GAP: "0x5 stale 210x5 stale 390x5 stale 570x5 stale 750x5"},
        "13m",
    ),
    Case("LagwardenOffsetsHeldBack", Kind.VANISHED, "it has ended", {GAP: "0x20 stale"}, "16m"),
    Case("LagwardenOffsetsHeldBack", Kind.DEAD, "LagwardenMonitorDown fires instead", {GAP: "0x20"}, "30m"),
]

SUSPECT: Final = of("lagwarden_offsets_topic_cleaner_suspect")
CLEANER: Final = [
    Case("LagwardenLogCleanerSuspect", Kind.BEFORE, "for less than an hour", {SUSPECT: "0x9 1x200"}, "64m30s"),
    Case(
        "LagwardenLogCleanerSuspect",
        Kind.AFTER,
        "for an hour",
        {SUSPECT: "0x9 1x200"},
        "65m",
        [MONITOR],
        Text(
            "The log cleaner seems to have stopped; __consumer_offsets grows without compaction",
            "A stopped cleaner fills the brokers' disks and makes every failover and every first start of lagwarden"
            " longer.",
        ),
    ),
    Case(
        "LagwardenLogCleanerSuspect",
        Kind.ODD,
        "suspected for 50 minutes between two runs of the cleaner",
        {SUSPECT: "1x100 0x5 1x100 0x5"},
        "100m",
    ),
    Case("LagwardenLogCleanerSuspect", Kind.VANISHED, "not known any more", {SUSPECT: "1x100 stale"}, "70m"),
    Case("LagwardenLogCleanerSuspect", Kind.DEAD, "LagwardenMonitorDown fires instead", {SUSPECT: "1x100"}, "70m"),
]

OVER: Final = of("lagwarden_series_over_budget", metric="lagwarden_partition_progress_timestamp_seconds")
DROPPED: Final = [
    Case("LagwardenSeriesDropped", Kind.BEFORE, "for less than ten minutes", {OVER: "_x10 4000x60"}, "14m30s"),
    Case(
        "LagwardenSeriesDropped",
        Kind.AFTER,
        "for ten minutes",
        {OVER: "_x10 4000x60", of("lagwarden_series_over_budget", metric="b"): "8500x80"},
        "15m",
        [MONITOR],
        Text(
            "12.5k series are not in /metrics because of the series budget",
            "Series of dead groups or whole metrics are missing; lagwarden_series_over_budget names them.",
        ),
    ),
    Case(
        "LagwardenSeriesDropped",
        Kind.ODD,
        "a burst of short-lived groups",
        {OVER: "4000x10 stale _x10 4000x5 stale"},
        "15m",
    ),
    Case("LagwardenSeriesDropped", Kind.VANISHED, "everything fits again", {OVER: "4000x60 stale"}, "36m"),
    Case("LagwardenSeriesDropped", Kind.DEAD, "LagwardenMonitorDown fires instead", {OVER: "4000x30"}, "30m"),
]

NOT_EVALUATED: Final = of("lagwarden_groups_not_evaluated")
EVALUATED: Final = [
    Case("LagwardenEvaluationFails", Kind.BEFORE, "for less than five minutes", {NOT_EVALUATED: "0x9 2x60"}, "9m30s"),
    Case(
        "LagwardenEvaluationFails",
        Kind.AFTER,
        "for five minutes",
        {NOT_EVALUATED: "0x9 2x60"},
        "10m",
        [MONITOR],
        Text(
            "lagwarden cannot evaluate 2 groups because of a fault of its own",
            "They are shown as unknown with the reason internal_error, and none of their alerts can fire. All other"
            " groups are evaluated. The log names each group with the error.",
        ),
    ),
    Case(
        "LagwardenEvaluationFails",
        Kind.ODD,
        "a group that can be evaluated again after its next commit",
        {NOT_EVALUATED: "0x5 1x6 0x5 1x6 0x20"},
        "15m",
    ),
    Case("LagwardenEvaluationFails", Kind.VANISHED, "it starts again", {NOT_EVALUATED: "1x20 stale"}, "16m"),
    Case("LagwardenEvaluationFails", Kind.DEAD, "LagwardenMonitorDown fires instead", {NOT_EVALUATED: "1x20"}, "30m"),
]


def hidden(partition: int, reason: str = "no_leader") -> dict[str, str]:
    """Return the labels of an offsets partition that is not available."""
    return {**MONITOR, "offsets_partition": str(partition), "reason": reason}


def down(partition: int, groups: str, since: str) -> dict[str, str]:
    """Return the series of an offsets partition that is not available."""
    return {
        of("lagwarden_offsets_partition_hidden_groups", hidden(partition)): groups,
        of("lagwarden_offsets_partition_unavailable_since_timestamp_seconds", hidden(partition)): since,
    } | instances(MONITOR)


PARTITION_DOWN: Final = [
    Case(
        "LagwardenOffsetsPartitionDown",
        Kind.BEFORE,
        "no leader for a minute, as at a restart of its broker",
        down(3, "_x10 12x60", "_x10 300x60"),
        "6m",
    ),
    Case(
        "LagwardenOffsetsPartitionDown",
        Kind.AFTER,
        "for a minute and a half",
        down(3, "_x10 12x60", "_x10 300x60")
        | down(17, "_x10 5x60", "_x10 300x60")
        | {
            of("lagwarden_offsets_partition_hidden_group_info", MONITOR, offsets_partition=at, group=group): "_x10 1x60"
            for at, group in (("3", "billing"), ("17", "audit"))
        },
        "6m30s",
        [CLUSTER],
        Text(
            "Partitions of __consumer_offsets are not available; 17 groups can neither commit nor be evaluated",
            "Partitions with their reason and number of groups: 17 (no leader, 5) 3 (no leader, 12). Among the groups:"
            " audit (17) billing (3). These groups have the verdict unknown; lagwarden explain GROUP names their"
            " partition.",
        ),
    ),
    Case(
        "LagwardenOffsetsPartitionDown",
        Kind.ODD,
        "one partition after the other loses its leader for a moment in a rolling restart",
        down(1, "4x1 stale", "0x1 stale")
        | down(2, "_x4 4x1 stale", "_x4 120x1 stale")
        | down(3, "_x8 4x1 stale", "_x8 240x1 stale"),
        "5m",
    ),
    Case(
        "LagwardenOffsetsPartitionDown",
        Kind.VANISHED,
        "its broker is back",
        down(3, "12x20 stale", "0x20 stale"),
        "16m",
    ),
    Case(
        "LagwardenOffsetsPartitionDown",
        Kind.DEAD,
        "a restart of the monitor resolves no alert",
        down(3, "12x20 stale _x3 12x40", "0x20 stale _x3 0x40"),
        "11m",
        [CLUSTER],
    ),
]


def quorum(voters: int, behind: str) -> dict[str, str]:
    """Return the series of a metadata quorum."""
    return {
        of("lagwarden_quorum_voters"): f"{voters}x120",
        of("lagwarden_quorum_voters_behind"): behind,
    } | instances(MONITOR)


def no_controller(reason: str, values: str) -> dict[str, str]:
    """Return the series of a controller that is unknown for a reason."""
    return {of("lagwarden_cluster_facts_unknown", fact="controller", reason=reason): values} | instances(MONITOR)


QUORUM: Final = [
    Case(
        "LagwardenQuorumVoterBehind",
        Kind.BEFORE,
        "one of five voters is away for less than five minutes",
        quorum(5, "0x9 1x60"),
        "9m30s",
    ),
    Case(
        "LagwardenQuorumVoterBehind",
        Kind.AFTER,
        "for five minutes",
        quorum(5, "0x9 1x60"),
        "10m",
        [CLUSTER],
        Text(
            "1 controllers of cluster north do not follow the leader of the metadata quorum",
            "The quorum still works after the loss of another voter.",
        ),
    ),
    Case(
        "LagwardenQuorumVoterBehind",
        Kind.ODD,
        "with three voters LagwardenQuorumAtRisk fires instead",
        quorum(3, "1x60"),
        "20m",
    ),
    Case(
        "LagwardenQuorumVoterBehind",
        Kind.ODD,
        "a rolling restart of five controllers",
        quorum(5, "0x3 1x4 0x3 1x4 0x3 1x4 0x3 1x4 0x3 1x4 0x9"),
        "20m",
    ),
    Case("LagwardenQuorumVoterBehind", Kind.VANISHED, "not known any more", quorum(5, "1x20 stale"), "16m"),
    Case("LagwardenQuorumVoterBehind", Kind.DEAD, "LagwardenMonitorDown fires instead", quorum(5, "1x20"), "21m"),
    Case(
        "LagwardenQuorumAtRisk",
        Kind.BEFORE,
        "one of three voters is away for less than five minutes",
        quorum(3, "0x9 1x60"),
        "9m30s",
    ),
    Case(
        "LagwardenQuorumAtRisk",
        Kind.AFTER,
        "for five minutes",
        quorum(3, "0x9 1x60"),
        "10m",
        [CLUSTER],
        Text(
            "The metadata quorum of cluster north does not survive the loss of another controller",
            "1 of 3 voters do not follow its leader.",
        ),
    ),
    Case("LagwardenQuorumAtRisk", Kind.AFTER, "two of five voters", quorum(5, "0x9 2x60"), "10m", [CLUSTER]),
    Case("LagwardenQuorumAtRisk", Kind.ODD, "the only voter is well, and so are both of two", quorum(1, "0x60"), "20m"),
    Case(
        "LagwardenQuorumAtRisk",
        Kind.ODD,
        "a rolling restart of three controllers",
        quorum(3, "0x3 1x6 0x3 1x6 0x3 1x6 0x30"),
        "15m",
    ),
    Case("LagwardenQuorumAtRisk", Kind.VANISHED, "not known any more", quorum(3, "1x20 stale"), "16m"),
    Case("LagwardenQuorumAtRisk", Kind.DEAD, "LagwardenMonitorDown fires instead", quorum(3, "1x20"), "21m"),
    Case(
        "LagwardenQuorumNoLeader",
        Kind.BEFORE,
        "no answer for less than three minutes, as in two elections and a restart",
        no_controller("timed_out", "_x10 1x60"),
        "7m30s",
    ),
    Case(
        "LagwardenQuorumNoLeader",
        Kind.AFTER,
        "for three minutes, with changing reasons",
        no_controller("timed_out", "_x10 1x4 stale _x1 1x60") | no_controller("no_leader", "_x15 1x2 stale"),
        "8m30s",
        [CLUSTER],
        Text(
            "Cluster north has no active controller, or none that answers",
            "Without one no partition gets a new leader, no topic or setting changes, and no broker can start.",
        ),
    ),
    Case(
        "LagwardenQuorumNoLeader",
        Kind.ODD,
        "lagwarden may not describe the cluster",
        no_controller("not_authorized", "1x60"),
        "20m",
    ),
    Case(
        "LagwardenQuorumNoLeader",
        Kind.VANISHED,
        "the quorum has a leader again",
        no_controller("timed_out", "1x20 stale"),
        "16m",
    ),
    Case(
        "LagwardenQuorumNoLeader",
        Kind.DEAD,
        "LagwardenMonitorDown fires instead",
        no_controller("timed_out", "1x20"),
        "21m",
    ),
]


def shared(instances_of_all: int, *parts: Mapping[str, str]) -> dict[str, str]:
    """Return the series of instances that share a cluster: the values of each instance's part, by part."""
    found = {}
    for number, part in enumerate(parts):
        labels = {"job": "lagwarden", "instance": f"watch-{number}:10848"}
        found |= instances(labels) | {of("lagwarden_instances", labels): f"{instances_of_all}x200"}
        found |= {of("lagwarden_instance_info", labels, part=name): values for name, values in part.items()}
    return found


MISSING: Final = [
    Case(
        "LagwardenInstanceMissing",
        Kind.BEFORE,
        "one of three restarts for less than a quarter of an hour",
        shared(3, {"0/3": "1x80"}, {"1/3": "1x80"}, {"2/3": "1x9 _x70"}),
        "24m",
    ),
    Case(
        "LagwardenInstanceMissing",
        Kind.AFTER,
        "the third of three does not run",
        shared(3, {"0/3": "1x80"}, {"1/3": "1x80"}),
        "15m",
        [CLUSTER],
        Text(
            "1 of the instances of lagwarden for cluster north are missing",
            "The groups of an instance that does not run, or whose job.instance another one has, are not monitored."
            " There are 0/3 (watch-0:10848) 1/3 (watch-1:10848).",
        ),
    ),
    Case(
        "LagwardenInstanceMissing",
        Kind.AFTER,
        "two instances have the same part",
        shared(2, {"1/2": "1x80"}, {"1/2": "1x80"}),
        "15m",
        [CLUSTER],
    ),
    Case("LagwardenInstanceMissing", Kind.ODD, "a single instance has all groups", shared(1, {"0/1": "1x80"}), "30m"),
    Case(
        "LagwardenInstanceMissing",
        Kind.ODD,
        "a change from one instance to two, one after the other",
        shared(2, {"0/1": "1x19 _x60", "0/2": "_x22 1x60"}, {"1/2": "_x10 1x60"}),
        "30m",
    ),
    Case(
        "LagwardenInstanceMissing",
        Kind.VANISHED,
        "the third instance is back",
        shared(3, {"0/3": "1x120"}, {"1/3": "1x120"}, {"2/3": "_x40 1x80"}),
        "26m",
    ),
    Case(
        "LagwardenInstanceMissing",
        Kind.DEAD,
        "a restart of another instance resolves no alert",
        shared(3, {"0/3": "1x120"}, {"1/3": "1x60 stale _x4 1x50"}),
        "32m",
        [CLUSTER],
    ),
]

CASES: Final = [
    *MISSING,
    *DOWN,
    *STALE,
    *NOT_READY,
    *RESTARTS,
    *READER,
    *BATCH,
    *DESCRIPTORS,
    *MEMORY,
    *CHECKPOINT_VOLUME,
    *WEBHOOK,
    *DECODE,
    *EVALUATED,
    *UNKNOWN,
    *HELD,
    *PARTITION_DOWN,
    *QUORUM,
    *CLEANER,
    *DROPPED,
]
