"""Requests that are generated from the OpenAPI document, valid and invalid, and their responses.

One server with data gets a few requests in each run. With `pytest -m long`, servers in every condition (without data,
with hidden members, as one of several instances, with a login) get many more.
"""

import dataclasses
import functools
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from exporters.cluster.exposition import PublishedCluster
from exporters.http.access.web_access import Credentials
from exporters.http.event_stream.response import RecentEvents
from exporters.http.openapi.operations import OPERATIONS, ApiOperation
from exporters.http.openapi.small_world import NOON, small_cluster
from exporters.readmodel import OtherInstance
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.serving import SMALL, app_of, details
from tests.exporters.snapshots import CATCHING_UP, HOSTILE_NAMES, snapshot, status

CLUSTER = PublishedCluster.build(small_cluster())
EVENTS = RecentEvents()
EVENTS.close()  # a stream would not end
FEW: Final = settings(
    max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
MANY: Final = settings(FEW, max_examples=60)
CHECKS: Final = [
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


EMPTY = PublishedSnapshot.build(snapshot())
HOSTILE = PublishedSnapshot.build(
    snapshot(groups=[{"group": name} for name in sorted(HOSTILE_NAMES)], topics=[{"group": "", "topic": "orders"}])
)
DATA: Final[dict[str, Any]] = {
    "published": lambda: dataclasses.replace(SMALL),
    "status": status,
    "details": details,
    "cluster": lambda: CLUSTER,
    "events": EVENTS,
    "search": lambda _client, _host: {"billing", "plain"},
    "clock": lambda: NOON / 1000 + 5,
}
CONDITIONS: Final[dict[str, dict[str, Any]]] = {
    "with data": {},
    "not ready": {"published": lambda: None, "status": lambda: status(**CATCHING_UP), "cluster": lambda: None},
    "no groups": {"published": lambda: EMPTY, "cluster": lambda: None},
    "hostile names": {"published": lambda: HOSTILE, "details": lambda _: None},
    "members hidden": {"search": None},
    "one of several instances": {
        "status": functools.partial(status, part="0/2", instances=2, siblings=("http://a:1", "http://b:1")),
        "other_instance": lambda _: OtherInstance("1/2", "http://b:1"),
    },
    "login required": {"credentials": lambda: Credentials(token=b"secret")},
}
"""Arguments of app_of by the condition of the server."""
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def codes_of(condition: str, operation: ApiOperation, examples: settings) -> set[int]:
    """Send requests for an operation, valid and invalid; check their responses and return their status codes."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app_of(**DATA))
    schema.app = app_of(**DATA | CONDITIONS[condition])
    described = schema[operation.path]["GET"]
    requests = described.as_strategy(generation_mode=GenerationMode.POSITIVE)
    if operation.query:
        requests |= described.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    codes = set[int]()

    @given(case=requests)
    @examples
    def every_request(case: schemathesis.Case[Any]) -> None:
        response = case.call()
        codes.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    every_request()
    return codes


@every_operation
def test_any_request_has_a_documented_response(operation: ApiOperation) -> None:
    """No request causes an internal error, and every response has a documented status code and form."""
    assert 500 not in codes_of("with data", operation, FEW)


@pytest.mark.long
@every_operation
@pytest.mark.parametrize("condition", CONDITIONS)
def test_any_request_has_a_documented_response_in_every_condition(condition: str, operation: ApiOperation) -> None:
    """The 503 of a server without data and the 401 of one that refuses are documented; no response is 500."""
    codes = codes_of(condition, operation, MANY)
    assert 500 not in codes
    if condition == "login required" and operation.needs_login:
        assert codes == {401}
    if condition == "not ready" and operation.path.startswith(("/api/v1/group", "/api/v1/topics", "/api/v1/cluster")):
        assert codes == {503}
