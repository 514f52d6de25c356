"""Exports all metrics at an interval, on a thread of its own: a slow receiver delays neither a tick nor a scrape.

Each export has the values of its moment. Nothing is kept for a receiver that is away: the next export has newer values.
The memory is bounded by the data points of one request.
"""

import collections
import contextlib
import socket
import threading
import time
from collections.abc import Callable
from importlib import metadata
from typing import Final, Self
from urllib.parse import urlsplit

import structlog
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import Metric, MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from exporters.catalogue.service import OTLP_FAILURES
from exporters.cluster.exposition import PublishedCluster, ServedMetrics
from exporters.otlp.data_points import metric_batches
from exporters.readmodel import MonitorStatus, OtlpStatus, rows_table
from exporters.text.exposition import PublishedSnapshot
from stream.config.options import OtlpOptions
from stream.otlp.request import send

_log = structlog.get_logger(__name__)
FAILURES: Final = (
    "client_error", "headers", "internal", "redirect", "rejected", "server_error", "throttled", "timeout", "tls",
    "too_large", "unauthorized", "unreachable",
)  # fmt: skip
"""The reasons of failed requests."""
MOST_POINTS: Final = 2_000
"""Data points of one request: about 500 kB of protobuf, and some megabytes while it is made."""
_STOP_SECONDS: Final = 2.0


class OtlpPusher:
    """Exports inside `with pusher:`, first at once. The counters may be read from any thread."""

    def __init__(
        self,
        options: OtlpOptions,
        current: Callable[[], PublishedSnapshot | None],
        cluster: Callable[[], PublishedCluster | None],
        served_status: Callable[[], MonitorStatus],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Export to the endpoint of `options`. The functions are called at the start of each export, on its thread."""
        self._current = current
        self._cluster = cluster
        self._served_status = served_status
        self._options = options
        self._clock = clock
        version = metadata.version("lagwarden")
        # Prometheus makes the labels `job` and `instance` from `service.name` and `service.instance.id`.
        defaults = {"service.name": "lagwarden", "service.version": version}
        with contextlib.suppress(OSError):
            defaults["service.instance.id"] = socket.gethostname()
        self._resource = Resource({**defaults, **options.resource_attributes})
        self._scope = InstrumentationScope("lagwarden", version)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp", daemon=True)
        self._lock = threading.Lock()
        self._failures = collections.Counter(dict.fromkeys(FAILURES, 0))
        self._points = 0
        self._exported_at: float | None = None
        self._logged: str | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; a running request is not waited for to its end."""
        self._stopping.set()
        self._thread.join(_STOP_SECONDS)

    def status(self) -> OtlpStatus:
        """Return the counters as of now; the failures have a row for all of FAILURES."""
        with self._lock:
            failures = rows_table(sorted(self._failures.items()), OTLP_FAILURES.schema)
        return OtlpStatus(self._points, self._exported_at, failures)

    def export(self) -> bool:
        """Send all metrics as of now; return whether all data points were accepted.

        After a failed request the rest is not sent, because the receiver is away. Never raises.
        """
        try:
            published = self._current()
            served = ServedMetrics.build(published, self._cluster(), self._served_status())
            snapshot = None if published is None else published.snapshot
            is_complete = True
            for batch in metric_batches(served, snapshot, self._clock(), MOST_POINTS):
                reason = self._send(batch)
                is_complete = is_complete and reason is None
                if reason not in {None, "rejected"} or self._stopping.is_set():
                    return False
        except Exception as error:  # noqa: BLE001 -- an error here must not end the exports
            self._count_failure("internal", f"{type(error).__name__}: {error}")
            return False
        if is_complete:
            self._exported_at = self._clock()
            if self._logged is not None:
                self._logged = None
                _log.info("otlp export working again", to=self._address)
        return is_complete

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            self.export()
            # An export that takes longer than the interval is followed by the next one at once.
            self._stopping.wait(max(self._options.interval - (time.monotonic() - began), 0.0))

    def _send(self, batch: list[Metric]) -> str | None:
        """Send some data points; return the reason of a failure, None for a success."""
        points = sum(len(metric.data.data_points) for metric in batch)
        scopes = [ScopeMetrics(self._scope, batch, "")]
        message = encode_metrics(MetricsData([ResourceMetrics(self._resource, scopes, "")])).SerializeToString()
        outcome = send(self._options, message, self._stopping)
        if outcome.reason not in {None, "rejected"} and self._stopping.is_set():
            return "stopped"
        if outcome.reason is not None:
            self._count_failure(outcome.reason, outcome.cause)
        if outcome.reason in {None, "rejected"}:
            self._points += points - outcome.rejected_points
        return outcome.reason

    def _count_failure(self, reason: str, cause: str) -> None:
        """Count a failure; the same reason is logged once until an export succeeds."""
        with self._lock:
            self._failures[reason] += 1
        if self._logged != reason:
            self._logged = reason
            _log.warning("otlp export failing", to=self._address, reason=reason, cause=cause)

    @property
    def _address(self) -> str:
        # Without path and query, which may have a secret.
        url = urlsplit(str(self._options.endpoint))
        return f"{url.scheme}://{url.hostname}" + (f":{url.port}" if url.port else "")
