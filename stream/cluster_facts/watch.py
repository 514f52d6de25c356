"""Polls facts about the cluster at an interval of its own and publishes the rendered result.

It has a thread and connections of its own, because a broker answers the requests of a connection one after the other:
a slow answer about log directories or settings must not delay a tick. Nothing here raises. A failed poll keeps the last
result; after the third failure in a row the result is discarded, because leaders and replicas change within minutes.
The progress of share groups stays as long as their verdicts do.
"""

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Final, Self

import structlog

from exporters.cluster.exposition import PublishedCluster
from exporters.cluster.model import SHARE_GROUPS_FACT, SHARE_READ_FACT, ClusterFacts
from exporters.selection.series import EVERYTHING, SeriesSelection
from exporters.text.exposition import PublishedSnapshot
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason
from stream.cluster_facts.poll import ClusterPoll, PollOptions
from stream.cluster_facts.share_groups import NAME as SHARE_STATE_TOPIC
from stream.config.config_follower import selection_from_options
from stream.config.kafka_login import login_from_options
from stream.config.options import Config

_log = structlog.get_logger(__name__)
_SOON_SECONDS: Final = 10.0
"""The interval before the first snapshot with the topics that groups read, and after a failed poll."""
_STOP_SECONDS: Final = 2.0
_MOST_FAILED: Final = 3
_SHARE_POLLS: Final = 3
"""The number of times per interval that the progress of share groups is polled."""
_KEPT_INTERVALS: Final = 2

_SHARE_READ_FACTS: Final = frozenset({SHARE_GROUPS_FACT, SHARE_READ_FACT})
_RIGHTS: Final = {
    "controller": "Describe on the cluster",
    "reassignments": "Describe on the cluster",
    "follower": "Describe on topic *",
    "quotas": "DescribeConfigs on the cluster",
    "broker versions": "Describe on the cluster",
    "offsets topic size": "Describe on the cluster",
    "broker setting": "DescribeConfigs on the cluster",
    "topic setting": "DescribeConfigs on topic *",
    "topic": "Describe on topic *",
    SHARE_GROUPS_FACT: f"Read on topic {SHARE_STATE_TOPIC}",
    SHARE_READ_FACT: f"Read on topic {SHARE_STATE_TOPIC}",
}
"""The required right by fact."""


@dataclasses.dataclass(eq=False)
class ClusterWatch:
    """Polls on a thread of its own inside `with watch:`; `current` may be called from any thread.

    `_interval` in seconds, 0 for never. Of several instances, each polls the progress of its share groups, and only the
    first one all else. `_published` returns the snapshot with the topics whose settings are read. Numbers of share
    groups that cannot be read stay for at least two intervals.
    """

    _connect: Callable[[], Cluster]
    _published: Callable[[], PublishedSnapshot | None]
    _interval: float
    _choice: SeriesSelection = EVERYTHING
    options: PollOptions = dataclasses.field(default_factory=PollOptions)
    _current: PublishedCluster | None = None
    _failed: int = 0
    _share_read_failed: bool = False
    _denied: set[str] = dataclasses.field(default_factory=set)

    def __post_init__(self) -> None:
        kept_seconds = max(self.options.share_kept_seconds, _KEPT_INTERVALS * self._interval)
        self.options = dataclasses.replace(self.options, share_kept_seconds=kept_seconds)
        _, self._budget = self._choice.budgets
        self._stopping = threading.Event()
        # A daemon thread: a broker that does not answer cannot delay the end of the process.
        self._thread = threading.Thread(target=self._run, name="cluster-watch", daemon=True)

    @classmethod
    def from_config(cls, config: Config, published: Callable[[], PublishedSnapshot | None]) -> Self:
        """Return the watch with the options of the configuration."""
        kafka = config.kafka

        def connect() -> Cluster:
            login = login_from_options(kafka)
            return Cluster(kafka.bootstrap_servers, login, request_timeout=kafka.request_timeout)

        options = config.cluster
        polled = PollOptions(
            options.partitions_shown,
            config.job.part,
            config.http.hide_members,
            options.topic_settings,
            config.health.share_pause,
        )
        return cls(connect, published, options.interval, selection_from_options(config.metrics), polled)

    def current(self) -> PublishedCluster | None:
        """Return the result of the last poll; None before the first, after three failures, and without polls."""
        return self._current

    def facts(self) -> ClusterFacts | None:
        """Return the facts of the last poll; None where `current` is."""
        current = self._current
        return None if current is None else current.facts

    def __enter__(self) -> Self:
        """Start the thread, unless nothing is to be polled."""
        if self._interval:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the thread; does not wait for a poll that waits for a broker."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            with self._connect() as cluster:
                poll = ClusterPoll(cluster, self.options)
                while not self._stopping.is_set():
                    self._poll_once(lambda: self._polled(poll))
                    self._poll_share_groups_until_next(poll)
        except Exception as error:  # noqa: BLE001 -- the job reports connection errors itself
            self._current = None  # nothing would replace it, and old facts would look current
            _log.warning("cluster polls stopped", cause=str(error))

    def _poll_share_groups_until_next(self, poll: ClusterPoll) -> None:
        """Wait for the next poll; if there are share groups, poll their progress alone at equal intervals meanwhile.

        Not after a failed poll: the number of those decides how long the other facts stay.
        """
        pause = self._pause() / _SHARE_POLLS
        for _ in range(_SHARE_POLLS - 1):
            current = self._current
            if self._stopping.wait(pause):
                return
            if current is not None and len(current.facts.share_groups) and not self._failed:
                facts = current.facts
                self._poll_once(lambda facts=facts: facts.with_share_groups(poll.poll_share_groups(time.time())))  # type: ignore[misc]
        self._stopping.wait(pause)

    def _poll_once(self, poll: Callable[[], ClusterFacts]) -> None:
        try:
            facts = poll()
            self._current = PublishedCluster.build(facts, self._choice, self._budget)
        except ClusterError as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 -- one unexpected answer must not end the polls
            self._fail(f"{type(error).__name__}: {error}")
        else:
            self._failed = 0
            self._share_read_failed = bool(_SHARE_READ_FACTS & _facts_without(facts, denied=False))
            self._log_denied(facts)

    def _polled(self, poll: ClusterPoll) -> ClusterFacts:
        # Facts about the cluster are the same for all instances: the first one has them, and a sum counts them once.
        if not self.options.part.is_first:
            return poll.poll_share_groups(time.time())
        published = self._published()
        return poll.poll(published.snapshot if published else None, time.time())

    def _fail(self, cause: str) -> None:
        self._failed += 1
        if self._failed == _MOST_FAILED:
            _log.warning("cluster facts discarded", cause=cause)
        if self._failed >= _MOST_FAILED:
            self._current = self._share_groups_alone()

    def _share_groups_alone(self) -> PublishedCluster | None:
        """Return the last numbers of share groups without other facts; None if there are none, or they are too old."""
        current = self._current
        read_time = None if current is None else current.facts.share_read_time
        if current is None or read_time is None or time.time() - read_time / 1000 > self.options.share_kept_seconds:
            return None
        if not current.facts.is_whole:
            return current
        return PublishedCluster.build(current.facts.only_share_groups(), self._choice, self._budget)

    def _pause(self) -> float:
        is_early = self._failed > 0 or self._share_read_failed or self._published() is None
        return min(self._interval, _SOON_SECONDS) if is_early else self._interval

    def _log_denied(self, facts: ClusterFacts) -> None:
        """Log each missing right once."""
        rights = {_RIGHTS.get(fact, f"the right to read: {fact}") for fact in _facts_without(facts, denied=True)}
        if missing := rights - self._denied:
            self._denied |= missing
            _log.warning(
                "cluster facts not authorised", grant=sorted(missing), how="`lagwarden acls` prints the commands"
            )


def _facts_without(facts: ClusterFacts, *, denied: bool) -> set[str]:
    """Return the facts that are unknown because a right is missing (`denied`), or for another reason."""
    rows = facts.unknown_facts.select(["fact", "reason"]).to_pylist()
    return {row["fact"] for row in rows if (row["reason"] == ErrorReason.NOT_AUTHORIZED) == denied}
