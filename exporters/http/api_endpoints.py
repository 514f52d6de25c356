"""The endpoints of probes, metrics, API and events. No value is computed here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from starlette.responses import PlainTextResponse, Response

from exporters.cluster.exposition import ServedMetrics
from exporters.group_query import GroupQuery, GroupQueryError
from exporters.group_search import has_topic, known_verdicts
from exporters.http.api import encode, group_json, groups_json, no_such_group, readiness_json, topic_groups_json
from exporters.http.event_stream.response import EventStream
from exporters.http.negotiation import accepts_gzip, preferred_format
from exporters.http.openapi.document import openapi_json
from exporters.http.rendered_responses import JSON, NO_STORE, RESPONSE_SECONDS, RenderedResponses, requested_name
from exporters.http.served_data import ServedData
from exporters.http.streamed_response import StreamedResponse
from exporters.text.compressed_text import PlainText
from exporters.text.exposition import PublishedSnapshot
from exporters.text.self_metrics import render_self_metrics
from exporters.verdict_event import NO_EVENT_FILTERS

if TYPE_CHECKING:
    from starlette.requests import Request


class NoSnapshotError(Exception):
    """There is no snapshot yet."""


class ApiEndpoints:
    """The endpoints for programs: probes, Prometheus, and clients of the API."""

    def __init__(self, served: ServedData, responses: RenderedResponses) -> None:
        self._served = served
        self._responses = responses

    async def livez(self, _request: Request) -> Response:
        """Respond that the process is alive. Other failures recover or end the process: a restart would not help."""
        return PlainTextResponse("alive\n", headers=NO_STORE)

    async def readyz(self, _request: Request) -> Response:
        """Respond whether the monitor is ready, 200 or 503, with the reasons."""
        status = self._served.status()
        return Response(readiness_json(status), 200 if status.ready else 503, NO_STORE, JSON)

    async def metrics(self, request: Request) -> Response:
        """Respond with the metrics in the format and with the names that the request asks for."""
        form = preferred_format(request.headers.get("accept", ""))
        names = frozenset(request.query_params.getlist("name[]"))
        served = ServedMetrics.build(self._served.current(), self._served.cluster(), self._served.status())
        exposition = served.exposition
        live = render_self_metrics(served.status, self._served.clock(), form, names)
        headers = {**NO_STORE, "vary": "Accept, Accept-Encoding"}
        parts: Sequence[PlainText]
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            parts = exposition.gzipped(form, live, names)
            headers["content-encoding"] = "gzip"
        else:
            parts = [*exposition.plain(form, names), live]
        return StreamedResponse(parts, headers=headers, media_type=form.value, seconds=RESPONSE_SECONDS)

    async def openapi(self, request: Request) -> Response:
        """Respond with the OpenAPI document."""
        return await self._responses.json(request, "openapi", lambda: (openapi_json(), 200))

    async def events(self, request: Request) -> Response:
        """Respond with a stream of the verdict changes that match the query."""
        query = self._query(request, self._served.current(), NO_EVENT_FILTERS)
        last = request.headers.get("last-event-id")
        events = self._served.events
        return EventStream(events, events.after(last) if last else events.end(), query)

    async def groups(self, request: Request) -> Response:
        """Respond with the groups of a query."""
        published = self._published()
        query = self._query(request, published)

        def answer() -> tuple[bytes, int]:
            return groups_json(published, query, self._served.search, self._served.status()), 200

        return await self._responses.json(request, ("groups", published, query), answer)

    async def topic_groups(self, request: Request) -> Response:
        """Respond with the groups of a query that read a topic; 404 if no group reads it and the cluster lacks it."""
        published, topic, facts = self._published(), request.path_params["topic"], self._served.cluster()
        query = self._query(request, published, ("topic",))

        def answer() -> tuple[bytes, int]:
            known = facts is not None and pc.any(pc.equal(facts.facts.cluster_topics["topic"], topic)).as_py()
            if not known and not has_topic(published.snapshot, topic):
                return encode({"error": "no group reads a topic of this name", "topic": topic}), 404
            return topic_groups_json(published.snapshot, topic, query, self._served.search), 200

        return await self._responses.json(request, ("topic groups", published, topic, query), answer)

    async def group(self, request: Request) -> Response:
        """Respond with one group and its detail."""
        published, group = self._published(), requested_name(request)
        if group is None:
            raise GroupQueryError("the name of the group is missing: /api/v1/group?name=NAME")

        def answer() -> tuple[bytes, int]:
            found = group_json(published.snapshot, group, self._served.details(group))
            return (no_such_group(group, self._served.other_instance(group)), 404) if found is None else (found, 200)

        return await self._responses.json(request, ("group", published, group), answer)

    def _published(self) -> PublishedSnapshot:
        """Return the published snapshot. Raises NoSnapshotError."""
        published = self._served.current()
        if published is None:
            raise NoSnapshotError
        return published

    @staticmethod
    def _query(request: Request, published: PublishedSnapshot | None, without: Collection[str] = ()) -> GroupQuery:
        """Return the query of a request. Raises GroupQueryError."""
        query = GroupQuery.parse(request.query_params.multi_items(), without=without)
        if published is not None:
            query.check_verdicts(known_verdicts(published.snapshot))
        return query

    async def no_snapshot(self, _request: Request, _error: Exception) -> Response:
        """Respond that there is no snapshot yet."""
        status = self._served.status()
        answer = {"error": "no snapshot yet", "phase": status.phase, "reasons": status.not_ready_reasons}
        return Response(encode(answer), 503, {**NO_STORE, "retry-after": "5"}, JSON)
