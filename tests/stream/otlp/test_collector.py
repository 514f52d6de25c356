"""Exports to a real OpenTelemetry collector, which is built from its Go modules the first time."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporters.cluster.exposition import PublishedCluster
from exporters.http.openapi.small_world import small_cluster
from sandbox.collector.program import build, configuration
from sandbox.ports import free_port
from sandbox.programs.go_program import GoProgramMissingError
from sandbox.waiting import wait_until
from stream.config.options import OtlpOptions
from stream.otlp.pusher import OtlpPusher
from tests.exporters.otlp.decoded import scraped
from tests.exporters.serving import SMALL, get, serving

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


@contextlib.contextmanager
def collector(folder: Path) -> Iterator[tuple[int, Path]]:
    """Run the collector; yield its port and its file. Skip without Go."""
    try:
        path = build()
    except GoProgramMissingError as error:
        pytest.skip(str(error))
    port, received = free_port(), folder / "received.json"
    config = folder / "collector.yaml"
    config.write_text(configuration(port, received))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([path, "--config", config], stdout=log, stderr=log)
    try:
        wait_until(lambda: b"Everything is ready" in (folder / "log").read_bytes(), "the collector")
        yield port, received
    finally:
        process.terminate()
        process.wait(30)


def points(received: Path) -> dict[Any, float]:
    """Return the series of the collector's file, histograms without their buckets."""
    found: dict[Any, float] = {}
    for line in received.read_text().splitlines():
        for resource in json.loads(line)["resourceMetrics"]:
            for metric in (each for scope in resource["scopeMetrics"] for each in scope["metrics"]):
                data = metric.get("gauge") or metric.get("sum") or {"dataPoints": []}
                for point in data["dataPoints"]:
                    labels = {each["key"]: each["value"]["stringValue"] for each in point.get("attributes", [])}
                    found[metric["name"], frozenset(labels.items())] = float(point["asDouble"])
    return found


def test_a_collector_receives_every_series_of_a_scrape(tmp_path: Path) -> None:
    """All requests are accepted without a rejected point, and the values are those of `/metrics`."""
    cluster = PublishedCluster.build(small_cluster())
    with serving(SMALL, cluster=lambda: cluster) as server, collector(tmp_path) as (port, file):
        options = OtlpOptions(endpoint=f"http://127.0.0.1:{port}/v1/metrics")
        pusher = OtlpPusher(options, lambda: SMALL, lambda: cluster, server.status)
        assert pusher.export(), pusher.status()
        expected = scraped(get(server, "/metrics")[1].decode())
    # The collector writes the rest of its file when it stops.
    found = points(file)
    histogram = "lagwarden_expiry_error_seconds"
    assert found.keys() == {each for each in expected if not each[0].startswith(histogram)}
    changing = {"lagwarden_http_connections", "lagwarden_snapshot_age_seconds"}
    own = {each for each in found if each[0].startswith("lagwarden_") and each[0] not in changing}
    assert {each: found[each] for each in own} == {each: expected[each] for each in own}
    assert f'"{histogram}"' in file.read_text()
