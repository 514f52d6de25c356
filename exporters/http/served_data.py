"""What the HTTP server serves: functions that return the published data, called at each request."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from exporters.http.event_stream.recent_events import RecentEvents
from exporters.page.lag_samples import LagSamples
from exporters.page.links import PageLinks

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporters.cluster.exposition import PublishedCluster
    from exporters.group_search import MemberSearch
    from exporters.readmodel import GroupDetail, MonitorStatus, OtherInstance
    from exporters.text.exposition import PublishedSnapshot


@dataclasses.dataclass(frozen=True, slots=True)
class ServedData:
    """The sources of all responses. `exporters.http.server.HttpServer` describes them."""

    published: Callable[[], PublishedSnapshot | None]
    status: Callable[[], MonitorStatus]
    details: Callable[[str], GroupDetail | None] = lambda _: None
    cluster: Callable[[], PublishedCluster | None] = lambda: None
    search: MemberSearch | None = None
    events: RecentEvents = dataclasses.field(default_factory=RecentEvents)
    other_instance: Callable[[str], OtherInstance | None] = lambda _: None
    clock: Callable[[], float] = time.time
    links: PageLinks = dataclasses.field(default_factory=PageLinks)
    # The lags of the latest snapshots, for the charts of the pages.
    lag_samples: LagSamples = dataclasses.field(default_factory=LagSamples)

    def current(self) -> PublishedSnapshot | None:
        """Return the published snapshot, and record its lags for the charts of the pages."""
        published = self.published()
        if published is not None:
            self.lag_samples.record(published.snapshot)
        return published
