"""The export by OTLP as the service runs it, with the status of the service."""

import sys
from collections.abc import Iterable

import pytest

from sandbox.waiting import wait_until
from stream.config.options import OtlpOptions
from stream.errors import ExitCode, Refusal
from stream.otlp.export import otlp_export
from stream.service.status import ServiceStatus
from tests.exporters.otlp.decoded import Series, received, scraped
from tests.exporters.serving import get, serving
from tests.stream.otlp.otlp_receiver import OtlpReceiver


def exported_names(series: Iterable[Series]) -> set[str]:
    """Return the names of series, except those of the export itself, which the first export may not have yet."""
    return {name for name, _ in series if not name.startswith("lagwarden_otlp_")}


def test_nothing_is_sent_without_an_endpoint() -> None:
    """An export without an endpoint sends nothing and does not need the packages of OpenTelemetry."""
    status = ServiceStatus("0.1.0", 60.0)
    with otlp_export(OtlpOptions(), lambda: None, lambda: None, status.monitor_status) as status.otlp:
        assert status.otlp is None
        assert status.monitor_status().otlp is None


def test_the_monitor_exports_before_the_first_snapshot() -> None:
    """The export has the metrics that `/metrics` has without a snapshot: those of the process and of the monitor.

    The status has the number of points and no failures.
    """
    status = ServiceStatus("0.1.0", 60.0)
    with OtlpReceiver() as receiver, serving(status=status.monitor_status) as server:
        options = OtlpOptions(endpoint=receiver.url, interval=3600)
        with otlp_export(options, lambda: None, lambda: None, server.status) as status.otlp:
            wait_until(lambda: bool(status.monitor_status().otlp.exported_at), "an export")
        page = get(server, "/metrics")[1].decode()
        assert exported_names(received(receiver.requests)) == exported_names(scraped(page))
        shown = status.monitor_status().otlp
        assert shown.points
    assert not any(shown.failures.column("failures").to_pylist())


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra is an error before anything is started."""
    for name in [each for each in sys.modules if each.startswith("stream.otlp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.common.metrics_encoder", None)
    options = OtlpOptions(endpoint="http://collector:4318/v1/metrics")
    export = otlp_export(options, lambda: None, lambda: None, ServiceStatus("0.1.0", 60.0).monitor_status)
    with pytest.raises(Refusal, match=r"pip install 'lagwarden\[otlp\]'") as refused, export:
        pass
    assert refused.value.code is ExitCode.USAGE
