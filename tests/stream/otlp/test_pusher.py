"""Exports to a real HTTP server that decodes the protobuf."""

from typing import Any

import pytest
import structlog
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from exporters.cluster.exposition import PublishedCluster
from exporters.http.openapi.small_world import NOON, small_cluster
from exporters.text.exposition import PublishedSnapshot
from sandbox.ports import free_port
from sandbox.waiting import wait_until
from stream.config.options import OtlpOptions
from stream.otlp.pusher import FAILURES, OtlpPusher
from tests.exporters.otlp.decoded import received, scraped
from tests.exporters.serving import SMALL, get, serving
from tests.exporters.snapshots import status
from tests.stream.otlp.otlp_receiver import OtlpReceiver

CLUSTER = PublishedCluster.build(small_cluster())


def pusher(url: str, **options: Any) -> OtlpPusher:
    chosen = OtlpOptions(endpoint=url, **options)
    return OtlpPusher(chosen, lambda: SMALL, lambda: CLUSTER, status, clock=lambda: NOON / 1000)


def failed(own: OtlpPusher) -> dict[str, int]:
    counts = {row["reason"]: row["failures"] for row in own.status().failures.to_pylist()}
    assert set(counts) == set(FAILURES)
    return {reason: count for reason, count in counts.items() if count}


def test_the_receiver_gets_every_series_of_a_scrape() -> None:
    """The values are those of `/metrics` at the same time, except values of the process, which change in between."""
    with OtlpReceiver() as receiver, serving(SMALL, cluster=lambda: CLUSTER) as server:
        own = OtlpPusher(OtlpOptions(endpoint=receiver.url), lambda: SMALL, lambda: CLUSTER, server.status)
        assert own.export()
        expected = scraped(get(server, "/metrics")[1].decode())
        found = received(receiver.requests)
        assert found.keys() == expected.keys()
        changing = {"lagwarden_http_connections", "lagwarden_snapshot_age_seconds"}
        series = {each for each in expected if each[0].startswith("lagwarden_") and each[0] not in changing}
        assert {each: found[each] for each in series} == {each: expected[each] for each in series}
        assert own.status().points == sum(1 for name, _ in found if not name.startswith("lagwarden_expiry_error_")) + 1
        assert receiver.headers[0]["content-type"] == "application/x-protobuf"
    assert not failed(own)


def test_variables_of_opentelemetry_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables are for an application of the same environment, whose token must not reach another receiver."""
    for name, value in {
        "EXPORTER_OTLP_HEADERS": "authorization=Bearer other",
        "EXPORTER_OTLP_METRICS_HEADERS": "x-tenant=other",
        "EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:9/v1/metrics",
        "EXPORTER_OTLP_COMPRESSION": "none",
        "EXPORTER_OTLP_TIMEOUT": "0.000001",
        "EXPORTER_OTLP_CERTIFICATE": "/no/such.pem",
        "EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE": "/no/such.pem",
        "RESOURCE_ATTRIBUTES": "team=other",
        "SERVICE_NAME": "other",
        "SDK_DISABLED": "true",
        "METRICS_EXPORTER": "none",
    }.items():
        monkeypatch.setenv(f"OTEL_{name}", value)
    with OtlpReceiver() as receiver:
        own = pusher(receiver.url)
        assert own.export()
        assert {"authorization", "x-tenant"}.isdisjoint(receiver.headers[0])
        assert receiver.headers[0]["content-encoding"] == "gzip"
        (resource,) = ExportMetricsServiceRequest.FromString(receiver.requests[0]).resource_metrics
    assert "other" not in {each.value.string_value for each in resource.resource.attributes}


def test_a_receiver_that_is_available_again_gets_the_present_values() -> None:
    """A failure is logged once and counted each time; the end of the failures is logged once."""
    port = free_port()
    with structlog.testing.capture_logs() as logs:
        own = pusher(f"http://127.0.0.1:{port}/v1/metrics?token=secret", timeout=0.3)
        assert not own.export()
        assert not own.export()
        assert failed(own) == {"unreachable": 2}
        assert own.status().exported_at is None
        with OtlpReceiver(port=port) as receiver:
            assert own.export()
            assert received(receiver.requests)
            assert own.export()
    assert [each["event"] for each in logs] == ["otlp export failing", "otlp export working again"]
    assert "secret" not in str(logs)


def test_rejected_data_points_do_not_end_the_export() -> None:
    """Rejected data points are not counted as sent, and the export is not complete."""
    partial = ExportMetricsPartialSuccess(rejected_data_points=2, error_message="too old")
    body = ExportMetricsServiceResponse(partial_success=partial).SerializeToString()
    with OtlpReceiver(lambda _: (200, {}, body)) as receiver:
        own = pusher(receiver.url)
        assert not own.export()
        sent = sum(len(receiver.requests) * [2])
        assert failed(own) == {"rejected": len(receiver.requests)}
    with OtlpReceiver() as receiver:
        other = pusher(receiver.url)
        assert other.export()
    assert own.status().points == other.status().points - sent
    assert own.status().exported_at is None


def test_an_error_of_the_source_is_counted_and_does_not_end_the_exports() -> None:
    """An error of the source is counted as an internal error, and the next export is complete."""
    calls = []

    def current() -> PublishedSnapshot | None:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("no tables")
        return SMALL

    with OtlpReceiver() as receiver:
        own = OtlpPusher(OtlpOptions(endpoint=receiver.url, interval=1), current, lambda: None, status)
        with own:
            wait_until(lambda: bool(own.status().exported_at), "a complete export")
    assert failed(own) == {"internal": 1}
