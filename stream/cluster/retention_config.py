"""How long the brokers keep offsets, how often they look for expired ones, and by which version's rules.

Asks every broker for two of its settings and for the requests it knows; refuses to interpret what they mean for a group
(`stream.groups.expiry.broker_rules`). Both are static settings of a broker, in minutes and milliseconds; no version has
another form of either (`org.apache.kafka.coordinator.group.GroupCoordinatorConfig`). A broker that may not be asked, or
is away, costs nothing but its own word: the configured fallback stands in when none answers.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from kafka.protocol.metadata import ApiVersionsRequest

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

_MARKS: Final = (
    # ConsumerGroupHeartbeat learnt regular expressions in 4.0, whose only group coordinator is that of KIP-848.
    (ExpiryRules.NONE_PENDING, 68, 1),
    # KIP-814 brought the newest JoinGroup, in 3.2.
    (ExpiryRules.UNSUBSCRIBED_IF_STABLE, 11, 9),
    # KIP-496 brought OffsetDelete and the expiry of topics that are not subscribed to, in 2.4.
    (ExpiryRules.UNSUBSCRIBED, 47, 0),
    # KIP-211 took the retention out of OffsetCommit, in 2.1.
    (ExpiryRules.EMPTY_ONLY, 8, 5),
)
"""A broker that knows this request (its number) in this version has at least these rules; newest first.

The ranges of requests belong to the binary, and so do the rules. The finalised metadata.version may lag behind it.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class _Told:
    """What one broker says of itself. None: it does not."""

    node: int
    retention_ms: int | None = None
    check_interval_ms: int | None = None
    rules: ExpiryRules | None = None
    # Why it does not tell its settings, a clause for a person.
    silence: str | None = None


def read_retention(
    cluster: Cluster, configured_ms: int | None = None, configured_check_interval_ms: int | None = None
) -> OffsetsRetention:
    """Ask all brokers; of values that differ the smallest and the oldest rules count, and a remark says so.

    The configured ones (ms) stand in for what no broker tells. Raises nothing: a cluster that is away tells nothing.
    """
    told = _ask(cluster)
    remarks = [remark for each in told if (remark := _silence(each))]
    kept = _smallest(RETENTION, {each.node: each.retention_ms for each in told}, remarks)
    interval = _smallest(CHECK_INTERVAL, {each.node: each.check_interval_ms for each in told}, remarks)
    source: Source = "broker" if kept is not None else "unknown" if configured_ms is None else "configuration"
    return OffsetsRetention(
        retention_ms=configured_ms if kept is None else kept,
        check_interval_ms=configured_check_interval_ms if interval is None else interval,
        source=source,
        rules=_oldest({each.node: each.rules for each in told}, remarks),
        remarks=tuple(remarks),
    )


def rules_of(api_versions: Mapping[int, int]) -> ExpiryRules:
    """Recognise a broker's rules by the newest version of each request that it knows (ApiVersions)."""
    for rules, request, version in _MARKS:
        if api_versions.get(request, -1) >= version:
            return rules
    return ExpiryRules.PER_OFFSET


def _ask(cluster: Cluster) -> list[_Told]:
    try:
        cluster.metadata()
    except ClusterError:
        return []  # whoever depends on the cluster says so louder
    nodes = [broker.node for broker in cluster.brokers]
    settings = [
        (
            node,
            admin_requests.describe_configs(admin_requests.BROKER_RESOURCE, [str(node)], [RETENTION, CHECK_INTERVAL]),
        )
        for node in nodes
    ]
    versions = [
        (node, ApiVersionsRequest(client_software_name="lagwarden", client_software_version="0")) for node in nodes
    ]
    answers = cluster.call_all(settings + versions)
    return [
        dataclasses.replace(_settings(node, answer), rules=_rules(version))
        for node, answer, version in zip(nodes, answers, answers[len(nodes) :], strict=False)
    ]


def _settings(node: int, answer: Any) -> _Told:
    if isinstance(answer, ClusterError):
        return _Told(node, silence=answer.what)
    result = answer.results[0]
    if result.error_code:
        denied = "DescribeConfigs on the cluster is not granted to lagwarden's user"
        return _Told(node, silence=denied if result.error_code == _DENIED else f"Kafka error {result.error_code}")
    values = {each.name: _number(each.value) for each in result.configs}
    minutes = values.get(RETENTION)
    return _Told(
        node,
        retention_ms=None if minutes is None else minutes * _MINUTE_MS,
        check_interval_ms=values.get(CHECK_INTERVAL),
        silence=f"it knows no {RETENTION}" if minutes is None else None,
    )


def _rules(answer: Any) -> ExpiryRules | None:
    if isinstance(answer, ClusterError) or answer.error_code:
        return None
    return rules_of({each.api_key: each.max_version for each in answer.api_keys})


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() else None


def _silence(told: _Told) -> str | None:
    return f"broker {told.node} does not tell its {RETENTION}: {told.silence}" if told.silence else None


def _smallest(name: str, values: Mapping[int, int | None], remarks: list[str]) -> int | None:
    known = {node: value for node, value in values.items() if value is not None}
    if len(set(known.values())) > 1:
        remarks.append(f"brokers differ in {name} ({_each(known)} ms): the smallest counts")
    return min(known.values(), default=None)


def _oldest(rules: Mapping[int, ExpiryRules | None], remarks: list[str]) -> ExpiryRules:
    """Give the oldest rules of all; the newest ones where no broker tells its version."""
    known = {node: value for node, value in rules.items() if value is not None}
    if len(set(known.values())) > 1:
        remarks.append(f"brokers are of different versions ({_each(known)}): the oldest one's expiry rules count")
    return next((each for each in ExpiryRules if each in known.values()), ExpiryRules.NONE_PENDING)


def _each(values: Mapping[int, object]) -> str:
    rows: Iterable[str] = (f"broker {node}: {value}" for node, value in sorted(values.items()))
    return ", ".join(rows)
