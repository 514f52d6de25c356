"""Requests that are generated from the OpenAPI document, valid and invalid, and their responses."""

from __future__ import annotations

import dataclasses
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from exporters.cluster.exposition import PublishedCluster
from exporters.http.event_stream.recent_events import RecentEvents
from exporters.http.routes import build_app
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.cluster_facts import facts
from tests.exporters.snapshots import NOON, detail, small_snapshot, status

PUBLISHED = PublishedSnapshot.build(small_snapshot())
CLUSTER = PublishedCluster.build(facts())
EVENTS = RecentEvents()
EVENTS.close()  # a stream would not end
APP = build_app(
    lambda: dataclasses.replace(PUBLISHED),
    status,
    details=lambda name: detail() if name == "billing" else None,
    cluster=lambda: CLUSTER,
    events=EVENTS,
    search=lambda _client, _host: {"billing", "plain"},
    clock=lambda: NOON / 1000 + 5,
)
schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", APP)


@schema.parametrize()
@settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_any_request_has_a_documented_response(case: schemathesis.Case[Any]) -> None:
    """No request is an internal error, and every response has a documented status code and form."""
    response = case.call()
    checks = [not_a_server_error, response_schema_conformance, status_code_conformance]
    case.validate_response(response, checks=checks)
