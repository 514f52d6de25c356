"""The monitor's own metrics."""

from typing import Any

import pytest

from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.http.openapi.small_world import NOON
from exporters.readmodel import Histogram, TerminationCounts
from exporters.text.exposition import ExpositionFormat
from exporters.text.self_metrics import render_self_metrics
from tests.exporters.exposition_text import named
from tests.exporters.exposition_text import samples as parsed_samples
from tests.exporters.snapshots import CATCHING_UP, CONNECTING, status

NOW = NOON / 1000
both_formats = pytest.mark.parametrize("form", ExpositionFormat, ids=lambda form: form.name.lower())


def samples(
    changes: dict[str, Any], *, form: ExpositionFormat = ExpositionFormat.TEXT, now: float = NOW
) -> dict[str, float]:
    """Return the parsed samples, with the labels after the name."""
    text = render_self_metrics(status(**changes), now, form).decode()
    return {
        sample.name + "".join(f"/{value}" for value in sample.labels.values()): sample.value
        for sample in parsed_samples(text, form)
    }


@both_formats
@pytest.mark.parametrize("changes", [{}, CATCHING_UP, CONNECTING], ids=["running", "catching up", "connecting"])
def test_the_text_can_be_parsed_in_every_phase(changes: dict[str, Any], form: ExpositionFormat) -> None:
    """The text can be parsed with unknown values, too; no metric about groups is in the text."""
    read = samples(changes, form=form)
    assert read["lagwarden_ready"] == (1 if not changes else 0)
    assert "process_start_time_seconds" in read
    assert not {metric.name for metric in SNAPSHOT_METRICS} & {name.partition("/")[0] for name in read}


@both_formats
def test_the_name_of_the_cluster_is_a_label_of_every_sample(form: ExpositionFormat) -> None:
    """Samples of histograms and of the process have the label, too; without a name no sample has the label."""
    histogram = Histogram((1.0, 5.0), (2, 3), 4, 9.0)

    def labels_of(name: str | None) -> dict[str, set[str | None]]:
        shown = status(cluster_name=name, tick={"terminations": TerminationCounts(errors=histogram)})
        text = render_self_metrics(shown, NOW, form).decode()
        found: dict[str, set[str | None]] = {}
        for sample in parsed_samples(text, form):
            found.setdefault(sample.name, set()).add(sample.labels.get("cluster"))
        return found

    named, unnamed = labels_of('eu "1"'), labels_of(None)
    assert named == {name: {'eu "1"'} for name in unnamed}
    assert unnamed == {name: {None} for name in unnamed}
    kinds = ("lagwarden_ready", "lagwarden_records_read_total", "process_start_time_seconds", "python_info")
    assert named.keys() >= {*kinds, "lagwarden_expiry_error_seconds_bucket"}


EXPIRY_ERRORS = {"0.0": 1, "60.0": 11, "600.0": 39, "+Inf": 40}


def test_a_running_monitor_has_all_values() -> None:
    """The samples are the values of the status."""
    read = {name: value for name, value in samples({}).items() if name.startswith("lagwarden_")}
    infos = "build_info/0.1.0 cluster_info/MkU3OEVBNTcwNTJENDM2Qk instance_info/0/1 phase_info/running"
    assert read == {
        **{f"lagwarden_{name}": 1 for name in (*infos.split(), "offsets_retention_info/broker")},
        **named("*", instances=1, ready=1, kafka_reachable=1, series=21, catch_up_ratio=1),
        **named("snapshot_*_seconds", timestamp=NOW, age=0),
        **named("offsets_retention_*", seconds=604_800, check_interval_seconds=600),
        "lagwarden_group_deaths_total/expired": 4,
        "lagwarden_group_deaths_total/topic deleted": 1,
        **named("verdict_changes_total/*", ok=0, stopped=2),
        "lagwarden_unreadable_tails/not_authorized": 3,
        **named("expiry_checks_total/*", early=2, kept=40),
        **{f"lagwarden_expiry_error_seconds_bucket/{bound}": n for bound, n in EXPIRY_ERRORS.items()},
        **named("expiry_error_seconds_*", sum=4_321.5, count=40),
        **named("*_total", batches=360, resyncs=0, state_repairs=1),
        **named("last_batch_*_seconds", duration=0.25, timestamp=NOW - 2.5),
        **named("query_*", input_rows=6, state_rows=64, state_bytes=2_400_000),
        **named("query_*_rows_per_second", input=1.2, processed=24.5),
        **named("query_phase_duration_seconds/*", add_batch=0.2, wal_commit=0.01),
        **named("series_*/lagwarden_x", over_budget=70, dropped_total=700),
        **named("records_read_total/*/tracked", group_metadata=17, offset_commit=2**53 + 1),
        "lagwarden_decode_errors_total/offset_commit/9/unknown version": 3,
        "lagwarden_offsets_skipped_total/truncated": 12,
        **named(
            "offsets_partition_*/0", position=90, high_watermark=100, last_stable_offset=95, distance=5, stable_gap=5
        ),
        **named("offsets_partition_*/1", position=7),
        **named("offsets_partition_*/0", stable_gap_since_timestamp_seconds=NOW - 4),
        "lagwarden_groups_not_evaluated": 1,
        **named("internal_errors_total/*", answer=0, group=2),
        "lagwarden_http_connections": 3,
        "lagwarden_http_refusals_total/slow_reader": 4,
        "lagwarden_file_failures_total/heartbeat": 5,
        **named("*/jvm", open_descriptors=714, descriptor_limit=4096, processes=1, memory_bytes=900_000_000),
        **named("*/jvm", cpu_seconds_total=61.25),
        **named("*/python_worker", processes=0, cpu_seconds_total=2.5),
        "lagwarden_memory_limit_bytes": 2_000_000_000,
        **named("jvm_heap_*_bytes", used=300_000_000, max=512_000_000),
        **named("*", executors=1, executors_expected=2),
        **named(
            "checkpoint_*", bytes=12_345_678, files=410, volume_free_bytes=4_000_000_000, volume_bytes=5_000_000_000
        ),
        "lagwarden_state_snapshot_timestamp_seconds": NOW - 300,
        **named("webhook_*", events_sent_total=12, events_queued=3, oldest_event_timestamp_seconds=NOW - 30),
        "lagwarden_webhook_failures_total/http://a/timeout": 6,
        "lagwarden_webhook_events_dropped_total/queue_full": 0,
        **named("otlp_*", points_sent_total=140_000, export_timestamp_seconds=NOW - 20),
        "lagwarden_otlp_failures_total/tls": 8,
        'lagwarden_offsets_partition_held_back_info/0/4001/pay\n"1"/': 1,
        "lagwarden_offsets_partition_held_back_info/7///true": 1,
        "lagwarden_offsets_partition_hidden_unread/7": 12,
        **named("offsets_partition_*/4/no_leader", unavailable_since_timestamp_seconds=NOW - 45, hidden_groups=12),
        "lagwarden_offsets_partition_hidden_group_info/4/audit": 1,
        'lagwarden_offsets_partition_hidden_group_info/4/a"b\n': 1,
    }


def test_unknown_is_absent() -> None:
    """A monitor that has never reached Kafka has no samples for unknown values."""
    read = {name for name in samples(CONNECTING) if name.startswith("lagwarden_")}
    assert read == {
        "lagwarden_build_info/0.1.0",
        "lagwarden_instance_info/0/1",
        "lagwarden_instances",
        "lagwarden_phase_info/connecting",
        "lagwarden_ready",
        "lagwarden_kafka_reachable",
        "lagwarden_series",
        "lagwarden_batches_total",
        "lagwarden_groups_not_evaluated",
        "lagwarden_resyncs_total",
        "lagwarden_state_repairs_total",
        "lagwarden_offsets_retention_info/unknown",
    }


def test_the_age_is_that_at_the_scrape_and_no_number_is_odd() -> None:
    """The age grows between snapshots, and is never negative. NaN and infinity have no sample."""
    for later, age in ((0.0, 0.0), (12.5, 12.5), (-3.0, 0.0)):
        assert samples({}, now=NOW + later)["lagwarden_snapshot_age_seconds"] == age
    for wrong in (float("nan"), float("inf")):
        read = samples({**CATCHING_UP, "catch_up": {"rate": wrong}})
        assert "lagwarden_catch_up_records_per_second" not in read


def test_names_select_metrics() -> None:
    """Names of samples or families select metrics of the monitor and of the process."""
    names = {"lagwarden_ready", "lagwarden_batches", "process_open_fds"}
    text = render_self_metrics(status(), NOW, ExpositionFormat.OPENMETRICS, names).decode()
    read = {sample.name for sample in parsed_samples(text, ExpositionFormat.OPENMETRICS)}
    assert read == {"lagwarden_ready", "lagwarden_batches_total", "process_open_fds"}


@both_formats
def test_histograms_follow_the_formats(form: ExpositionFormat) -> None:
    """The last bucket is +Inf with all observations; OpenMetrics has no sum and count with negative bounds."""
    for histogram, openmetrics_sums in (
        (Histogram((0.5, 60), (0, 0), 0, 0.0), True),
        (Histogram((), (), 3, 1.0), True),
        (Histogram((-60.0, 0.0, 60.0), (1, 2, 2), 3, -50.5), False),
    ):
        read = samples({"tick": {"terminations": TerminationCounts(errors=histogram)}}, form=form)
        name = "lagwarden_expiry_error_seconds"
        found = {each.removeprefix(name): read[each] for each in read if "expiry_error" in each}
        buckets = zip((*map(float, histogram.bounds), "+Inf"), (*histogram.cumulative, histogram.count), strict=True)
        wanted = {f"_bucket/{bound}": count for bound, count in buckets}
        if form is ExpositionFormat.TEXT or openmetrics_sums:
            wanted |= {"_sum": histogram.total, "_count": histogram.count}
        assert found == wanted


def test_the_text_is_exact() -> None:
    """Labels from the status are escaped, and a count above 2^53 is written with all digits."""
    assert samples({"phase": 'a"b\\c\nd'})['lagwarden_phase_info/a"b\\c\nd'] == 1
    assert b'tracking="tracked"} 9007199254740993\n' in render_self_metrics(status(), NOW, ExpositionFormat.TEXT)
