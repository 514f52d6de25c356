"""What a tick asks the cluster beside the ends: topics and their ids, the brokers' retention, states the log hides.

Owns when what is asked, so that it stays bounded: the topics that groups use at every tick, the retention every ten
minutes, the states of a few rebalancing groups at a time. What could not be asked stays as it was or is not known;
nothing here raises.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import structlog

from stream.cluster.coordinators import Coordinators
from stream.cluster.describe_groups import describe_groups
from stream.cluster.rate_limit import RequestBudget, worth_asking
from stream.cluster.retention_config import read_retention
from stream.cluster.topic_ids import TopicIds
from stream.cluster.topology import read_topology
from stream.cluster.transport.errors import ClusterError
from stream.groups.membership.unassigned import subscribed_topics
from stream.tick.context import ClusterContext
from stream.tick.inputs.group_state import rebalancing_since

if TYPE_CHECKING:
    from stream.cluster.transport.client import Cluster
    from stream.groups.driver_state import GroupColumns
    from stream.groups.expiry.predict import OffsetsRetention

_log = structlog.get_logger(__name__)
_SELDOM_SECONDS: Final = 600.0
"""How often what hardly ever changes is looked at."""
_RECENT_MS: Final = 60_000
"""A classic group whose record is younger may be rebalancing although it has no members yet."""
_FORGOTTEN_MS: Final = 60_000
"""An asked state older than this is not shown any more."""


class ContextPoller:
    """Asks, tick after tick; used by the thread of the ticks alone."""

    def __init__(
        self, cluster: Cluster, configured: OffsetsRetention, asked_per_tick: int, tick_seconds: float
    ) -> None:
        self._cluster = cluster
        self._configured = configured
        self._retention: OffsetsRetention | None = None
        self._retention_due = 0.0
        self._cleaning_due = 0.0
        self._topics = TopicIds()
        self._names: dict[bytes, str] = {}
        self._recreated: dict[str, int] = {}
        self._coordinators = Coordinators(cluster)
        per_second = asked_per_tick / tick_seconds
        self._budget = RequestBudget(per_second=per_second, most=asked_per_tick, again_ms=int(tick_seconds * 500))
        self._told: dict[str, tuple[int, str]] = {}
        self._rebalancing_since: dict[str, int] = {}

    def look(self, fleet: GroupColumns, topics: set[str], now: float) -> ClusterContext:
        """Ask what is due at `now` (Unix seconds) about these groups and topics."""
        if now >= self._cleaning_due:
            self._cleaning_due = now + _SELDOM_SECONDS
            self._forget_topics(fleet, now)
        counts, ids = self._look_at_topics(topics | subscribed_topics(fleet.memberships), now)
        context = ClusterContext(
            retention=self._look_at_retention(now),
            partition_counts=counts,
            topic_names=dict(self._names),
            topic_ids=ids,
            described_states=self._ask_states(fleet, int(now * 1000)),
            recreated=dict(self._recreated),
        )
        self._rebalancing_since = rebalancing_since(self._rebalancing_since, context, int(now * 1000))
        return dataclasses.replace(context, rebalancing_since=self._rebalancing_since)

    def _look_at_topics(self, topics: set[str], now: float) -> tuple[dict[str, int], dict[str, bytes]]:
        try:
            topology = read_topology(self._cluster, topics, brief=True)
        except ClusterError:
            return {}, {}
        counts = topology.topics.select(["topic", "partitions"]).drop_null().to_pydict()
        known = dict(zip(counts["topic"], counts["partitions"], strict=True))
        absent = topology.absent()
        ids = topology.ids()
        for anew in self._topics.observe(ids, int(now * 1000), absent=absent):
            _log.warning("a topic was made anew", topic=anew.name)
            self._recreated[anew.name] = anew.first_seen
        self._names |= {topic_id: name for name, topic_id in ids.items()}
        return known | dict.fromkeys(absent, 0), ids

    def _look_at_retention(self, now: float) -> OffsetsRetention:
        if self._retention is None or now >= self._retention_due:
            before = self._retention
            told = read_retention(self._cluster, self._configured.retention_ms, self._configured.check_interval_ms)
            if before is not None and before.source == "broker" != told.source:
                return before  # no answer this time changes no setting; it is asked again at the next tick
            self._retention, self._retention_due = told, now + _SELDOM_SECONDS
            if before != told:
                _say_retention(told)
        return self._retention

    def _ask_states(self, fleet: GroupColumns, now: int) -> dict[str, str]:
        worth = worth_asking(fleet.memberships, now, _RECENT_MS)
        chosen = self._budget.choose(worth, now)
        for group, told in describe_groups(self._cluster, self._coordinators, chosen).items() if chosen else ():
            if told.state is not None:
                self._told[group] = (now, told.state)
        still = set(worth)
        self._told = {
            group: told for group, told in self._told.items() if group in still and now - told[0] < _FORGOTTEN_MS
        }
        return {group: state for group, told in self._told.items() if (state := _hidden_state(fleet, group, told))}

    def _forget_topics(self, fleet: GroupColumns, now: float) -> None:
        """Let the names of deleted topics go that no commit and no assignment refers to any more."""
        in_use = {topic_id for topic_id in fleet.runs.topic_id.unique().to_pylist() if topic_id is not None}
        for membership in fleet.memberships.values():
            in_use.update(ref for ref, _ in membership.owned or () if isinstance(ref, bytes))
        self._topics.forget(in_use, int(now * 1000))
        self._names = {topic_id: name for topic_id, name in self._names.items() if self._topics.known(topic_id)}
        self._recreated = {name: seen for name, seen in self._recreated.items() if self._topics.id_of(name)}


def _hidden_state(fleet: GroupColumns, group: str, told: tuple[int, str]) -> str | None:
    """Give the state that was told, if it is one that no record shows, and no record came after it."""
    at, state = told
    life = fleet.histories.get(group)
    newer = life is not None and life.since is not None and life.since > at
    return state if state.endswith("Rebalance") and not newer else None


def _say_retention(retention: OffsetsRetention) -> None:
    def seconds(milliseconds: int | None) -> float | None:
        return None if milliseconds is None else milliseconds / 1000

    _log.info(
        "offsets retention",
        seconds=seconds(retention.retention_ms),
        check_seconds=seconds(retention.check_interval_ms),
        known_from=retention.source,
        rules=str(retention.rules),
        remarks=list(retention.remarks),
    )
