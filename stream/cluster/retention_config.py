"""The brokers' settings for offset expiration: retention, check interval, and the rules of their version.

Reads two settings and the supported API versions of every broker; their meaning for a group is in
`stream.groups.expiry.broker_rules`. Both are static settings of a broker, in minutes and milliseconds, with the same
form in all versions (`org.apache.kafka.coordinator.group.GroupCoordinatorConfig`). A broker that denies the request or
is unreachable is left out; the configured values apply if no broker answers.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from stream.cluster.transport import admin_requests
from stream.cluster.transport.errors import ClusterError
from stream.groups.expiry.broker_rules import ExpiryRules, OffsetsRetention, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.cluster.transport.client import Cluster

RETENTION: Final = "offsets.retention.minutes"
CHECK_INTERVAL: Final = "offsets.retention.check.interval.ms"
_MINUTE_MS: Final = 60_000
_DENIED: Final = 31  # CLUSTER_AUTHORIZATION_FAILED

_RULES_SINCE: Final = (
    # ConsumerGroupHeartbeat has regular expressions since 4.0, whose only group coordinator is that of KIP-848.
    (ExpiryRules.NONE_PENDING, 68, 1),
    # KIP-814 added the newest JoinGroup, in 3.2.
    (ExpiryRules.UNSUBSCRIBED_IF_STABLE, 11, 9),
    # KIP-496 added OffsetDelete and the expiration of topics that are not subscribed to, in 2.4.
    (ExpiryRules.UNSUBSCRIBED, 47, 0),
    # KIP-211 removed the retention from OffsetCommit, in 2.1.
    (ExpiryRules.EMPTY_ONLY, 8, 5),
)
"""A broker that supports this API key in this version has at least these rules; newest first.

Supported API versions depend on the binary, and so do the rules. The finalised metadata.version may be older.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class _BrokerSettings:
    """The settings of one broker; None if unknown."""

    node: int
    retention_ms: int | None = None
    check_interval_ms: int | None = None
    rules: ExpiryRules | None = None
    # The reason why its settings are unknown, a clause for the log.
    error: str | None = None


def read_retention(
    cluster: Cluster, configured_ms: int | None = None, configured_check_interval_ms: int | None = None
) -> OffsetsRetention:
    """Return the settings of all brokers; if they differ, the smallest values and the oldest rules, with a remark.

    The configured values (ms) apply to what no broker reports. Raises nothing, also if the cluster is unreachable.
    """
    brokers = _read(cluster)
    remarks = [remark for each in brokers if (remark := _remark(each))]
    kept = _smallest(RETENTION, {each.node: each.retention_ms for each in brokers}, remarks)
    interval = _smallest(CHECK_INTERVAL, {each.node: each.check_interval_ms for each in brokers}, remarks)
    source: Source = "broker" if kept is not None else "unknown" if configured_ms is None else "configuration"
    return OffsetsRetention(
        retention_ms=configured_ms if kept is None else kept,
        check_interval_ms=configured_check_interval_ms if interval is None else interval,
        source=source,
        rules=_oldest({each.node: each.rules for each in brokers}, remarks),
        remarks=tuple(remarks),
    )


def rules_of(api_versions: Mapping[int, int]) -> ExpiryRules:
    """Return a broker's rules, derived from the newest version of each API key that it supports (ApiVersions)."""
    for rules, request, version in _RULES_SINCE:
        if api_versions.get(request, -1) >= version:
            return rules
    return ExpiryRules.PER_OFFSET


def _read(cluster: Cluster) -> list[_BrokerSettings]:
    try:
        cluster.metadata()
    except ClusterError:
        return []  # other parts of the monitor report an unreachable cluster
    nodes = [broker.node for broker in cluster.brokers]
    settings = [
        (
            node,
            admin_requests.describe_configs(admin_requests.BROKER_RESOURCE, [str(node)], [RETENTION, CHECK_INTERVAL]),
        )
        for node in nodes
    ]
    answers = cluster.call_all(settings + [(node, admin_requests.api_versions()) for node in nodes])
    return [
        dataclasses.replace(_settings(node, answer), rules=_rules(version))
        for node, answer, version in zip(nodes, answers, answers[len(nodes) :], strict=False)
    ]


def _settings(node: int, answer: Any) -> _BrokerSettings:
    if isinstance(answer, ClusterError):
        return _BrokerSettings(node, error=answer.what)
    if not answer.results:
        return _BrokerSettings(node, error="its answer has no settings")
    result = answer.results[0]
    if result.error_code:
        denied = "DescribeConfigs on the cluster is not granted to lagwarden's user"
        return _BrokerSettings(
            node, error=denied if result.error_code == _DENIED else f"Kafka error {result.error_code}"
        )
    values = {each.name: _number(each.value) for each in result.configs}
    minutes = values.get(RETENTION)
    return _BrokerSettings(
        node,
        retention_ms=None if minutes is None else minutes * _MINUTE_MS,
        check_interval_ms=values.get(CHECK_INTERVAL),
        error=f"it has no {RETENTION}" if minutes is None else None,
    )


def _rules(answer: Any) -> ExpiryRules | None:
    if isinstance(answer, ClusterError) or answer.error_code:
        return None
    return rules_of({each.api_key: each.max_version for each in answer.api_keys})


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() else None


def _remark(broker: _BrokerSettings) -> str | None:
    return f"broker {broker.node} does not report its {RETENTION}: {broker.error}" if broker.error else None


def _smallest(name: str, values: Mapping[int, int | None], remarks: list[str]) -> int | None:
    known = {node: value for node, value in values.items() if value is not None}
    if len(set(known.values())) > 1:
        remarks.append(f"brokers differ in {name} ({_each(known)} ms): the smallest counts")
    return min(known.values(), default=None)


def _oldest(rules: Mapping[int, ExpiryRules | None], remarks: list[str]) -> ExpiryRules:
    """Return the oldest rules of all brokers; the newest ones if no broker reports its version."""
    known = {node: value for node, value in rules.items() if value is not None}
    if len(set(known.values())) > 1:
        remarks.append(f"brokers differ in version ({_each(known)}): the expiry rules of the oldest apply")
    return next((each for each in ExpiryRules if each in known.values()), ExpiryRules.NONE_PENDING)


def _each(values: Mapping[int, object]) -> str:
    rows: Iterable[str] = (f"broker {node}: {value}" for node, value in sorted(values.items()))
    return ", ".join(rows)
