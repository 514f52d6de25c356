"""The operations of the HTTP API, one row each, from which the OpenAPI document is made."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from exporters.api_types import monitor
from exporters.api_types.cluster import ClusterResponse, TopicResponse
from exporters.catalogue.metric import Stability
from exporters.group_query import PARAMETERS, ParameterKind, QueryParameter
from exporters.http.cluster_api import NOT_POLLED
from exporters.http.rendered_responses import INTERNAL_ERROR, MEMBERS_HIDDEN
from exporters.verdict_event import EVENT_FILTERS


@dataclasses.dataclass(frozen=True, slots=True)
class ResponseModel:
    """A response: its description, the types of its JSON (none: any object), and an example.

    With `is_stream` the response is server-sent events with JSON of this type.
    """

    description: str
    types: tuple[type, ...]
    example: Mapping[str, Any] | None = None
    is_stream: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ApiOperation:
    """A GET operation: `path` as OpenAPI writes it, and `responses` by status code.

    The `required` parameters are in the path or the query. A stable operation keeps its path, its parameters and the
    fields of its responses; an experimental one may change in any release (docs/upgrading.md).
    """

    path: str
    name: str
    summary: str
    responses: Mapping[int, ResponseModel]
    required: tuple[QueryParameter, ...] = ()
    query: tuple[QueryParameter, ...] = ()
    headers: tuple[QueryParameter, ...] = ()
    needs_login: bool = True
    stability: Stability = Stability.STABLE


def _text(name: str, description: str, example: str) -> QueryParameter:
    return QueryParameter(name, ParameterKind.TEXT, description, example=example)


def _error(description: str, text: str, **more: str) -> ResponseModel:
    """Return a response with an error; `more` are fields beside its text."""
    return ResponseModel(description, (monitor.ErrorResponse,), {"error": text, **more})


_LIMITS: Final = {
    401: _error("The login is missing or wrong.", "login required"),
    421: _error(
        "The request names a host that is not one of this server (`http.allowed_hosts`).",
        "the host rebound.example is not one of this server; http.allowed_hosts (docs/http.md) adds it",
    ),
    500: _error("An internal error.", INTERNAL_ERROR, group="billing"),
}
"""The responses of every operation that needs a login."""
_SNAPSHOT: Final = {
    **_LIMITS,
    503: ResponseModel(
        "There is no snapshot yet, or too many requests are running.",
        (monitor.NoSnapshotResponse, monitor.ErrorResponse),
        {"error": "no snapshot yet", "phase": "catching up", "reasons": ["Reading what groups have committed so far."]},
    ),
}
_CLUSTER: Final = {
    **_LIMITS,
    503: _error("The cluster has not been polled, or too many requests are running.", NOT_POLLED),
}
_INVALID_QUERY: Final = _error("A parameter is not known or not valid.", "severity critcal: did you mean critical?")
_HIDDEN: Final = _error("Members are hidden, so groups cannot be filtered by client or host.", MEMBERS_HIDDEN)
_GROUP: Final = {
    200: ResponseModel("The group.", (monitor.GroupResponse,)),
    404: _error("There is no such group.", "no such group", group="biling"),
    **_SNAPSHOT,
}
_LAST_EVENT: Final = _text(
    "Last-Event-ID", "The `id` of the last event that the client got; EventSource sends it.", "0f5e1f6a-17"
)
_TOPIC_NAME: Final = _text("topic", "The name of the topic.", "orders")

OPERATIONS: Final = (
    ApiOperation(
        "/api/v1/groups",
        "groups",
        "Groups by filter, order and page; by default all, sorted by name.",
        {200: ResponseModel("The groups.", (monitor.GroupsResponse,)), 400: _INVALID_QUERY, 403: _HIDDEN, **_SNAPSHOT},
        query=PARAMETERS,
    ),
    ApiOperation(
        "/api/v1/group",
        "group",
        "One group with its partitions, topics, members, findings and history.",
        {**_GROUP, 400: _error("The name is missing.", "the name of the group is missing: /api/v1/group?name=NAME")},
        required=(_text("name", "The name of the group, any characters.", "billing"),),
    ),
    ApiOperation(
        "/api/v1/groups/{name}",
        "groupByPath",
        "The same by path. Use the other one for names that are `.` or `..`, and behind proxies that normalize paths.",
        _GROUP,
        required=(_text("name", "The name of the group, percent-encoded.", "billing"),),
    ),
    ApiOperation(
        "/api/v1/topics/{topic}/groups",
        "groupsOfTopic",
        "The groups that read a topic, with the numbers of this topic.",
        {
            200: ResponseModel("The groups.", (monitor.TopicGroupsResponse,)),
            400: _INVALID_QUERY,
            403: _HIDDEN,
            404: _error(
                "No group reads it, and the cluster is not known to have it.",
                "no group reads a topic of this name",
                topic="order",
            ),
            **_SNAPSHOT,
        },
        required=(_TOPIC_NAME,),
        query=tuple(parameter for parameter in PARAMETERS if parameter.name != "topic"),
    ),
    ApiOperation(
        "/api/v1/events",
        "events",
        "Changes of verdicts as server-sent events, from now on or after `Last-Event-ID`.",
        {
            200: ResponseModel(
                "The events, each with its JSON as `data`. A message of the type `missed` has the number of events that"
                " the stream does not have any more.",
                (monitor.VerdictCloudEvent,),
                is_stream=True,
            ),
            400: _INVALID_QUERY,
            **_LIMITS,
            503: _error("Too many event streams are open.", "too many concurrent event streams"),
        },
        query=tuple(parameter for parameter in PARAMETERS if parameter.name in EVENT_FILTERS),
        headers=(_LAST_EVENT,),
        stability=Stability.EXPERIMENTAL,
    ),
    ApiOperation(
        "/api/v1/cluster",
        "cluster",
        "Brokers, controller, totals, and the offsets topic.",
        {200: ResponseModel("The cluster.", (ClusterResponse,)), **_CLUSTER},
    ),
    ApiOperation(
        "/api/v1/topics/{topic}",
        "topic",
        "One topic with its settings and partitions.",
        {
            200: ResponseModel("The topic.", (TopicResponse,)),
            404: _error(
                "There is no such topic, or no right to describe it.",
                "no such topic, or no right to describe it",
                topic="order",
            ),
            **_CLUSTER,
        },
        required=(_TOPIC_NAME,),
    ),
    ApiOperation(
        "/readyz",
        "readiness",
        "Whether the monitor is ready, and the reasons if not. Without a login.",
        {
            200: ResponseModel("Ready.", (monitor.ReadinessResponse,)),
            503: ResponseModel("Not ready.", (monitor.ReadinessResponse,)),
        },
        needs_login=False,
    ),
    ApiOperation(
        "/api/v1/openapi.json",
        "openapi",
        "This document.",
        {
            200: ResponseModel("The document.", ()),
            **_LIMITS,
            503: _error("Too many requests are running.", "too many concurrent requests"),
        },
    ),
)
"""All operations of the API. `/livez`, `/metrics` and the pages are no JSON and not among them."""
