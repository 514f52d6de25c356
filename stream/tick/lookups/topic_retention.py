"""How long topics keep their records, as their settings say: asked seldom, a few topics per tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream.cluster.configs import read_topic_configs
from stream.cluster.transport.error_codes import ErrorReason

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from stream.cluster.configs import Settings
    from stream.cluster.transport.client import Cluster
    from stream.tick.lookups.budget import LookupLimits

FOR_EVER: Final = -1
"""Of a topic that is only compacted, or has no limit."""

_POLICY: Final = "cleanup.policy"
_KEPT: Final = "retention.ms"
_PASSES: Final = frozenset({ErrorReason.UNREACHABLE, ErrorReason.TIMED_OUT})


class TopicRetentionLookup:
    """Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: LookupLimits) -> None:
        self._cluster = cluster
        self._allowances = allowances
        self._kept: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def look(self, topics: Collection[str], now: float) -> Mapping[str, int]:
        """Give retention.ms by topic (FOR_EVER, or absent where it was not told) at `now` (Unix seconds).

        Topics that nobody has asked for yet come first, then those whose turn it is, longest waiting first; topics that
        are not among these are forgotten.
        """
        self._due = {topic: self._due.get(topic, 0.0) for topic in topics}
        self._kept = {topic: kept for topic, kept in self._kept.items() if topic in self._due}
        waiting = sorted((when, topic) for topic, when in self._due.items() if when <= now)
        chosen = [topic for _, topic in waiting[: self._allowances.retention_topics]]
        for topic, settings in read_topic_configs(self._cluster, chosen, (_POLICY, _KEPT)).items() if chosen else ():
            self._take(topic, settings, now)
        return dict(self._kept)

    def _take(self, topic: str, settings: Settings, now: float) -> None:
        if settings[_KEPT].reason in _PASSES:
            return  # no answer changes nothing; it is asked again at the next tick
        self._due[topic] = now + self._allowances.seldom
        kept = retention_of(settings)
        if kept is None:
            self._kept.pop(topic, None)
        else:
            self._kept[topic] = kept


def retention_of(settings: Settings) -> int | None:
    """Read retention.ms; FOR_EVER where nothing is deleted for its age, None where that was not told."""
    policy = settings[_POLICY].value
    if policy is not None and "compact" in policy and "delete" not in policy:
        return FOR_EVER
    kept = settings[_KEPT].number()
    return kept if kept is None else max(kept, FOR_EVER)
