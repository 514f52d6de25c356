"""The endpoints of probes, metrics, API and events. No value is computed here."""

import dataclasses
import time
from collections.abc import Callable, Collection, Sequence

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from exporters.cluster.exposition import PublishedCluster, ServedMetrics
from exporters.cluster.model import ClusterFacts
from exporters.compatibility.burrow_responses import BurrowCluster
from exporters.group_query import GroupQuery, GroupQueryError
from exporters.group_search import MemberSearch, rows_where
from exporters.http.api import encode, group_json, groups_json, no_such_group, readiness_json, topic_groups_json
from exporters.http.event_stream.response import EventStream, RecentEvents
from exporters.http.openapi.document import openapi_json
from exporters.http.rendered_responses import (
    JSON,
    NO_STORE,
    RenderedResponses,
    StreamedResponse,
    accepts_gzip,
    preferred_format,
    requested_name,
    root_of,
)
from exporters.page.document import ASSETS, Page, asset
from exporters.page.group import group_page
from exporters.page.group_filter import GroupFilter
from exporters.page.lag_samples import LagSamples
from exporters.page.links import PageLinks
from exporters.page.overview import overview_page
from exporters.page.topic import runbook_page, topic_page
from exporters.readmodel import GroupDetail, MonitorStatus, OtherInstance
from exporters.text.exposition import PublishedSnapshot
from exporters.text.samples import PlainText
from exporters.text.self_metrics import render_self_metrics
from exporters.verdict_event import NO_EVENT_FILTERS


@dataclasses.dataclass(frozen=True, slots=True)
class ServedData:
    """The sources of all responses. Their functions run on the server's threads: they must be fast and thread-safe."""

    published: Callable[[], PublishedSnapshot | None]
    """Returns the published snapshot, None before the first one."""
    status: Callable[[], MonitorStatus]
    """Returns the health of the monitor."""
    details: Callable[[str], GroupDetail | None] = lambda _: None
    """Returns the members and history of a group, None if the group is not known."""
    cluster: Callable[[], PublishedCluster | None] = lambda: None
    """Returns the published facts about the cluster, None before the first poll."""
    search: MemberSearch | None = None
    """Finds the groups of a client or a host. None: members are hidden, and the filters refused."""
    events: RecentEvents = dataclasses.field(default_factory=RecentEvents)
    """The verdict changes that `/api/v1/events` streams."""
    burrow: BurrowCluster | None = None
    """The cluster of Burrow's API. None: its paths do not exist."""
    other_instance: Callable[[str], OtherInstance | None] = lambda _: None
    """Returns the instance that monitors a group which this one does not."""
    on_failure: Callable[[str, Exception], None] = lambda _path, _error: None
    """Receives the path and the exception of a response that failed with an internal error (500)."""
    clock: Callable[[], float] = time.time
    links: PageLinks = dataclasses.field(default_factory=PageLinks)
    """The links of the pages to other services."""
    lag_samples: LagSamples = dataclasses.field(default_factory=LagSamples)
    """The lags of the latest snapshots, for the charts of the pages."""

    def current(self) -> PublishedSnapshot | None:
        """Return the published snapshot, and record its lags for the charts of the pages."""
        published = self.published()
        if published is not None:
            self.lag_samples.record(published.snapshot)
        return published


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
        return StreamedResponse(parts, headers, form.value)

    async def openapi(self, request: Request) -> Response:
        """Respond with the OpenAPI document."""
        return await self._responses.json(request, "openapi", lambda: (openapi_json(), 200))

    async def events(self, request: Request) -> Response:
        """Respond with a stream of the verdict changes that match the query."""
        query = self._query(request, self._served.current(), NO_EVENT_FILTERS)
        last = request.headers.get("last-event-id")
        events = self._served.events
        position = events.after(last) if last else events.end()
        return EventStream(events, position, query, is_head=request.method == "HEAD")

    async def groups(self, request: Request) -> Response:
        """Respond with the groups of a query."""
        published = self._published()
        query = self._query(request, published)

        return await self._responses.json(
            request,
            ("groups", published, query),
            lambda: (groups_json(published, query, self._served.search, self._served.status()), 200),
        )

    async def topic_groups(self, request: Request) -> Response:
        """Respond with the groups of a query that read a topic; 404 if no group reads it and the cluster lacks it."""
        published, topic, facts = self._published(), request.path_params["topic"], self._served.cluster()
        query = self._query(request, published, ("topic",))

        def answer() -> tuple[bytes, int]:
            tables = [published.snapshot.topics, *(() if facts is None else (facts.facts.cluster_topics,))]
            if not any(len(rows_where(table, topic=topic)) for table in tables):
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
            query.check_verdicts(published.snapshot.verdict_groups.column("verdict").to_pylist())
        return query

    async def no_snapshot(self, _request: Request, _error: Exception) -> Response:
        """Respond that there is no snapshot yet."""
        status = self._served.status()
        answer = {"error": "no snapshot yet", "phase": status.phase, "reasons": status.not_ready_reasons}
        return Response(encode(answer), 503, {**NO_STORE, "retry-after": "5"}, JSON)


class PageEndpoints:
    """The endpoints for browsers."""

    def __init__(self, served: ServedData, responses: RenderedResponses) -> None:
        self._served = served
        self._responses = responses

    async def overview(self, request: Request) -> Response:
        """Respond with the page of all groups."""
        group_filter = GroupFilter.from_query(request.query_params)
        published = self._served.current()

        def page() -> Page:
            status, trends = self._served.status(), self._served.lag_samples.trends
            search, facts, now = self._served.search, self._cluster_facts(), self._served.clock()
            return overview_page(published, status, now, group_filter, search=search, trends=trends, facts=facts)

        return await self._responses.page(request, ("overview", published, group_filter), page)

    async def group(self, request: Request) -> Response:
        """Respond with the page of one group."""
        served, name, published, root = self._served, requested_name(request), self._served.current(), root_of(request)

        def page() -> Page:
            if name is None:
                return group_page(published, "", None, served.clock(), root=root, links=served.links)
            detail = served.details(name) if published else None
            samples, other, links = served.lag_samples.of_group(name), served.other_instance(name), served.links
            now = served.clock()
            return group_page(published, name, detail, now, root=root, samples=samples, other=other, links=links)

        return await self._responses.page(request, ("group page", published, name, root), page)

    async def topic(self, request: Request) -> Response:
        """Respond with the page of one topic."""
        name, published, root = requested_name(request) or "", self._served.current(), root_of(request)

        return await self._responses.page(
            request,
            ("topic page", published, name, root),
            lambda: topic_page(published, name, self._cluster_facts(), self._served.clock(), root=root),
        )

    async def runbook(self, request: Request) -> Response:
        """Respond with the runbook of an alert."""
        name, root = request.path_params["name"], root_of(request)
        return await self._responses.page(request, ("runbook", name, root), lambda: runbook_page(name, root=root))

    def _cluster_facts(self) -> ClusterFacts | None:
        """Return the result of the last poll of the cluster; None before the first."""
        cluster = self._served.cluster()
        return None if cluster is None else cluster.whole_facts

    async def asset(self, request: Request) -> Response:
        """Respond with a file of the pages."""
        name = request.url.path.rpartition("/")[2]
        headers = {"cache-control": "max-age=60", "x-content-type-options": "nosniff"}
        return Response(asset(name), headers=headers, media_type=ASSETS[name])
