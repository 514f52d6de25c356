"""Effective settings of topics and brokers, with where each value comes from.

Owns the DescribeConfigs exchange. Errors are values: a setting that the user may not see, or that the broker does not
know, has no value and says why. kafka-python's own call is not used: on a denial it answers with nothing, without a
word.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from stream.cluster.transport.client import Cluster

OFFSETS_TOPIC_SETTINGS: Final = (
    "cleanup.policy",
    "compression.type",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "message.format.version",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
)
"""What matters of `__consumer_offsets`: how long tombstones stay readable, and whether it is compacted at all."""

_TOPICS_AT_ONCE: Final = 500
_SOURCES: Final = {
    1: "dynamic_topic_config",
    2: "dynamic_broker_config",
    3: "dynamic_default_broker_config",
    4: "static_broker_config",
    5: "default_config",
    6: "dynamic_broker_logger_config",
    7: "dynamic_client_metrics_config",
    8: "dynamic_group_config",
}
"""Kafka's words (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource), in small letters."""


@dataclasses.dataclass(frozen=True, slots=True)
class TopicConfig:
    """One setting in force. `source` is one of Kafka's words for where it was set, None where the broker is too new.

    `value` is None with a `reason` (NOT_FOUND: the broker does not know this setting), or where the broker keeps it
    secret.
    """

    name: str
    value: str | None = None
    source: str | None = None
    reason: ErrorReason | None = None

    def number(self) -> int | None:
        """Give the value as a whole number; None where it is not known or no number."""
        try:
            return None if self.value is None else int(self.value)
        except ValueError:
            return None


Settings = dict[str, TopicConfig]
"""Settings by name: one for each name asked for."""


def read_topic_config(cluster: Cluster, topic: str, names: Collection[str] = OFFSETS_TOPIC_SETTINGS) -> Settings:
    """Read some settings of one topic. Raises nothing."""
    return read_topic_configs(cluster, [topic], names)[topic]


def read_topic_configs(cluster: Cluster, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
    """Read some settings of many topics, by topic. Raises nothing."""
    told: dict[str, Settings] = {}
    wanted = sorted(set(topics))
    for start in range(0, len(wanted), _TOPICS_AT_ONCE):
        some = wanted[start : start + _TOPICS_AT_ONCE]
        request = admin_requests.describe_configs(admin_requests.TOPIC_RESOURCE, some, names)
        try:
            answer = cluster.call_any(request)
        except ClusterError as error:
            told |= {topic: _unknown(names, reasons.of_failure(error)) for topic in some}
        else:
            told |= _read(answer.results, some, names)
    return told


def read_broker_configs(cluster: Cluster, nodes: Collection[int], names: Collection[str]) -> dict[int, Settings]:
    """Read some settings of these brokers, each asked itself, by node. Raises nothing."""
    wanted = sorted(set(nodes))
    kind = admin_requests.BROKER_RESOURCE
    answers = cluster.call_all([(node, admin_requests.describe_configs(kind, [str(node)], names)) for node in wanted])
    told = {}
    for node, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, ClusterError):
            told[node] = _unknown(names, reasons.of_failure(answer))
        else:
            told[node] = _read(answer.results, [str(node)], names)[str(node)]
    return told


def _read(results: Iterable[Any], resources: Iterable[str], names: Collection[str]) -> dict[str, Settings]:
    """Read an answer; what it does not mention is unknown for another reason, never silently left out."""
    told = {resource: _unknown(names, ErrorReason.OTHER) for resource in resources}
    for result in results:
        refused = reasons.of_code(result.error_code)
        settings = _unknown(names, refused or ErrorReason.NOT_FOUND)
        if refused is None:
            settings |= {
                config.name: TopicConfig(config.name, config.value, _SOURCES.get(config.config_source))
                for config in result.configs
                if config.name in settings
            }
        told[result.resource_name] = settings
    return told


def _unknown(names: Collection[str], reason: ErrorReason) -> Settings:
    return {name: TopicConfig(name, reason=reason) for name in names}
