"""Polls the cluster context: topics and their ids, the retention of offsets, group states that the log does not show.

Requests are bounded: the topics that groups use at every tick, the retention every ten minutes (every minute while no
broker reports it), the states of a few rebalancing groups per tick. A failed request raises nothing; its facts stay as
they were, or are unknown.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import structlog

from stream.cluster.describe_groups import (
    Coordinators,
    RequestBudget,
    describe_candidates,
    describe_groups,
    rare_candidates,
)
from stream.cluster.retention_config import read_retention
from stream.cluster.topic_ids import TopicIds
from stream.cluster.topology import read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.groups.driver_state import GroupColumns
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.membership.unassigned import subscribed_topics
from stream.tick.context import UNKNOWN_CLUSTER, ClusterContext

_log = structlog.get_logger(__name__)
_RETENTION_SECONDS: Final = 600.0
_UNKNOWN_RETENTION_SECONDS: Final = 60.0
"""The same while no broker has reported it."""
_CLEANUP_SECONDS: Final = 600.0
_RECENT_MS: Final = 60_000
"""A classic group whose record is younger may be rebalancing although it has no members yet."""
_STATE_LIFETIME_MS: Final = 60_000
"""A described state older than this is not used."""


class ContextPoller:
    """Polls the cluster context at each tick. Used by the tick thread."""

    def __init__(
        self, cluster: Cluster, configured: OffsetsRetention, asked_per_tick: int, tick_seconds: float
    ) -> None:
        """Describe at most `asked_per_tick` groups per tick; `configured` replaces the retention of the brokers."""
        self._cluster = cluster
        self._configured = configured
        self._retention: OffsetsRetention | None = None
        self._retention_due = 0.0
        self._cleanup_due = 0.0
        self._topics = TopicIds()
        self._names: dict[bytes, str] = {}
        self._recreated: dict[str, int] = {}
        self._coordinators = Coordinators(cluster)
        per_second = asked_per_tick / tick_seconds
        self._budget = RequestBudget(per_second=per_second, most=asked_per_tick, again_ms=int(tick_seconds * 500))
        # By group: when (ms) it was described, and its state.
        self._described: dict[str, tuple[int, str]] = {}
        self._rebalancing_since: dict[str, int] = {}
        self._context = UNKNOWN_CLUSTER

    def poll(self, state: GroupColumns, topics: set[str], now: float) -> ClusterContext:
        """Send the requests that are due at `now` (Unix seconds) about these groups and topics; return the context.

        While nothing has changed, that is the same object.
        """
        if now >= self._cleanup_due:
            self._cleanup_due = now + _CLEANUP_SECONDS
            self._drop_unreferenced_topics(state, now)
        now_ms = int(now * 1000)
        with ThreadPoolExecutor() as pool:  # none needs the answer of another one
            polled_retention = pool.submit(self._poll_retention, now)
            polled_states = pool.submit(self._poll_states, state, now_ms)
            counts, ids, brokers = self._poll_topics(topics | subscribed_topics(state.memberships), now)
        retention, states = polled_retention.result(), polled_states.result()
        self._rebalancing_since = {group: self._rebalancing_since.get(group, now_ms) for group in states}
        context = ClusterContext(
            retention=retention,
            partition_counts=counts,
            topic_names=dict(self._names),
            topic_ids=ids,
            described_states=states,
            rebalancing_since=self._rebalancing_since,
            brokers=brokers,
            recreated=dict(self._recreated),
        )
        if context != self._context:
            self._context = context
        return self._context

    def _poll_topics(
        self, topics: set[str], now: float
    ) -> tuple[dict[str, int], dict[str, bytes], frozenset[int] | None]:
        """Return partition counts (0 for an absent topic) and ids by topic, and the ids of the brokers.

        Without an answer, both mappings are empty and the brokers are None.
        """
        try:
            topology = read_topology(self._cluster, topics, brief=True)
        except ClusterError:
            return {}, {}, None
        columns = topology.topics.select(["topic", "partitions"]).drop_null().to_pydict()
        counts = dict(zip(columns["topic"], columns["partitions"], strict=True))
        absent = topology.absent()
        ids = topology.ids()
        for recreated in self._topics.observe(ids, int(now * 1000), absent=absent):
            _log.warning("topic recreated", topic=recreated.name)
            self._recreated[recreated.name] = recreated.first_seen
        self._names |= {topic_id: name for name, topic_id in ids.items()}
        return counts | dict.fromkeys(absent, 0), ids, frozenset(broker.node for broker in topology.brokers)

    def _poll_retention(self, now: float) -> OffsetsRetention:
        if self._retention is None or now >= self._retention_due:
            previous = self._retention
            retention = read_retention(self._cluster, self._configured.retention_ms, self._configured.check_interval_ms)
            if previous is not None and previous.source == "broker" != retention.source:
                return previous  # a missing answer changes no setting; the next tick requests it again
            is_known = retention.source == "broker"
            self._retention = retention
            self._retention_due = now + (_RETENTION_SECONDS if is_known else _UNKNOWN_RETENTION_SECONDS)
            if previous != retention:
                _log_retention(retention)
        return self._retention

    def _poll_states(self, state: GroupColumns, now: int) -> dict[str, str]:
        """Return the described states that the log does not show, by group: all are rebalancing."""
        found = [group for group, (_, described) in self._described.items() if described.endswith("Rebalance")]
        candidates = {*describe_candidates(state.memberships, now, _RECENT_MS), *(state.memberships.keys() & found)}
        rare = rare_candidates(state.memberships, candidates)
        chosen = self._budget.choose(sorted(candidates), now, rare)
        described = describe_groups(self._cluster, self._coordinators, chosen) if chosen else {}
        self._described |= {group: (now, each.state) for group, each in described.items() if each.state is not None}
        remaining = candidates.union(rare)
        self._described = {
            group: each
            for group, each in self._described.items()
            if group in remaining and now - each[0] < _STATE_LIFETIME_MS
        }
        states = {group: _hidden_state(state, group, *each) for group, each in self._described.items()}
        return {group: hidden for group, hidden in states.items() if hidden is not None}

    def _drop_unreferenced_topics(self, state: GroupColumns, now: float) -> None:
        """Drop the names of deleted topics that no commit and no assignment references."""
        in_use = {topic_id for topic_id in state.runs.topic_id.unique().to_pylist() if topic_id is not None}
        for membership in state.memberships.values():
            in_use.update(topic for topic, _ in membership.owned or () if isinstance(topic, bytes))
        self._topics.prune(in_use, int(now * 1000))
        self._names = {topic_id: name for topic_id, name in self._names.items() if self._topics.known(topic_id)}
        self._recreated = {name: seen for name, seen in self._recreated.items() if self._topics.id_of(name)}


def _hidden_state(state: GroupColumns, group: str, described_at: int, described: str) -> str | None:
    """Return the described state if no record shows it and no newer record exists; otherwise None."""
    history = state.histories.get(group)
    is_outdated = history is not None and history.since is not None and history.since > described_at
    return described if described.endswith("Rebalance") and not is_outdated else None


def _log_retention(retention: OffsetsRetention) -> None:
    times = retention.retention_ms, retention.check_interval_ms
    seconds, check_seconds = (None if each is None else each / 1000 for each in times)
    _log.info(
        "offsets retention",
        seconds=seconds,
        check_seconds=check_seconds,
        known_from=retention.source,
        rules=str(retention.rules),
        remarks=list(retention.remarks),
    )
