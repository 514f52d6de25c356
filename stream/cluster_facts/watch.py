"""The watch over the cluster beside the groups: a poll at its own slow rhythm, rendered and swapped in.

It has a thread and connections of its own, because a broker answers the requests of a connection one after the other:
a slow answer about disks or settings must never hold up a tick. Nothing here raises. A poll that no broker answers
leaves what was seen before; after the third in a row that is taken away, for a leader or a replica of minutes ago is no
fact any more.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Self

import structlog

from exporters.cluster.exposition import PublishedCluster
from exporters.selection.series import EVERYTHING, SeriesSelection
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError
from stream.cluster_facts.poll import ClusterPoll
from stream.config import kafka_login as security
from stream.config.metric_selection import selection_from_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporters.cluster.model import ClusterFacts
    from exporters.text.exposition import PublishedSnapshot
    from stream.config.options import Config

_log = structlog.get_logger(__name__)
_SOON_SECONDS: Final = 10.0
"""The rhythm before there are groups whose topics could be asked about, and after a poll that failed."""
_STOP_SECONDS: Final = 2.0
_MOST_FAILED: Final = 3

_RIGHTS: Final = {
    "controller": "Describe on the cluster",
    "offsets topic size": "Describe on the cluster",
    "broker setting": "DescribeConfigs on the cluster",
    "topic setting": "DescribeConfigs on topic *",
    "topic": "Describe on topic *",
}
"""The right that each fact needs."""


class ClusterWatch:
    """Polls on a thread of its own while it is entered (`with watch:`); `current` may be called from any thread.

    `interval` in seconds, 0 for never. `published` gives the groups' snapshot, whose topics are asked about.
    """

    def __init__(
        self,
        connect: Callable[[], Cluster],
        published: Callable[[], PublishedSnapshot | None],
        interval: float,
        most_partitions_shown: int,
        choice: SeriesSelection = EVERYTHING,
    ) -> None:
        self._connect = connect
        self._published = published
        self._interval = interval
        self._most_shown = most_partitions_shown
        self._choice = choice
        self._stopping = threading.Event()
        self._current: PublishedCluster | None = None
        self._failed = 0
        self._denied: set[str] = set()
        # A daemon: a broker that does not answer cannot keep the process alive.
        self._thread = threading.Thread(target=self._run, name="cluster-watch", daemon=True)

    @classmethod
    def of(cls, config: Config, published: Callable[[], PublishedSnapshot | None]) -> Self:
        """Make the watch that the configuration wants."""
        kafka = config.kafka

        def connect() -> Cluster:
            options = security.client_options(kafka)
            return Cluster(kafka.bootstrap_servers, options, request_timeout=kafka.request_timeout)

        asked = config.cluster
        return cls(connect, published, asked.interval, asked.partitions_shown, selection_from_options(config.metrics))

    def current(self) -> PublishedCluster | None:
        """Give what the last poll saw; None before the first, after three that failed, and where there are none."""
        return self._current

    def __enter__(self) -> Self:
        """Start, if it is to poll at all."""
        if self._interval:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; a poll that waits for a broker is left to end by itself."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            with self._connect() as cluster:
                poll = ClusterPoll(cluster, self._most_shown)
                while not self._stopping.is_set():
                    self._once(poll)
                    self._stopping.wait(self._pause())
        except Exception as error:  # noqa: BLE001 -- what is wrong with the connection is said by the job, louder
            _log.warning("the cluster is not watched", cause=str(error))

    def _once(self, poll: ClusterPoll) -> None:
        try:
            published = self._published()
            facts = poll.look(published.snapshot if published else None, time.time())
            self._current = PublishedCluster.build(facts, self._choice)
        except ClusterError as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 -- one answer that nobody foresaw must not end the watch
            self._fail(f"{type(error).__name__}: {error}")
        else:
            self._failed = 0
            self._say_denied(facts)

    def _fail(self, cause: str) -> None:
        self._failed += 1
        if self._failed == _MOST_FAILED:
            self._current = None
            _log.warning("the facts about the cluster are not known any more", cause=cause)

    def _pause(self) -> float:
        eager = self._failed > 0 or self._published() is None
        return min(self._interval, _SOON_SECONDS) if eager else self._interval

    def _say_denied(self, facts: ClusterFacts) -> None:
        """Name each right that is missing, once."""
        rows = facts.unknown_facts.select(["fact", "reason"]).to_pylist()
        rights = {_RIGHTS[row["fact"]] for row in rows if row["reason"] == ErrorReason.NOT_AUTHORIZED}
        if missing := rights - self._denied:
            self._denied |= missing
            _log.warning(
                "some facts about the cluster may not be asked",
                grant=sorted(missing),
                how="`lagwarden acls` prints the commands",
            )
