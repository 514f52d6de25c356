"""The endpoints of the pages and their files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from starlette.responses import Response

from exporters.cluster.model import ClusterFacts
from exporters.http.rendered_responses import RenderedResponses, requested_name, root_of
from exporters.http.served_data import ServedData
from exporters.page.document import ASSETS, Page, asset
from exporters.page.group import group_page
from exporters.page.group_filter import GroupFilter
from exporters.page.overview import overview_page
from exporters.page.runbook import runbook_page
from exporters.page.topic import topic_page

if TYPE_CHECKING:
    from starlette.requests import Request


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
            return overview_page(
                published,
                self._served.status(),
                self._served.clock(),
                group_filter,
                search=self._served.search,
                trends=self._served.lag_samples.trends,
                facts=self._cluster_facts(),
            )

        return await self._page(request, ("overview", published, group_filter), page)

    async def group(self, request: Request) -> Response:
        """Respond with the page of one group."""
        name, published, root = requested_name(request), self._served.current(), root_of(request)

        def page() -> Page:
            detail = self._served.details(name) if published and name is not None else None
            samples = self._served.lag_samples.of_group(name) if name is not None else []
            other = self._served.other_instance(name) if name is not None else None
            return group_page(
                published,
                name or "",
                detail,
                self._served.clock(),
                root=root,
                samples=samples,
                other=other,
                links=self._served.links,
            )

        return await self._page(request, ("group page", published, name, root), page)

    async def topic(self, request: Request) -> Response:
        """Respond with the page of one topic."""
        name, published, root = requested_name(request) or "", self._served.current(), root_of(request)

        def page() -> Page:
            return topic_page(published, name, self._cluster_facts(), self._served.clock(), root=root)

        return await self._page(request, ("topic page", published, name, root), page)

    async def runbook(self, request: Request) -> Response:
        """Respond with the runbook of an alert."""
        name, root = request.path_params["name"], root_of(request)
        return await self._page(request, ("runbook", name, root), lambda: runbook_page(name, root=root))

    def _cluster_facts(self) -> ClusterFacts | None:
        """Return the result of the last poll of the cluster; None before the first."""
        cluster = self._served.cluster()
        return None if cluster is None else cluster.whole_facts

    async def _page(self, request: Request, key: Hashable, page: Callable[[], Page]) -> Response:
        """Respond with a page that shows the name of the cluster."""

        def named_page() -> Page:
            return dataclasses.replace(page(), cluster=self._served.links.cluster_name)

        return await self._responses.page(request, key, named_page)

    async def asset(self, request: Request) -> Response:
        """Respond with a file of the pages."""
        name = request.url.path.rpartition("/")[2]
        headers = {"cache-control": "max-age=60", "x-content-type-options": "nosniff"}
        return Response(asset(name), headers=headers, media_type=ASSETS[name])
