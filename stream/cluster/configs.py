"""Effective settings of topics and brokers, with the source of each value.

Sends DescribeConfigs requests. Errors are values: a setting that the user may not see, or that the broker does not
know, has no value but a reason. kafka-python's own call is not used: on a denial it returns an empty result without an
error.
"""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any, Final

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

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
"""The settings of `__consumer_offsets` that decide how long tombstones stay readable, and if the topic is compacted."""

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
"""Kafka's names (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource) in lower case."""


@dataclasses.dataclass(frozen=True, slots=True)
class TopicConfig:
    """One effective setting. `source` is Kafka's name for where it was set; None if the broker sends an unknown source.

    `value` is None with a `reason` (NOT_FOUND: the broker does not know this setting), or if the setting is sensitive.
    """

    name: str
    value: str | None = None
    source: str | None = None
    reason: ErrorReason | None = None

    def number(self) -> int | None:
        """Return the value as an integer; None if it is unknown or not a number."""
        try:
            return None if self.value is None else int(self.value)
        except ValueError:
            return None


Settings = dict[str, TopicConfig]
"""Settings by name: one for each requested name."""


def read_topic_config(cluster: Cluster, topic: str, names: Collection[str] = OFFSETS_TOPIC_SETTINGS) -> Settings:
    """Read some settings of one topic. Raises nothing."""
    return read_topic_configs(cluster, [topic], names)[topic]


def read_topic_configs(cluster: Cluster, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
    """Read some settings of many topics, by topic. Raises nothing."""
    found: dict[str, Settings] = {}
    wanted = sorted(set(topics))
    for start in range(0, len(wanted), _TOPICS_AT_ONCE):
        some = wanted[start : start + _TOPICS_AT_ONCE]
        request = admin_requests.describe_configs(admin_requests.TOPIC_RESOURCE, some, names)
        try:
            answer = cluster.call_any(request)
        except ClusterError as error:
            found |= {topic: _unknown(names, reasons.of_failure(error)) for topic in some}
        else:
            found |= _read(answer.results, some, names)
    return found


def read_broker_configs(cluster: Cluster, nodes: Collection[int], names: Collection[str]) -> dict[int, Settings]:
    """Read some settings of these brokers, by node; each broker answers for itself. Raises nothing."""
    wanted = sorted(set(nodes))
    kind = admin_requests.BROKER_RESOURCE
    answers = cluster.call_all([(node, admin_requests.describe_configs(kind, [str(node)], names)) for node in wanted])
    found = {}
    for node, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, ClusterError):
            found[node] = _unknown(names, reasons.of_failure(answer))
        else:
            found[node] = _read(answer.results, [str(node)], names)[str(node)]
    return found


def _read(results: Iterable[Any], resources: Iterable[str], names: Collection[str]) -> dict[str, Settings]:
    """Parse an answer. A resource that is missing in it gets settings with the reason OTHER."""
    found = {resource: _unknown(names, ErrorReason.OTHER) for resource in resources}
    for result in results:
        refused = reasons.of_code(result.error_code)
        settings = _unknown(names, refused or ErrorReason.NOT_FOUND)
        if refused is None:
            settings |= {
                config.name: TopicConfig(config.name, config.value, _SOURCES.get(config.config_source))
                for config in result.configs
                if config.name in settings
            }
        found[result.resource_name] = settings
    return found


def _unknown(names: Collection[str], reason: ErrorReason) -> Settings:
    return {name: TopicConfig(name, reason=reason) for name in names}
