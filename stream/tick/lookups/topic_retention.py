"""Looks up how much topics keep, for how long, and whether they are compacted: a few configs per tick, asked rarely."""

from collections.abc import Collection, Mapping
from typing import Final

from stream.cluster.configs import Settings, read_topic_configs
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.tick.lookups.budget import LookupLimits

UNLIMITED: Final = -1
"""The retention of a topic that is only compacted or has no time limit."""

_POLICY: Final = "cleanup.policy"
_RETENTION: Final = "retention.ms"
_SIZE: Final = "retention.bytes"
_TRANSIENT: Final = frozenset({ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT})


class TopicRetentionLookup:
    """Caches retention.ms, retention.bytes and cleanup.policy of topics. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits) -> None:
        self._cluster = cluster
        self._limits = limits
        self._retention: dict[str, int] = {}
        self._gapless: set[str] = set()
        self._any_size: set[str] = set()
        self._due: dict[str, float] = {}

    @property
    def gapless(self) -> frozenset[str]:
        """The topics that are known not to be compacted: their offsets have no gaps."""
        return frozenset(self._gapless)

    @property
    def any_size(self) -> frozenset[str]:
        """The topics that are known to keep records whatever their size."""
        return frozenset(self._any_size)

    def update(self, topics: Collection[str], now: float) -> Mapping[str, int]:
        """Return retention.ms by topic at `now` (Unix seconds): UNLIMITED, or no entry where it is not known.

        Topics without a request so far come first, then due ones, longest waiting first. Topics that are not in
        `topics` are dropped from the cache.
        """
        self._due = {topic: self._due.get(topic, 0.0) for topic in topics}
        self._retention = {topic: retention for topic, retention in self._retention.items() if topic in self._due}
        self._gapless &= self._due.keys()
        self._any_size &= self._due.keys()
        due = sorted((when, topic) for topic, when in self._due.items() if when <= now)
        requested = [topic for _, topic in due[: self._limits.retention_topics]]
        if requested:
            configs = read_topic_configs(self._cluster, requested, (_POLICY, _RETENTION, _SIZE))
            for topic, settings in configs.items():
                self._record(topic, settings, now)
        return dict(self._retention)

    def _record(self, topic: str, settings: Settings, now: float) -> None:
        if settings[_RETENTION].reason in _TRANSIENT:
            return  # the cached value stays, and the topic is requested again at the next tick
        self._due[topic] = now + self._limits.slow_refresh
        policy, size = settings[_POLICY].value, settings[_SIZE].number()
        _set_member(self._gapless, topic, is_member=policy is not None and "compact" not in policy)
        _set_member(self._any_size, topic, is_member=size is not None and size < 0)
        retention = retention_ms(settings)
        if retention is None:
            self._retention.pop(topic, None)
        else:
            self._retention[topic] = retention


def _set_member(topics: set[str], topic: str, *, is_member: bool) -> None:
    (topics.add if is_member else topics.discard)(topic)


def retention_ms(settings: Settings) -> int | None:
    """Return retention.ms; UNLIMITED where no record is deleted for its age, None where the config is not known."""
    policy = settings[_POLICY].value
    if policy is not None and "compact" in policy and "delete" not in policy:
        return UNLIMITED
    retention = settings[_RETENTION].number()
    return retention if retention is None else max(retention, UNLIMITED)
