"""What the HTTP server serves: functions that return the published data, called at each request."""

import dataclasses
import time
from collections.abc import Callable

from exporters.cluster.exposition import PublishedCluster
from exporters.compatibility.burrow_responses import BurrowCluster
from exporters.group_search import MemberSearch
from exporters.http.event_stream.recent_events import RecentEvents
from exporters.page.lag_samples import LagSamples
from exporters.page.links import PageLinks
from exporters.readmodel import GroupDetail, MonitorStatus, OtherInstance
from exporters.text.exposition import PublishedSnapshot


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
