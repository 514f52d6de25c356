"""The brokers' settings for offset expiration: retention, check interval, and the rules of their version.

Reads two settings and the supported API versions of every broker; their meaning for a group is in
`stream.groups.expiry.broker_rules`. Both are static settings of a broker, in minutes and milliseconds, with the same
form in all versions (`org.apache.kafka.coordinator.group.GroupCoordinatorConfig`). A broker that denies the request or
is unreachable is left out; the configured values apply if no broker answers.
"""

from collections.abc import Mapping
from typing import Final

from stream.cluster.admin.features import read_versions
from stream.cluster.configs import Settings, TopicConfig, read_broker_configs
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason
from stream.groups.expiry.broker_rules import ExpiryRules, OffsetsRetention, Source

RETENTION: Final = "offsets.retention.minutes"
CHECK_INTERVAL: Final = "offsets.retention.check.interval.ms"
_MINUTE_MS: Final = 60_000

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


def read_retention(
    cluster: Cluster, configured_ms: int | None = None, configured_check_interval_ms: int | None = None
) -> OffsetsRetention:
    """Return the settings of all brokers; if they differ, the smallest values and the oldest rules, with a remark.

    The configured values (ms) apply to what no broker reports. Raises nothing, also if the cluster is unreachable.
    """
    try:
        cluster.metadata()
        nodes = [broker.node for broker in cluster.brokers]
    except ClusterError:
        nodes = []  # other parts of the monitor report an unreachable cluster
    settings = read_broker_configs(cluster, nodes, (RETENTION, CHECK_INTERVAL))
    rules = {
        node: rules_of({key: most for key, (_, most) in each.requests.items()})
        for node, each in read_versions(cluster, nodes).items()
        if not isinstance(each, ErrorReason)
    }
    remarks = [
        f"broker {node} does not report its {RETENTION}: {_why(each[RETENTION])}"
        for node, each in settings.items()
        if each[RETENTION].number() is None
    ]
    minutes, interval = (_smallest(name, settings, remarks) for name in (RETENTION, CHECK_INTERVAL))
    source: Source = "broker" if minutes is not None else "unknown" if configured_ms is None else "configuration"
    return OffsetsRetention(
        retention_ms=configured_ms if minutes is None else minutes * _MINUTE_MS,
        check_interval_ms=configured_check_interval_ms if interval is None else interval,
        source=source,
        rules=_oldest(rules, remarks),
        remarks=tuple(remarks),
    )


def rules_of(api_versions: Mapping[int, int]) -> ExpiryRules:
    """Return a broker's rules, derived from the newest version of each API key that it supports (ApiVersions)."""
    for rules, request, version in _RULES_SINCE:
        if api_versions.get(request, -1) >= version:
            return rules
    return ExpiryRules.PER_OFFSET


def _why(setting: TopicConfig) -> str:
    if setting.reason is ErrorReason.NOT_AUTHORIZED:
        return "DescribeConfigs on the cluster is not granted to lagwarden's user"
    return str(setting.reason or "the value is withheld")


def _smallest(name: str, brokers: Mapping[int, Settings], remarks: list[str]) -> int | None:
    known = {node: value for node, each in brokers.items() if (value := each[name].number()) is not None}
    if len(set(known.values())) > 1:
        remarks.append(f"brokers differ in {name} ({_each(known)}): the smallest counts")
    return min(known.values(), default=None)


def _oldest(known: Mapping[int, ExpiryRules], remarks: list[str]) -> ExpiryRules:
    """Return the oldest rules of all brokers; the newest ones if no broker reports its version."""
    if len(set(known.values())) > 1:
        remarks.append(f"brokers differ in version ({_each(known)}): the expiry rules of the oldest apply")
    return next((each for each in ExpiryRules if each in known.values()), ExpiryRules.NONE_PENDING)


def _each(values: Mapping[int, object]) -> str:
    return ", ".join(f"broker {node}: {value}" for node, value in sorted(values.items()))
