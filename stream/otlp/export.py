"""Runs the export by OTLP if it is configured. Only then the packages of OpenTelemetry are imported."""

import contextlib
from collections.abc import Callable, Iterator

from exporters.cluster.exposition import PublishedCluster
from exporters.readmodel import MonitorStatus, OtlpStatus
from exporters.text.exposition import PublishedSnapshot
from stream.config.options import OtlpOptions
from stream.errors import imports_of_extra


@contextlib.contextmanager
def otlp_export(
    options: OtlpOptions,
    current: Callable[[], PublishedSnapshot | None],
    cluster: Callable[[], PublishedCluster | None],
    served_status: Callable[[], MonitorStatus],
) -> Iterator[Callable[[], OtlpStatus] | None]:
    """Export inside `with`, and yield the function that returns its counters; None without an endpoint.

    `served_status` returns the status as `/metrics` shows it. Raises Refusal without the packages of OpenTelemetry.
    """
    if options.endpoint is None:
        yield None
        return
    with imports_of_extra("otlp", "otlp.endpoint"):
        from stream.otlp.pusher import OtlpPusher  # noqa: PLC0415 -- an optional extra
    with OtlpPusher(options, current, cluster, served_status) as pusher:
        yield pusher.status
